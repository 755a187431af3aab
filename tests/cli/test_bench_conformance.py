"""`saq-chaos bench conformance`: the figures, the exit code, and what a difference looks like."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from chaos.cli.bench_conformance import as_text
from chaos.cli.main import run
from chaos.environments import Environment
from chaos.sim.conformance import ConformanceReport, Difference
from chaos.sim.redis_model.waiting import Waiting

VARIANT = "stock@0.26.4"


def test_programs_run_and_agree(
    environment: Callable[[str], Environment], capsys: pytest.CaptureFixture[str]
) -> None:
    environment(VARIANT)
    capsys.readouterr()
    assert run(["bench", "conformance", "--programs", "20", "--variant", VARIANT, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["programs"], report["differences"], report["agrees"]) == (20, [], True)
    assert report["scripts"] == 3
    assert report["server"].startswith("valkey 9.")


def test_a_difference_is_exit_code_1(
    environment: Callable[[str], Environment],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment(VARIANT)
    monkeypatch.setattr(Waiting, "signal", lambda self, keyspace, key: None)
    assert run(["bench", "conformance", "--programs", "60", "--variant", VARIANT]) == 1
    shown = capsys.readouterr().out
    assert "differ    " in shown
    assert "differ    0" not in shown


def test_without_lupa_the_way_out_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run(["bench", "conformance"]) == 2
    assert "pip install 'saq-chaos[sim]'" in capsys.readouterr().err


def test_a_report_in_words() -> None:
    report = ConformanceReport(
        server="valkey 9.1.2", seed=3, programs=1, steps=2, replies=2, errors=0, blocked=0,
        pauses=0, repeated=0, given_up=0, commands=(("GET", 1), ("SET", 1)), scripts=3,
        differences=(
            Difference(
                number=0, steps=("0: SET k v", "0: GET k"), where="step 2: 0: GET k, read by 0",
                real="b'v'", model="None",
            ),
        ),
        seconds=0.5,
    )  # fmt: skip
    assert as_text(report) == (
        "1 programs of seed 3 against valkey 9.1.2\n"
        "compared  2 replies to 2 commands, 0 errors\n"
        "blocked   0 times a client; 0 pauses; 0.5 s\n"
        "commands  2 different; 3 scripts of saq\n"
        "repeated  0 for being too slow, 0 given up\n"
        "differ    1\n"
        "\n"
        "program 0: step 2: 0: GET k, read by 0\n"
        "    0: SET k v\n"
        "    0: GET k\n"
        "  real  b'v'\n"
        "  model None\n"
    )
