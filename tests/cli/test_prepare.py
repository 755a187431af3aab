"""`saq-chaos prepare`: environments ahead of runs."""

from __future__ import annotations

import pytest

from chaos.cli.main import run


def test_a_plan_is_prepared_for_both_worlds_once_for_each_saq(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["prepare", "same-key"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "0.26.3 (live)", "0.26.3 (sim)", "0.26.4 (live)", "0.26.4 (sim)",
    ]  # fmt: skip
    assert "saq 0.26.3, redis-py 6.4.0" in lines[0]


def test_named_variants_are_prepared_instead_of_a_plans(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prepare", "--variant", "by-id@0.26.4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["0.26.4 (live)", "0.26.4 (sim)"]


def test_an_unknown_plan_is_named_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prepare", "no-such-plan"]) == 2
    said = capsys.readouterr().err
    assert "no-such-plan" in said
    assert "same-key" in said
