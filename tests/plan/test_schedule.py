"""Injection times: sorted, inside the run, the same for the same seed, and each fault's own."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from chaos import schedule
from chaos.plan import FaultSpec
from chaos.schedule import injections

SECOND_US = 1_000_000


def fault(**keys: object) -> FaultSpec:
    return FaultSpec.model_validate_json(json.dumps(keys))


def test_every_without_jitter_counts_from_after() -> None:
    assert injections(fault(every="3s"), 0, 10 * SECOND_US, 1) == (3_000_000, 6_000_000, 9_000_000)
    assert injections(fault(every="3s", after="2s"), 0, 10 * SECOND_US, 1) == (5_000_000, 8_000_000)


def test_the_end_is_not_in_the_run() -> None:
    assert injections(fault(every="5s"), 0, 10 * SECOND_US, 1) == (5_000_000,)


def test_at_gives_its_own_times_in_order() -> None:
    spec = fault(at=["9s", "0s", "4s", "10s"])
    assert injections(spec, 0, 10 * SECOND_US, 1) == (0, 4_000_000, 9_000_000)


def test_the_times_of_a_seed_are_these_on_every_machine() -> None:
    spec = fault(every="2s", jitter="500ms")
    assert injections(spec, 0, 9 * SECOND_US, 1) == (
        2_307_926, 4_384_899, 6_164_439, 7_995_591,
    )  # fmt: skip
    assert injections(spec, 1, 9 * SECOND_US, 1) != injections(spec, 0, 9 * SECOND_US, 1)
    assert injections(spec, 0, 9 * SECOND_US, 2) != injections(spec, 0, 9 * SECOND_US, 1)


def test_a_time_that_is_moved_past_the_end_is_left_out() -> None:
    spec = fault(every="1s", jitter="999ms")
    for seed in range(50):
        times = injections(spec, 0, 3 * SECOND_US, seed)
        assert all(0 < at_us < 3 * SECOND_US for at_us in times)


def test_the_number_of_injections_is_bounded() -> None:
    spec = fault(every="1us")
    assert len(injections(spec, 0, 2 * schedule.INJECTIONS_MAX, 1)) == schedule.INJECTIONS_MAX


specs = st.builds(
    lambda every_us, jitter, after_us: fault(
        every=f"{every_us}us", jitter=f"{jitter * every_us // 100}us", after=f"{after_us}us"
    ),
    st.integers(1_000, 10**7),
    st.integers(0, 99),
    st.integers(0, 10**7),
)


@given(specs, st.integers(0, 9), st.integers(1, 10**7), st.integers(0, 2**62))
def test_times_are_sorted_and_inside_and_near_their_period(
    spec: FaultSpec, index: int, duration_us: int, seed: int
) -> None:
    times = injections(spec, index, duration_us, seed)
    assert spec.every_us is not None
    assert list(times) == sorted(times)
    assert all(spec.after_us <= at_us < duration_us for at_us in times)
    assert len(times) <= schedule.count_max(spec, duration_us)
    for at_us in times:
        off_us = (at_us - spec.after_us) % spec.every_us
        assert min(off_us, spec.every_us - off_us) <= spec.jitter_us


@given(specs, st.integers(1, 10**7), st.integers(1, 10**7), st.integers(0, 2**62))
def test_a_longer_run_moves_no_time(
    spec: FaultSpec, duration_us: int, more_us: int, seed: int
) -> None:
    short = injections(spec, 0, duration_us, seed)
    longer = injections(spec, 0, duration_us + more_us, seed)
    assert [at_us for at_us in longer if at_us < duration_us] == list(short)
