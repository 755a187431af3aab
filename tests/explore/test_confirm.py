"""Acting a failure out live: how it is played, and that the KeyError really happens there."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import msgspec
import pytest

from chaos.cli import confirming
from chaos.cli.main import run
from chaos.errors import ServerFailed, UsageError
from chaos.explore.confirm import Confirmed, acted_out, confirm, usual_tries
from chaos.explore.failure import Failure, as_data
from chaos.explore.rerun import Sight
from chaos.history import History
from chaos.plan_file import dump, loads
from chaos.request import VariantStatus
from chaos.script import FixedScript, Injection, TimedEnqueue
from chaos.soak import SoakResult
from chaos.timeline import Timeline
from chaos.verdict import GateVerdict, Outcome, Verdict
from chaos.world import Enqueue
from tests.explore.samples import FAILURE
from tests.explore.toys import enqueue, plan

SCRIPT = FixedScript((enqueue(0, "key-1"), enqueue(200_000, "key-2")), (Injection(500_000, 0),))


class Silent:
    """An observer that keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def phase(self, variant: str, phase: str) -> None:
        """Not kept."""

    def tick(self, status: tuple[VariantStatus, ...]) -> None:
        """Not kept."""

    def note(self, text: str) -> None:
        self.notes.append(text)

    def folded(self, timelines: tuple[Timeline, ...]) -> None:
        """Not kept."""


def failing(**changes: object) -> Failure:
    """A failure of two enqueues and a sweep, found after 1.2 s."""
    finding = msgspec.structs.replace(FAILURE.finding, at_us=1_200_000)
    data = as_data(plan(faults=[{"fault": "sweep", "at": ["500ms"]}]))
    given = {"finding": finding, "plan": data, "script": SCRIPT, **changes}
    return msgspec.structs.replace(FAILURE, **given)


# --- how it is played -----------------------------------------------------------------------------


def test_the_first_try_plays_the_script_alone_round_after_round() -> None:
    acted = acted_out(failing(), 1)
    assert (acted.copies, acted.rounds) == (1, 4)
    period_us = 1_200_000 + 9_000 + 400_000
    script = acted.script
    assert [(one.at_us, one.command.key) for one in script.timed_enqueues[:4]] == [
        (0, "key-1-0-0"),
        (200_000, "key-2-0-0"),
        (period_us, "key-1-1-0"),
        (period_us + 200_000, "key-2-1-0"),
    ]
    assert [one.at_us for one in script.timed_injections] == [
        500_000 + turn * period_us for turn in range(4)
    ]
    assert acted.plan.workers.concurrency == 8


def test_a_script_that_begins_late_is_played_from_its_first_step() -> None:
    late = FixedScript((enqueue(800_000_000, "key-1"),), (Injection(801_000_000, 0),))
    found = msgspec.structs.replace(FAILURE.finding, at_us=802_000_000)
    acted = acted_out(failing(script=late, finding=found), 1)
    assert acted.script.timed_enqueues[0].at_us == 0
    assert acted.script.timed_injections[0].at_us == 1_000_000
    assert acted.plan.duration_us < 10_000_000


def test_a_failure_that_takes_minutes_is_tried_less_often() -> None:
    found = msgspec.structs.replace(FAILURE.finding, at_us=270_000_000)
    assert usual_tries(failing()) == 10
    assert usual_tries(failing(finding=found)) == 2
    assert usual_tries(failing(finding=msgspec.structs.replace(found, at_us=9 * 270_000_000))) == 1


def test_copies_come_later_and_later_against_the_faults_and_have_room_and_keys_of_their_own() -> (
    None
):
    acted = acted_out(failing(), 2)
    first = [
        one for one in acted.script.timed_enqueues if str(one.command.key).startswith("key-1-0")
    ]
    assert [one.at_us for one in first] == [9_000 * copy for copy in range(8)]
    assert acted.script.timed_injections[0].at_us == 500_000 + 31_500
    assert acted.plan.workers.concurrency == 8 * 8
    keys = [one.command.key for one in acted.script.timed_enqueues]
    assert len(set(keys)) == len(keys)


def test_times_are_in_order_and_within_the_run_in_every_try() -> None:
    for number in range(1, 11):
        acted = acted_out(failing(), number)
        times = [one.at_us for one in acted.script.timed_enqueues]
        assert times == sorted(times)
        injections = [one.at_us for one in acted.script.timed_injections]
        assert max(times + injections) < acted.plan.duration_us <= 20_000_000


def test_the_same_try_is_the_same_and_others_are_not() -> None:
    tries = [acted_out(failing(), number) for number in range(1, 11)]
    assert acted_out(failing(), 3) == tries[2]
    assert (
        len({json.dumps([one.at_us for one in each.script.timed_enqueues]) for each in tries}) > 4
    )
    assert len({each.plan.seed for each in tries}) == 10


def test_the_plan_of_a_try_says_when_its_faults_come_and_loads() -> None:
    acted = acted_out(failing(), 2)
    times = tuple(one.at_us for one in acted.script.timed_injections)
    assert acted.plan.faults[0].at_us == times
    assert loads(dump(acted.plan)) == acted.plan


def test_an_abort_fault_aborts_as_many_jobs_for_each_copy() -> None:
    data = as_data(plan(faults=[{"fault": "abort", "at": ["500ms"], "count": 2}]))
    spec = acted_out(failing(plan=data), 2).plan.faults[0]
    assert getattr(spec, "count", 0) == 16


