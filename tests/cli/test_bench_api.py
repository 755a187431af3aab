"""`saq-chaos bench api`, small: against a real service with real runs."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from chaos.cli.api_load import Cycles, Reads, Streams
from chaos.cli.bench_api import ApiResult, text
from chaos.cli.main import run
from chaos.environments import Environment

RESULT = ApiResult(
    reads_idle=100, reads_busy=200, failed=(), p50_idle=0.01, p99_idle=0.02, p50_busy=0.02,
    p99_busy=0.05, p99_ratio=2.5, attempts_ratio=0.9, streams=Streams(3, 3, 40),
    cycles=Cycles(2, 0, 0, ()),
)  # fmt: skip


def with_(**changes: object) -> ApiResult:
    fields = {name: getattr(RESULT, name) for name in ApiResult.__slots__}
    return ApiResult(**{**fields, **changes})


def test_a_small_bench_finds_nothing_lost_and_nothing_left(
    capsys: pytest.CaptureFixture[str], environment: Callable[[str], Environment]
) -> None:
    assert environment("stock@0.26.3").saq == "0.26.3"
    capsys.readouterr()  # what building it said
    words = ["--requests", "16", "--concurrency", "4", "--subscribers", "4", "--cycles", "1"]
    assert run(["bench", "api", *words, "--soak", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reads_idle"] == 16
    assert found["failed"] == []
    assert found["streams"]["complete"] == found["streams"]["subscribers"] == 4
    assert found["cycles"] == {"cycles": 1, "processes": 0, "descriptors": 0, "failed": []}
    assert found["p99_ratio"] > 0
    assert found["attempts_ratio"] > 0


def test_what_fails_is_lost_or_left_behind_is_no_sound_result() -> None:
    assert RESULT.sound
    assert not with_(failed=("/v1/runs: 500",)).sound
    assert not with_(streams=Streams(3, 2, 40)).sound
    assert not with_(cycles=Cycles(2, 1, 0, ())).sound
    assert not with_(cycles=Cycles(2, 0, 3, ())).sound
    assert not with_(cycles=Cycles(2, 0, 0, ("r: 500",))).sound
    assert with_(cycles=None).sound


def test_the_text_shows_what_failed() -> None:
    said = text(with_(failed=("/v1/runs: 500",)))
    assert "failed requests       1\n  /v1/runs: 500\n" in said
    assert "3 of 3 got every one of 40 events" in said


def test_percentiles_are_nearest_ranks() -> None:
    reads = Reads(seconds=[float(number) for number in range(100, 0, -1)])
    assert (reads.percentile(50), reads.percentile(99), Reads().percentile(99)) == (50.0, 99.0, 0.0)
