"""A failing seed of the real plan becomes a small failure file, and replays to the byte."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from chaos.cli import replaying
from chaos.cli.main import run
from chaos.environments import Environment
from chaos.errors import UsageError
from chaos.event import ErrorRaised, HostBegan
from chaos.explore import failure as files
from chaos.explore.capture import Capture, Captured, capture
from chaos.explore.process import Child
from chaos.explore.replay import Parting, Replayed, parting, replay
from chaos.explore.rerun import decisions
from chaos.history import History
from chaos.plan_file import dump, loads
from chaos.variants import parse
from tests.explore.conftest import SEED, searched_plan


def quiet(_line: str) -> None:
    """Progress that nobody wants to read."""


def changed(path: Path, **changes: object) -> None:
    """Change some keys of a failure file."""
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")


def test_the_key_error_shrinks_to_a_few_decisions_in_a_few_reruns(key_error: Captured) -> None:
    failure = key_error.failure
    assert failure.finding.promise == "no-internal-errors"
    assert failure.finding.kind == "KeyError"
    assert failure.finding.line.startswith("worker.py:")
    assert failure.decisions.before > 500
    assert failure.decisions.after == decisions(failure.script, failure.tape) <= 12
    assert failure.decisions.reruns <= 200
    assert key_error.minimal


def test_a_shrunk_plan_is_a_plan_that_loads(key_error: Captured) -> None:
    plan = key_error.failure.plan_of()
    assert plan.workers.count == 1
    assert plan.workers.concurrency in (2, 3)  # two attempts must meet; same-key begins with 24
    assert loads(dump(plan)) == plan


def test_the_finding_points_at_events_of_the_stored_history(key_error: Captured) -> None:
    history = History.read(files.history_path(key_error.path))
    failure = key_error.failure
    assert history.digest() == failure.digest
    errors = [history[n - 1] for n in failure.finding.events]
    assert [one.error for one in errors if isinstance(one, ErrorRaised)] == ["KeyError"]


def test_no_place_of_this_machine_is_in_a_history(key_error: Captured) -> None:
    raised = [one for one in key_error.history if isinstance(one, ErrorRaised)]
    assert raised
    assert [one.traceback for one in raised if 'File "/' in one.traceback] == []


def test_a_history_knows_the_minor_version_of_python_alone(key_error: Captured) -> None:
    began = [one for one in key_error.history if isinstance(one, HostBegan)]
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert {one.python for one in began} == {here}


def test_a_replay_in_another_process_is_the_same_run(key_error: Captured) -> None:
    done = replay(key_error.path, quiet)
    assert done.same
    assert done.digest == key_error.failure.digest
    assert done.sight is not None
    assert (done.parting, done.differences) == (None, ())


@pytest.mark.parametrize("variant", ["guarded@0.26.3", "by-id@0.26.3"])
def test_a_repair_cures_the_very_schedule(key_error: Captured, variant: str) -> None:
    done = replay(key_error.path, quiet, variant=variant)
    assert (done.sight, replaying.exit_code(done)) == (None, 0)


def test_what_is_no_repair_does_not(key_error: Captured) -> None:
    done = replay(key_error.path, quiet, variant="by-key@0.26.3")
    assert done.sight is not None
    assert replaying.exit_code(done) == 1


def test_a_seed_without_that_finding_is_refused_with_what_it_shows(
    sim_environment: Callable[[str], Environment], tmp_path: Path
) -> None:
    wanted = Capture(
        variant=parse("guarded@0.26.3"),
        plan=searched_plan().model_copy(update={"duration_us": 1_500_000}),
        seed=SEED,
        promise="no-internal-errors",
        kind="KeyError",
    )
    with (
        Child(sim_environment("stock@0.26.3")) as child,
        pytest.raises(UsageError, match=r"seed 1 on guarded@0\.26\.3 does not break .*KeyError"),
    ):
        capture(wanted, child, tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- the verb -------------------------------------------------------------------------------------


def test_replay_tells_the_story_and_writes_it_as_a_page(
    own_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", str(own_copy), "--no-color"]) == 0
    said = capsys.readouterr().out
    assert "the same run, event for event" in said
    assert "How saq came to raise KeyError on job" in said
    assert own_copy.with_suffix(".html").is_file()


def test_replay_of_another_run_says_where_the_two_part(
    own_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = list(History.read(files.history_path(own_copy)))
    place = next(n for n, one in enumerate(events) if isinstance(one, ErrorRaised))
    events[place] = msgspec.structs.replace(events[place], line="worker.py:1 other")
    History(events).write(files.history_path(own_copy))
    changed(own_copy, digest=History(events).digest())
    assert run(["replay", str(own_copy), "--quiet"]) == 1
    said = capsys.readouterr().out
    assert "NOT the same run" in said
    assert f"they part at event {place + 1}, error-raised on stock@0.26.3/worker-1.1:" in said
    assert "  line then worker.py:1 other\n       now  worker.py:" in said


def test_replay_without_the_stored_history_says_that_it_cannot_compare(
    own_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files.history_path(own_copy).unlink()
    changed(own_copy, digest="0" * 64)
    assert run(["replay", str(own_copy), "--quiet"]) == 1
    assert "no telling where they part" in capsys.readouterr().out


def test_replay_on_another_python_says_that_the_digest_may_differ(
    own_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(own_copy.read_text("utf-8"))
    changed(own_copy, versions=data["versions"] | {"python": "3.9"})
    assert run(["replay", str(own_copy), "--quiet"]) == 0
    assert "found on Python 3.9, this is 3." in capsys.readouterr().err


def test_replay_answers_as_json(own_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(own_copy.parent), "--quiet", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["same"], answer["found"], answer["kind"]) == (True, True, "KeyError")
    assert answer["digest"] == answer["digest_then"]


def test_replay_of_what_is_no_failure_file_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.yaml").write_text("plan: x\n", "utf-8")
    assert run(["replay", str(tmp_path / "plan.yaml")]) == 2
    assert "is no failure file" in capsys.readouterr().err


# --- where histories part -------------------------------------------------------------------------


def test_the_first_event_that_differs_is_where_histories_part() -> None:
    then = History(
        [ErrorRaised(origin="internal", where="log", error="KeyError", t_us=n) for n in (1, 2)]
    )
    now = History(
        [ErrorRaised(origin="internal", where="log", error="KeyError", t_us=n) for n in (1, 3)]
    )
    found = parting(then, now)
    assert found is not None
    assert (found.number, '"t_us":2' in found.then, '"t_us":3' in found.now) == (2, True, True)
    assert parting(then, then) is None


def test_a_history_that_ends_early_parts_at_its_end() -> None:
    event = ErrorRaised(origin="internal", where="log", error="KeyError")
    found = parting(History([event, event]), History([event]))
    assert found is not None
    assert (found.number, found.now) == (2, "")
    assert replaying.parting_lines(found)[-1] == "  now  (no event: the run was over)"


def test_events_of_different_kinds_are_shown_whole() -> None:
    lines = replaying.parting_lines(
        Parting(7, '{"event":"slot-set","host":"a"}', '{"event":"body-began","host":"a"}')
    )
    assert lines == [
        "they part at event 7:",
        '  then {"event":"slot-set","host":"a"}',
        '  now  {"event":"body-began","host":"a"}',
    ]


def test_a_replay_elsewhere_is_judged_by_its_finding_alone(key_error: Captured) -> None:
    here = Replayed(
        failure=key_error.failure,
        variant=parse("stock@0.26.3"),
        digest="other",
        sight=None,
        differences=(),
        parting=None,
        history=key_error.history,
    )
    assert replaying.exit_code(here) == 1
    assert replaying.exit_code(replace(here, variant=parse("stock@0.26.4"))) == 0
