"""Literal verdicts and a literal history, shared by the tests of the reports."""

from __future__ import annotations

from chaos.event import AttemptBegan, HostBegan, RunBegan, SlotMissed, SlotOverwritten
from chaos.history import History
from chaos.verdict import (
    ExposureVerdict,
    Finding,
    GateVerdict,
    Outcome,
    PromiseVerdict,
    ThresholdVerdict,
    VariantVerdict,
    Verdict,
)

HOST = "stock@0.26.3/worker-1.1"

HISTORY = History(
    [
        RunBegan(run="r1", plan="same-key", world="live", seed=1, variants=("stock@0.26.3",)),
        HostBegan(
            t_us=1_000, host=HOST, role="worker", python="3.11.7", saq="0.26.3", redis_py="6.4.0"
        ),
        AttemptBegan(t_us=1_200_000, host=HOST, job="k1", attempt=f"{HOST}#1"),
        SlotOverwritten(t_us=1_300_000, host=HOST, job="k1", attempt=f"{HOST}#1", by=f"{HOST}#2"),
        SlotMissed(t_us=1_400_500, host=HOST, job="k1", attempt=f"{HOST}#2"),
    ]
)

STOCK = VariantVerdict(
    variant="stock@0.26.3",
    outcome=Outcome.INVALID,
    promises=(
        PromiseVerdict(
            promise="no-internal-errors",
            outcome=Outcome.INVALID,
            count=37,
            exposure=412,
            exposure_name="slot_collisions",
            kinds={"AssertionError": 7, "KeyError": 30},
            findings=(
                Finding(
                    kind="KeyError",
                    message="KeyError out of process() of k1",
                    job="k1",
                    events=(4, 5),
                ),
            ),
        ),
        PromiseVerdict(
            promise="one-at-a-time",
            outcome=Outcome.UNKNOWN,
            reason="no overlap was met",
            exposure_name="overlaps",
        ),
    ),
    exposures=(ExposureVerdict(exposure="slot_collisions", count=412, required=300),),
    thresholds=(
        ThresholdVerdict(threshold="key_errors == 0", outcome=Outcome.INVALID, value=30.0),
    ),
    counters={"attempts": 1855.0, "key_errors": 30.0, "restarts": 0.0},
    server="valkey 9.1.0",
    first_key_error_us=1_400_500,
)

GUARDED = VariantVerdict(
    variant="guarded@0.26.3",
    outcome=Outcome.VALID,
    promises=(
        PromiseVerdict(
            promise="no-internal-errors",
            outcome=Outcome.VALID,
            exposure=412,
            exposure_name="slot_collisions",
        ),
        PromiseVerdict(
            promise="one-at-a-time",
            outcome=Outcome.VALID,
            exposure=1200,
            exposure_name="overlaps",
        ),
    ),
    exposures=(ExposureVerdict(exposure="slot_collisions", count=412, required=300),),
    counters={"attempts": 1900.0, "key_errors": 0.0, "restarts": 0.0},
)

VERDICT = Verdict(
    run="r1",
    plan="same-key",
    world="live",
    seed=1,
    version="0.1.0",
    history_digest="ab" * 32,
    variants=(STOCK, GUARDED),
    gate=GateVerdict(
        gate="baseline",
        outcome=Outcome.VALID,
        baseline="stock@0.26.3",
        reasons=("guarded@0.26.3: no promise is worse",),
    ),
    repeat="saq-chaos soak runs/r1/plan.yaml",
    events=5,
)
