"""Steering: what reaches a run from outside, from which thread, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from chaos import plan_file
from chaos.errors import UsageError
from chaos.faults import check_fault
from chaos.plan import KillFault, SweepFault
from chaos.steering import Steering, Wanted


class Run:
    """Says what it was told, and on which thread."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def inject(self, wanted: Wanted) -> tuple[str, ...]:
        self.told.append(("inject", threading.current_thread().name))
        if wanted.by == "nobody":
            raise UsageError("nobody may")
        return ("stock@0.26.3",)

    def stop(self) -> None:
        self.told.append(("stop", threading.current_thread().name))


SWEEP = Wanted(plan_file.fault({"fault": "sweep"}), by="ann")


def at_once(call: Callable[..., object], *arguments: object) -> None:
    call(*arguments)


def test_a_fault_without_its_times_is_read_as_a_plan_reads_it() -> None:
    kill = plan_file.fault({"fault": "kill", "replace_after": "2s"})
    assert isinstance(kill, KillFault)
    assert (kill.replace_after_us, kill.at_us) == (2_000_000, (0,))
    assert isinstance(SWEEP.fault, SweepFault)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("sweep", "a fault is a mapping such as"),
        ({"fault": "sweep", "at": ["1s"]}, "it is injected now, so at says nothing: leave it out"),
        ({"fault": "kill", "every": "1s", "jitter": "1ms"}, "so every, jitter says nothing"),
        ({"fault": "kill", "replace_after": "soon"}, "replace_after: .*'soon' is no duration"),
        (
            {"fault": "pause", "for": "1s", "of": 1},
            r"of: no such key: accepted are fault, every, at, .*",
        ),
        ({}, "`fault` is missing: accepted are sweep, "),
        ({"fault": "swep"}, "'swep' is no fault: did you mean 'sweep'\\? Accepted are sweep, "),
    ],
)
def test_what_is_no_fault_for_now_is_refused_with_the_reason(given: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        plan_file.fault(given)


def test_commands_reach_a_run_where_it_wants_to_be_called() -> None:
    steering, run = Steering(), Run()
    calls: list[Callable[[], object]] = []
    with steering.of(run, lambda call, *given: calls.append(lambda: call(*given))):
        answers = [steering.inject(SWEEP), steering.inject(Wanted(SWEEP.fault, by="nobody"))]
        assert steering.stop() is True
        assert run.told == []
        runner = threading.Thread(target=lambda: [call() for call in calls], name="loop")
        runner.start()
        runner.join()
    assert run.told == [("inject", "loop"), ("inject", "loop"), ("stop", "loop")]
    assert answers[0].result(0) == ("stock@0.26.3",)
    with pytest.raises(UsageError, match="nobody may"):
        answers[1].result(0)


def test_a_run_that_has_not_begun_or_is_over_takes_no_fault() -> None:
    steering, run = Steering(), Run()
    with pytest.raises(UsageError, match="the run has not begun yet"):
        steering.inject(SWEEP).result(0)
    with steering.of(run, at_once):
        assert steering.inject(SWEEP).result(0) == ("stock@0.26.3",)
    with pytest.raises(UsageError, match="the run is being judged, or over"):
        steering.inject(SWEEP).result(0)
    assert (steering.begun, steering.stop()) == (True, False)


def test_a_stop_before_the_beginning_ends_the_run_as_it_begins() -> None:
    steering, run = Steering(), Run()
    assert (steering.begun, steering.stop()) == (False, False)
    with steering.of(run, at_once):
        assert [what for what, _ in run.told] == ["stop"]


@pytest.mark.parametrize(
    ("given", "world", "external", "text"),
    [
        ({"fault": "cut"}, "live", False, "the live world cannot do cut"),
        ({"fault": "redis_pause", "for": "1s"}, "live", True, "this run's is not ours"),
        ({"fault": "redis_restart", "data": "lost"}, "sim", False, "loses jobs on purpose"),
    ],
)
def test_a_fault_that_the_world_or_the_judge_cannot_take_is_refused(
    given: dict[str, Any], world: str, external: bool, text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        check_fault(plan_file.fault(given), world, external=external)


def test_faults_that_a_live_run_can_take_are_not_refused() -> None:
    for given in ({"fault": "sweep"}, {"fault": "redis_restart"}, {"fault": "kill"}):
        check_fault(plan_file.fault(given), "live", external=False)
    check_fault(plan_file.fault({"fault": "sweep"}), "live", external=True)
