"""The command line as a user meets it: help, mistakes, and every way to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import pytest

from chaos.cli import validate_verb
from chaos.cli.command_line import VERBS, run
from chaos.plan_file import shipped

SCRIPT = Path(sys.executable).parent / "saq-chaos"
HEAVY = ("pydantic", "rich", "msgspec", "yaml", "prometheus_client", "redis", "saq")


def test_help_names_every_verb_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [verb for verb in VERBS if f"\n  {verb} " not in shown] == []
    assert "Exit codes: 0 the gate passed" in shown


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: saq-chaos {verb} ")


def test_help_and_mistakes_are_answered_without_anything_heavy() -> None:
    code = (
        "import sys; from chaos.cli.main import run; run(['soak', '--help']); run(['soak']); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_installed_script_answers_with_its_version() -> None:
    done = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("saq-chaos, version ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sook"], "there is no verb 'sook': accepted are soak, explore"),
        (["sook"], "did you mean soak?"),
        (["soak"], "Missing argument 'PLAN'"),
        (["soak", "same-key", "--varant", "x"], "'--variant'?"),
        (["soak", "same-key", "--gate", "stric"], "'stric' is not known: accepted are strict"),
        (["soak", "same-key", "--gate", "stric"], "did you mean strict?"),
        (["soak", "same-key", "--duration", "90"], "'90' is no duration"),
        (["soak", "same-key", "--seed", "-1"], "-1 is not in the range x>=0"),
        (["soak", "same-key", "--world", "moon"], "'moon' is not known: accepted are live, sim"),
        (["soak", "same-kye"], "'same-kye': did you mean 'same-key'?"),
        (["soak", "./nowhere.yaml"], "cannot read the plan 'nowhere.yaml'"),
        (["soak", "same-key", "--variant", "stok@0.26.4"], "did you mean stock?"),
        (["soak", "same-key", "--variant", "stock"], "write PATCH@SAQ"),
        (["soak", "smoke", "--redis-url", "redis://:hunter2@h"], "Say so with --allow-external"),
        (["check", "nowhere"], "Path 'nowhere' does not exist"),
        (["list", "plns"], "did you mean plans?"),
        (["clean", "--older-than", "soon"], "'soon' is no duration"),
    ],
)
def test_a_mistake_is_one_message_with_the_value_and_exit_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert "hunter2" not in shown.err
    assert shown.out == ""


def test_a_bad_plan_tells_all_its_problems_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "bad.yaml"
    plan.write_text("plan: bad\nduration: 3\nworkload: {kind: same_keys}\npromises: [none]\n")
    assert run(["validate", str(plan)]) == 2
    shown = capsys.readouterr().err
    assert f"{plan}:2:1: duration: 3 is no duration" in shown
    assert f"{plan}:3:1: workload: 'same_keys' is no workload" in shown
    assert f"{plan}:4:12: promises[0]: 'none' is no promise" in shown


@pytest.mark.parametrize("plan", shipped())
def test_every_shipped_plan_is_fine(plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", plan]) == 0
    assert capsys.readouterr().out.startswith(f"{plan}: fine. ")


def test_a_fault_of_ours_is_one_line_and_its_traceback_lies_in_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _break_validate(monkeypatch, RuntimeError("boom"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert run(["validate", "smoke"]) == 4
    shown = capsys.readouterr().err
    assert "saq-chaos: RuntimeError: boom\n" in shown
    assert "This is a fault of saq-chaos" in shown
    assert "Traceback" not in shown
    (kept,) = tmp_path.iterdir()
    assert str(kept) in shown
    assert "RuntimeError: boom" in kept.read_text()


def test_debug_shows_the_traceback_of_a_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _break_validate(monkeypatch, RuntimeError("boom"))
    assert run(["--debug", "validate", "smoke"]) == 4
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_interrupt_exits_130_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _break_validate(monkeypatch, KeyboardInterrupt())
    assert run(["validate", "smoke"]) == 130
    assert capsys.readouterr().err == "\nsaq-chaos: interrupted\n"


def test_a_reader_that_goes_away_changes_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [SCRIPT, "list", "counters"],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("plans", "same-key"),
        ("variants", "guarded"),
        ("faults", "rolling_restart"),
        ("workloads", "same_key"),
        ("checkers", "one-at-a-time"),
        ("exposures", "slot_collisions"),
        ("counters", "key_errors"),
    ],
)
def test_list_shows_what_there_is_with_a_sentence_each(
    topic: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["list", topic, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert name in [row["name"] for row in rows]
    assert [row["name"] for row in rows if not row["description"]] == []
    assert run(["list", topic]) == 0
    assert f"{name} " in capsys.readouterr().out


def _break_validate(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def broken(plan: str) -> int:
        raise error

    command = click.Command("validate", callback=broken, params=validate_verb.command.params)
    monkeypatch.setattr(validate_verb, "command", command)


def test_a_full_disk_behind_stdout_is_told_and_changes_no_exit_code() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [SCRIPT, "list", "faults"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 0
    assert done.stderr == (
        "saq-chaos: the answer could not be written to stdout: No space left on device\n"
    )


def test_a_closed_stdout_changes_nothing() -> None:
    command = ["sh", "-c", 'exec "$0" list faults >&-', str(SCRIPT)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
