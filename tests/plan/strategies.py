"""Hypothesis strategies over the whole plan model, in its YAML form: every plan is a sound one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from chaos.clock import SECOND_US, format_duration
from chaos.plan_file.names import known_names
from chaos.plan_units import format_rate

DURATION_US = 600 * SECOND_US  # what faults and bodies must fit into
DRAIN_US = 300 * SECOND_US

Form = dict[str, Any]


def durations(low_us: int, high_us: int) -> st.SearchStrategy[str]:
    return st.integers(low_us, high_us).map(format_duration)


def seconds(low: int, high: int) -> st.SearchStrategy[str]:
    return st.integers(low, high).map(lambda whole: format_duration(whole * SECOND_US))


def rates(fastest_us: int) -> st.SearchStrategy[str]:
    return st.integers(fastest_us, 604_800 * SECOND_US).map(format_rate)


def some(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Form]:
    """A mapping with any of these keys."""
    return st.fixed_dictionaries({}, optional=keys)


def both(
    first: st.SearchStrategy[Form], second: st.SearchStrategy[Form]
) -> st.SearchStrategy[Form]:
    return st.tuples(first, second).map(lambda pair: {**pair[0], **pair[1]})


texts = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters=":"), max_size=12
) | st.sampled_from(["on", "1:30", "1e3", "~", "null", "0x1", "<<", "- a", "# b", "'", '"', "{n}"])
_numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
scalars: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), _numbers, texts)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip

workers = some(
    count=st.integers(4, 64),
    concurrency=st.integers(1, 1000),
    timers=some(
        schedule=seconds(1, 100),
        worker_info=seconds(1, 100),
        sweep=seconds(1, 100),
        abort=durations(1, 10**8),
    ),
    grace=durations(0, 10**8),
    deadline=durations(0, 10**8),
)
_takes = some(weight=st.integers(1, 1000), takes=durations(0, 10**8), spread=durations(0, 10**8))
bodies = st.one_of(
    both(
        _takes, st.fixed_dictionaries({"profile": st.sampled_from(["quick", "swallow", "thread"])})
    ),
    both(_takes, both(some(beat=durations(1, 10**9)), st.just({"profile": "heartbeat"}))),
    both(_takes, both(some(winds_down=durations(1, 10**8)), st.just({"profile": "stubborn"}))),
    both(
        _takes,
        both(
            some(error=st.sampled_from(["ValueError", "KeyError", "TimeoutError"])),
            st.just({"profile": "raising"}),
        ),
    ),
)
same_key = both(
    some(
        keys=st.integers(0, 100_000),
        rate=rates(1_000),
        bodies=st.lists(bodies, min_size=1, max_size=4),
        job=some(
            timeout=durations(0, 10**9),
            heartbeat=durations(0, 10**9),
            retries=st.integers(0, 1000),
            ttl=seconds(0, 10**6),
            retry_delay=durations(0, DRAIN_US - 1),
        ),
    ),
    st.just({"kind": "same_key"})
    | st.fixed_dictionaries(
        {
            "kind": st.just("same_key"),
            "scheduled_share": st.floats(0.001, 1),
            "scheduled_ahead": durations(1, DRAIN_US - 1),
        }
    ),
)
_call = st.fixed_dictionaries(
    {"function": st.text("abc_", min_size=1)},
    optional={
        "kwargs": st.dictionaries(texts, values, max_size=3),
        "rate": rates(10_000),
        "scheduled_ahead": durations(0, DRAIN_US - 1),
        "job": some(
            timeout=st.integers(0, 1000) | st.floats(0, 1000),
            heartbeat=st.integers(0, 1000),
            retries=st.integers(0, 9),
            ttl=st.integers(-1, 1000),
            retry_delay=st.floats(0, 9),
            retry_backoff=st.booleans() | st.floats(0, 9),
            meta=st.dictionaries(texts, values, max_size=2),
        ),
    },
)
calls = st.one_of(
    _call,
    both(_call, st.fixed_dictionaries({"key": st.just("k-{i}")})),
    both(_call, st.fixed_dictionaries({"key": st.just("k-{n}"), "spread": st.integers(1, 99)})),
)
app = st.fixed_dictionaries(
    {
        "kind": st.just("app"),
        "app": st.just("my.app:settings"),
        "calls": st.lists(calls, min_size=1, max_size=3),
    }
)


@st.composite
def times(draw: st.DrawFn) -> Form:
    """When a fault comes: `every` with what belongs to it, or `at`."""
    if draw(st.booleans()):
        ats = st.lists(st.integers(0, DURATION_US - 1), min_size=1, max_size=4, unique=True)
        return {"at": [format_duration(at_us) for at_us in draw(ats)]}
    every_us = draw(st.integers(10_000, DURATION_US // 2))
    rest = some(jitter=durations(0, every_us - 1), after=durations(0, DURATION_US // 2 - 1))
    return {"every": format_duration(every_us), **draw(rest)}


_long = durations(1, DURATION_US - 1)
_links = some(whose=st.sampled_from(["all", "workers", "producer", "one_worker"]))
_share = some(share=st.floats(0.001, 1))
_for = st.fixed_dictionaries({"for": _long})
network_faults = st.one_of(
    both(
        both(st.just({"fault": "latency"}), _for),
        both(
            some(min=durations(0, 1_000)), st.fixed_dictionaries({"max": durations(1_000, 10**8)})
        ),
    ),
    both(
        both(st.just({"fault": "lost_reply"}), _for),
        both(_share, some(commands=st.lists(st.sampled_from(["EXEC", "blmove"]), max_size=2))),
    ),
    both(st.just({"fault": "cut"}), both(_share, some(**{"for": _long}))),
    both(
        both(st.just({"fault": "redis_away"}), _for),
        some(how=st.sampled_from(["refuse", "silent"])),
    ),
    both(
        both(st.just({"fault": "redis_error"}), _for),
        both(_share, st.sampled_from(["LOADING", "READONLY", "OOM"]).map(lambda e: {"error": e})),
    ),
)
faults = both(
    times(),
    st.one_of(
        both(st.just({"fault": "sweep"}), some(wait=durations(1, 10**8))),
        both(
            st.just({"fault": "rolling_restart"}),
            some(max_surge=st.integers(1, 2), max_unavailable=st.integers(0, 2)),
        ),
        both(st.just({"fault": "kill"}), some(replace_after=_long)),
        both(st.just({"fault": "pause"}), st.fixed_dictionaries({"for": _long})),
        both(
            both(st.just({"fault": "clock_skew"}), st.fixed_dictionaries({"for": _long})),
            both(
                st.fixed_dictionaries({"by": _long}),
                some(way=st.sampled_from(["ahead", "behind", "either"])),
            ),
        ),
        both(st.just({"fault": "abort"}), some(count=st.integers(1, 1000))),
        both(
            st.just({"fault": "redis_restart"}),
            some(**{"for": _long, "data": st.sampled_from(["kept", "lost", "last_writes_lost"])}),
        ),
        both(st.just({"fault": "redis_pause"}), st.fixed_dictionaries({"for": _long})),
        both(_links, network_faults),
        st.just({"fault": "script_flush"}),
    ),
)
_variants = ["stock@0.26.3", "by-key@0.26.3", "guarded@./saq", "my.mod:Worker@installed"]
variants: st.SearchStrategy[Form] = st.just({}) | st.lists(
    st.sampled_from(_variants), min_size=1, max_size=4, unique=True
).map(lambda found: {"variants": found})
gates = variants | st.just({"variants": _variants, "gate": "baseline", "baseline": "stock@0.26.3"})
thresholds = st.fixed_dictionaries(
    {"that": st.sampled_from(["key_errors == 0", "job_wait_p99 < 2s", "aborts_lost <= 3"])},
    optional={"abort_on_fail": st.booleans()},
)


def _plans() -> st.SearchStrategy[Form]:
    names = known_names()
    return st.fixed_dictionaries(
        {
            "plan": st.from_regex(r"[a-z0-9][a-z0-9-]{0,20}", fullmatch=True),
            "duration": durations(DURATION_US, 6 * DURATION_US),
            "drain": durations(DRAIN_US, 6 * DRAIN_US),
            "workload": same_key | app,
            "promises": st.lists(st.sampled_from(names.promises), min_size=1, unique=True),
        },
        optional={
            "description": texts,
            "seed": st.integers(0, (1 << 63) - 1),
            "order": st.sampled_from(["side-by-side", "in-turn"]),
            "workers": workers,
            "faults": st.lists(faults, max_size=4),
            "slack": durations(0, 10**7),
            "limits": some(
                jobs=st.integers(10**7, 10**9),
                events=st.integers(1, 10**9),
                history_bytes=st.integers(1 << 20, 1 << 40),
            ),
            "exposures": st.dictionaries(
                st.sampled_from(names.exposures), st.integers(1, 10**6), max_size=3
            ),
            "thresholds": st.lists(thresholds, max_size=3),
        },
    )


plans = both(both(_plans(), gates), st.just({"limits": {"jobs": 10**9}}))
