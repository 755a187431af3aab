"""`instrument` in a production worker: what it counts, what it forgets, what it refuses.

The scenarios (`scenarios/instrumented.py`) run real workers on a real server in each variant's own
environment, where prometheus-client is put beside saq.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import prometheus_client
import pytest

from chaos.metrics.families import LABELLED_COUNTERS, PLAIN_COUNTERS, PLAIN_GAUGES, PREFIX
from chaos.worker.counting import METRICS, UNDECIDED_MAX, Counting
from chaos.worker.events import Kind, Op, Outcome
from tests.worker.conftest import Scenarios

STOCK_263 = "stock@0.26.3"
REPAIRED = ("guarded@0.26.3", "stock@0.26.4")
everywhere = pytest.mark.parametrize("variant", [STOCK_263, *REPAIRED])
COMPLETE = Outcome.OK << 4


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with prometheus_client alone."""
    folder = tmp_path_factory.mktemp("prometheus-client")
    (folder / "prometheus_client").symlink_to(Path(prometheus_client.__file__).parent)
    return folder


@pytest.fixture
def found(scenarios: Scenarios, client: Path, variant: str) -> Any:
    return scenarios(f"instrumented {client}", variant)


@everywhere
def test_without_prometheus_client_it_says_what_to_install_and_touches_nothing(found: Any) -> None:
    said = "instrument() needs prometheus-client: pip install 'saq-chaos-worker[metrics]'"
    assert found["missing"] == [said, False]


@everywhere
def test_every_label_value_exists_at_zero_before_anything_happened(found: Any) -> None:
    assert found["nothing_yet"] == {"samples": 17, "variants": ["production"], "counted": {}}


@pytest.mark.parametrize("variant", [STOCK_263])
def test_the_race_shows_its_key_error_its_collision_and_both_orphans(found: Any) -> None:
    assert found["seed_bug"] == {
        "between": {
            "slot_collisions": 1,
            "orphaned_contexts_now": 1,
            "orphaned_contexts overwritten": 1,
        },
        "after": {
            "key_errors": 1,
            "slot_collisions": 1,
            "orphaned_contexts overwritten": 1,
            "orphaned_contexts foreign-pop": 1,
            "attempts complete": 1,
            "attempts retried": 1,
        },
        "live": 0,
    }


@pytest.mark.parametrize("variant", REPAIRED)
def test_a_repaired_worker_collides_as_often_and_raises_nothing(found: Any) -> None:
    assert found["seed_bug"]["after"] == {
        "slot_collisions": 1,
        "orphaned_contexts overwritten": 1,
        "attempts complete": 2,
    }


@everywhere
def test_an_abort_that_reached_its_attempt_is_honoured(found: Any) -> None:
    counted = {"aborted_attempts honoured": 1, "attempts aborted": 1}
    assert found["aborted"] == {"counted": counted, "live": 0}


@everywhere
def test_a_cancel_that_nobody_asked_for_is_stray(found: Any) -> None:
    counted = {"aborted_attempts stray": 1, "attempts unrecorded": 1}
    assert found["stray"] == {"counted": counted, "live": 0}


@everywhere
def test_what_a_job_raises_and_its_timeout_are_no_errors_of_saq(found: Any) -> None:
    assert found["errors_of_jobs"] == {"counted": {"attempts failed": 2}, "live": 0}


@everywhere
def test_of_a_whole_life_only_numbers_are_kept(found: Any) -> None:
    assert found["a_started_worker"] == {"counted": {"attempts complete": 40}, "live": 0}


@everywhere
def test_beside_a_soak_both_hear_everything_until_one_closes(found: Any) -> None:
    heard = ["process-ended ok job=k0 attempt=1", "process-ended ok job=k1 attempt=2"]
    counted = {"attempts complete": 1}
    assert found["beside_another_watcher"] == {"counted": counted, "heard": heard}


@everywhere
def test_close_takes_every_wrapper_off_and_keeps_the_counts(found: Any) -> None:
    assert found["closed"] == {"counted": {"attempts complete": 1}, "left": []}


@everywhere
def test_workers_share_a_registry_but_not_a_queue_object(found: Any) -> None:
    assert found["shared"]["counted"] == {"attempts complete": 2}
    assert found["shared"]["said"].startswith("this worker's queue object is watched for another")


# --- the sink alone -------------------------------------------------------------------------------


class Number:
    """A counter or gauge that can be looked at."""

    def __init__(self) -> None:
        self.value = 0

    def labels(self, *values: str) -> Number:
        return self.children.setdefault(values, Number())

    def inc(self, by: int = 1) -> None:
        self.value += by

    def dec(self) -> None:
        self.value -= 1

    @property
    def children(self) -> dict[tuple[str, ...], Number]:
        found: dict[tuple[str, ...], Number] = self.__dict__.setdefault("_children", {})
        return found


def sink() -> tuple[Counting, dict[str, Number]]:
    families = {one.name: Number() for one in METRICS}
    return Counting(families, "v"), families


