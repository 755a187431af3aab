"""A run that is as large as a plan allows where it matters for the size of a report."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from chaos.event import (
    AttemptBegan,
    ErrorRaised,
    Event,
    FaultHealed,
    FaultInjected,
    PhaseBegan,
    RunBegan,
    RunEnded,
)
from chaos.history import History
from chaos.verdict import Finding, GateVerdict, Outcome, PromiseVerdict, VariantVerdict, Verdict
from tests.reports.samples import VERDICT

VARIANTS = tuple(f"guarded@0.26.{n}" for n in range(8))
FAULTS = ("sweep", "abort", "rolling_restart", "latency", "kill", "pause")
PROMISES = 15
END_US = 300_000_000
HOSTILE = "<b>&'\"\x00\x1b]0;\u202e\ufffe"


def history() -> History:
    """Five minutes of eight variants: an attempt and an error each 600 ms, 900 faults each."""
    events = [event for variant in VARIANTS for event in _of(variant)]
    events.append(RunBegan(run="r", plan="p", world="live", seed=1, variants=VARIANTS))
    return History(sorted(events, key=lambda event: event.t_us))


def _of(variant: str) -> Iterator[Event]:
    host = f"{variant}/worker-1.1"
    for phase, at_us in (("safety", 1), ("heal", END_US - 9_000_000), ("liveness", END_US // 2)):
        yield PhaseBegan(t_us=at_us, phase=phase, of=variant)
    for n in range(500):
        at_us = 100_000 + n * 597_000
        attempt = f"{host}#{n}"
        yield AttemptBegan(t_us=at_us, host=host, job=f"{n}{HOSTILE}", attempt=attempt)
        yield ErrorRaised(
            t_us=at_us + 50_000 + n * 7 % 40_000, host=host, origin="internal", where="process",
            error="KeyError", message=HOSTILE * 60, line=HOSTILE * 60, job=HOSTILE * 40,
            attempt=attempt,
        )  # fmt: skip
    for n in range(900):
        fault, at_us = FAULTS[n % len(FAULTS)], 1_000_000 + n * 320_000
        yield FaultInjected(t_us=at_us, fault=fault, number=n, of=variant)
        yield FaultHealed(t_us=at_us + 10_000 + n % 7 * 50_000, fault=fault, number=n, of=variant)
    yield RunEnded(t_us=END_US, reason="finished", of=variant)


def verdict(told: History) -> Verdict:
    """Every promise broken everywhere, with as many findings as are kept and long messages."""
    numbers = [event.n for event in told if isinstance(event, ErrorRaised)]
    finding = Finding(kind="x", message=HOSTILE * 100, job=HOSTILE, events=tuple(numbers[:40]))
    promise = PromiseVerdict(
        promise="", outcome=Outcome.INVALID, count=70_000, exposure=80_000,
        exposure_name="attempts", kinds={f"{HOSTILE}{n}": n for n in range(30)},
        findings=(finding,) * 20,
    )  # fmt: skip
    promises = tuple(
        msgspec.structs.replace(promise, promise=f"promise-{n}") for n in range(PROMISES)
    )
    variants = tuple(
        VariantVerdict(variant=one, outcome=Outcome.INVALID, promises=promises) for one in VARIANTS
    )
    reasons = tuple(f"{one}: {HOSTILE * 50}" for one in VARIANTS for _ in range(PROMISES))
    gate = GateVerdict(gate="strict", outcome=Outcome.INVALID, reasons=reasons)
    return msgspec.structs.replace(VERDICT, variants=variants, gate=gate, events=len(told))