def test_what_the_live_world_cannot_do_is_refused_by_name(tmp_path: Path) -> None:
    data = as_data(plan(faults=[{"fault": "lost_reply", "at": ["500ms"], "for": "100ms"}]))
    path = tmp_path / "failure.json"
    path.write_bytes(msgspec.json.encode(failing(plan=data)))
    with pytest.raises(UsageError, match="the live world cannot do lost_reply"):
        confirm(path, Silent(), lambda _result: None, runs_dir=tmp_path)


# --- the answer -----------------------------------------------------------------------------------


def confirmed(
    sight: Sight | None = None, ended: str = "finished", failed: bool = False
) -> Confirmed:
    verdict = Verdict(
        run="r", plan="toy", world="live", seed=1, version="1", history_digest="",
        variants=(), gate=GateVerdict(gate="strict", outcome=Outcome.UNKNOWN), ended=ended,
    )  # fmt: skip
    failure = ServerFailed("no server") if failed else None
    return Confirmed(
        failure=FAILURE,
        sight=sight,
        tries=10,
        result=SoakResult(verdict, History(()), Path("runs/r"), failure),
        copies=8,
        rounds=3,
        failed=failure,
    )


def test_not_confirmed_is_unknown_not_refuted(capsys: pytest.CaptureFixture[str]) -> None:
    code = confirming.report(confirmed(), {"as_json": False})
    said = capsys.readouterr().out
    assert code == 3
    assert said.startswith("NOT CONFIRMED after 10 tries: no-internal-errors KeyError on stock@")
    assert "refutes nothing" in said


def test_a_failure_that_needs_late_messages_says_so_and_how_to_find_one_that_does_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tape = {"worker-1.1/c2|17|reply": 4_810, "worker-1.1/c2|3|request": 1_382,
            "worker-1.1/c4|1|request": 80, "next|worker-1.1|40": 2}  # fmt: skip
    done = dataclasses.replace(confirmed(), failure=failing(tape=tape))
    confirming.report(done, {"as_json": False})
    said = capsys.readouterr().out
    assert "it needs 2 late messages (up to 4.8 ms on the way)" in said
    assert "--until-failure --calm" in said
    confirming.report(dataclasses.replace(done, failure=failing(tape={})), {"as_json": False})
    assert "late message" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ended", "failed", "code"),
    [("finished", False, 3), ("interrupted", False, 130), ("failed", True, 4)],
)
def test_what_ended_the_last_try_decides_the_exit_code(ended: str, failed: bool, code: int) -> None:
    assert confirming.exit_code(confirmed(None, ended, failed)) == code


def test_an_interrupted_try_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert confirming.report(confirmed(None, "interrupted"), {"as_json": False}) == 130
    assert capsys.readouterr().out.startswith("INTERRUPTED in try 10: no-internal-errors KeyError")


def test_what_was_seen_is_confirmed_however_its_try_ended() -> None:
    sight = Sight(promise="no-internal-errors", kind="KeyError")
    assert confirming.exit_code(confirmed(sight, "interrupted")) == 0


# --- live -----------------------------------------------------------------------------------------


def test_the_key_error_of_the_simulator_happens_in_the_live_world(
    own_copy: Path, tmp_path: Path, cache: None, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["confirm", str(own_copy), "--run-dir", str(tmp_path / "runs"), "--quiet", "--json"]
    assert run(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["confirmed"], answer["promise"], answer["kind"]) == (
        True, "no-internal-errors", "KeyError",
    )  # fmt: skip
    folder = Path(answer["run_dir"])
    history = History.read(folder / "history.jsonl")
    assert "KeyError" in str(history[answer["events"][-1] - 1])
    verdict = json.loads((folder / "verdict.json").read_text("utf-8"))
    assert verdict["world"] == "live"
    assert verdict["repeat"] == f"saq-chaos confirm {own_copy}"
    assert (folder / "report.html").is_file()


def test_a_scheduled_job_that_fails_once_collides_with_itself_live(
    tmp_path: Path, cache: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `explore rolling-deploy --until-failure --calm` shrinks to: one enqueue."""
    raising = {"profile": "raising", "takes_us": 100_000, "error": "ValueError"}
    quick = {"profile": "quick", "takes_us": 2_000_000}
    command = Enqueue(
        function="saq_chaos_body", key="key-38", kwargs={"bodies": [raising, quick]},
        options={"timeout": 10, "retries": 5, "ttl": 60}, scheduled_in_us=2_000_000,
    )  # fmt: skip
    one_worker = {"count": 1, "concurrency": 2}
    alone = plan(variants=["stock@0.26.3"], faults=[], workers=one_worker, drain="30s")
    finding = msgspec.structs.replace(FAILURE.finding, at_us=6_000_000, job="key-38")
    failure = failing(
        plan=as_data(alone), finding=finding, script=FixedScript((TimedEnqueue(0, command),)),
        tape={},
    )  # fmt: skip
    path = tmp_path / "failure.json"
    path.write_bytes(msgspec.json.encode(failure))
    arguments = ["confirm", str(path), "--run-dir", str(tmp_path / "runs"), "--tries", "3"]
    assert run([*arguments, "--quiet"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("CONFIRMED in the live world, in try")
    assert "slot-overwritten" in said


def test_a_repaired_build_is_not_confirmed(
    own_copy: Path, tmp_path: Path, cache: None, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(own_copy.read_text("utf-8"))
    data["variant"] = "guarded@0.26.3"
    data["plan"]["variants"] = ["guarded@0.26.3"]
    own_copy.write_text(json.dumps(data), "utf-8")
    arguments = ["confirm", str(own_copy), "--run-dir", str(tmp_path / "runs"), "--tries", "1"]
    assert run([*arguments, "--quiet"]) == 3
    assert capsys.readouterr().out.startswith("NOT CONFIRMED after 1 try: no-internal-errors")