def counted(families: dict[str, Number]) -> dict[str, int]:
    return {
        " ".join([name.removeprefix(PREFIX).removesuffix("_total"), *labels[1:]]): one.value
        for name, family in families.items()
        for labels, one in family.children.items()
        if one.value
    }


def test_a_body_in_a_thread_that_outlives_its_attempt_is_orphaned_until_it_ends() -> None:
    counting, families = sink()
    for kind in (Kind.ATTEMPT_BEGAN, Kind.SLOT_SET, Kind.BODY_BEGAN):
        counting.record(kind, "k", 1)
    counting.record(Kind.SLOT_REMOVED, "k", 1, number=1)
    counting.record(Kind.PROCESS_ENDED, "k", 1, code=Outcome.OK)
    orphaned = {"orphaned_contexts outlived-by-body": 1, "attempts unrecorded": 1}
    assert counted(families) == orphaned | {"orphaned_contexts_now": 1}
    assert counting.live() == 1
    counting.record(Kind.BODY_ENDED, "k", 1, code=Outcome.OK)
    assert counted(families) == orphaned
    assert counting.live() == 0


def test_a_context_that_is_still_there_after_its_attempt_has_leaked() -> None:
    counting, families = sink()
    for kind in (Kind.ATTEMPT_BEGAN, Kind.SLOT_SET, Kind.BODY_BEGAN, Kind.BODY_ENDED):
        counting.record(kind, "k", 1)
    counting.record(Kind.PROCESS_ENDED, "k", 1, code=Outcome.OK)
    assert counted(families) == {"orphaned_contexts leaked": 1, "attempts unrecorded": 1}


def test_an_upkeep_task_that_ends_is_one_error_however_often_it_is_seen() -> None:
    ended = json.dumps({"task": "sweep", "error": "TypeError"})
    raised = json.dumps({"origin": "internal", "where": "sweep", "error": "TypeError"})
    for order in ((ended, raised), (raised, ended)):
        counting, families = sink()
        for text in order:
            kind = Kind.UPKEEP_ENDED if text is ended else Kind.ERROR_RAISED
            counting.record(kind, text=text)
        assert counted(families) == {"internal_errors": 1}


def test_one_attempt_s_error_of_one_type_counts_once() -> None:
    counting, families = sink()
    counting.record(Kind.ATTEMPT_BEGAN, "k", 1)
    for where in ("log", "process"):
        said = {"origin": "internal", "where": where, "error": "KeyError"}
        counting.record(Kind.ERROR_RAISED, "k", 1, text=json.dumps(said))
    assert counted(families) == {"key_errors": 1}


def test_a_cancel_during_a_shutdown_is_not_stray() -> None:
    counting, families = sink()
    counting.record(Kind.ATTEMPT_BEGAN, "k", 1)
    counting.record(Kind.BODY_BEGAN, "k", 1)
    counting.record(Kind.HOST_STOPPING)
    counting.record(Kind.BODY_CANCELLED, "k", 1)
    counting.record(Kind.CALL_INVOKED, "k", 1, 7, text="\x1fshutdown", code=Op.RETRY)
    counting.record(Kind.CALL_RETURNED, "k", 1, 7, code=Op.RETRY | COMPLETE)
    counting.record(Kind.BODY_ENDED, "k", 1, code=Outcome.CANCELLED)
    counting.record(Kind.PROCESS_ENDED, "k", 1, code=Outcome.OK)
    assert counted(families) == {"attempts retried": 1}


def test_what_a_finish_abort_never_comes_for_is_ignored_and_memory_stays_bounded() -> None:
    counting, families = sink()
    for number in range(UNDECIDED_MAX + 3):
        key = f"k{number}"
        for kind in (Kind.ATTEMPT_BEGAN, Kind.BODY_BEGAN):
            counting.record(kind, key, number + 1)
        counting.record(Kind.BODY_CANCELLED, key, number + 1, code=1)
        for kind in (Kind.BODY_ENDED, Kind.PROCESS_ENDED):
            counting.record(kind, key, number + 1, code=Outcome.CANCELLED)
    assert counted(families) == {
        "aborted_attempts ignored": 3,
        "attempts unrecorded": UNDECIDED_MAX + 3,
    }
    last = f"k{UNDECIDED_MAX + 2}"
    counting.record(Kind.CALL_RETURNED, last, code=Op.FINISH_ABORT | COMPLETE)
    assert counted(families)["aborted_attempts honoured"] == 1
    assert counting.live() == 0


def test_its_families_are_those_of_the_chaos_view_word_for_word() -> None:
    plain = {f"{PREFIX}{one.name}_total": one.help for one in PLAIN_COUNTERS}
    gauges = {f"{PREFIX}{one.name}": one.help for one in PLAIN_GAUGES}
    labelled = {f"{PREFIX}{one.name}_total": one for one in LABELLED_COUNTERS}
    for one in METRICS:
        if one.words:
            same = labelled[one.name]
            assert (one.labels, one.help) == (("variant", same.label), same.help)
            assert [word for word in same.words if word in one.words] == list(one.words)
        else:
            assert one.help == (plain | gauges)[one.name]
