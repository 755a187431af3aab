"""Writes docs/metrics.md from the families themselves: `python -m service.metrics.docs`.

A test compares the page with what this makes, so a metric cannot be added, renamed or dropped
without its line there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from prometheus_client.metrics_core import Metric

from chaos.checkers import CHECKERS
from chaos.metrics import Snapshots
from chaos.metrics.snapshot import Family, Sample
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.tally import BUCKETS_US
from chaos.worker.counting import METRICS as IN_PROCESS
from service.metrics.own import ServiceMetrics

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
LABELS_OF_INFO = ("plan", "run", "seed", "server", "variant", "world")
LABELS_OF_SECONDS = ("percentile", "variant", "what")

INTRODUCTION = """\
# Metrics

Made from the code by `python -m service.metrics.docs`; a test compares.

| where | what it shows |
|---|---|
| `GET /metrics` of the service | every run of its life, and the service itself |
| `saq-chaos soak … --metrics-port 9100` | one run, while it goes on, on loopback |
| `runs/<id>/metrics.prom` | one run, after it was judged |
| `instrument(worker)` in your own worker | that worker process |

- Every label value exists at 0 from the start, so the first increase is part of a rate. No job key
  and no worker id is ever a label.
- Counters and histograms of the service never fall while it lives: a run counts on from where the
  one before it ended. Gauges of an ended run are 0; percentiles and the info about the run vanish.
- Exemplars point at a run and a job key (`{run="…",key="…"}`, under 128 characters, a longer key is
  cut and ends in `…`). They exist in OpenMetrics only, which Prometheus asks for when it is started
  with `--enable-feature=exemplar-storage`.
- `variant` is a saq build under test, `PATCH@SAQ`.
"""

IN_PROCESS_TEXT = """\
## In a production worker

```python
from saq import Worker
from saq_chaos_worker import instrument

worker = Worker(queue, functions=[...])
instrument(worker)  # before worker.start(), or in its startup hook
```

`pip install 'saq-chaos-worker[metrics]'` brings prometheus-client; without it `instrument` says so.
The names are those of the chaos view, so the boards show both; `variant` is `production` unless
`instrument(worker, variant=…)` says otherwise. `registry` is a `CollectorRegistry` (default: the
process's own, which `prometheus_client.start_http_server` serves). `instrument` returns a handle
whose `close()` takes everything off again. It watches as a soak does, from outside, and
forgets an attempt when it is over, so its memory is bounded by what runs at once.

A worker sees itself alone. What became of an abort is known here only from the cancelled side:
`late`, `lost`, `moot` and `misdirected` need the moment at which somebody else's abort was
acknowledged, and stay with the soak.

"""


def page() -> str:
    """The page as it should be."""
    chaos, queue = _views()
    buckets = ", ".join(f"{bound_us / 1_000_000:g}" for bound_us in BUCKETS_US)
    parts = [
        INTRODUCTION,
        "## The chaos view\n\nWhat was done to a saq build, and what broke.\n\n" + _table(chaos),
        "## The queue view\n\nWhat a board of queue health shows of any queue. "
        f"Buckets of the histograms, in seconds: {buckets}.\n\n" + _table(queue),
        "## The service itself\n\n" + _table(_own()),
        IN_PROCESS_TEXT + _lines((one.name, one.kind, one.labels, one.help) for one in IN_PROCESS),
    ]
    return "\n".join(parts)


def _views() -> tuple[list[Family], list[Family]]:
    """The families of a run without events: their label values are there, at 0."""
    promises = tuple(checker.name for checker in CHECKERS)
    plan = Plan.model_validate(
        {"plan": "none", "workload": {"kind": "same_key"}, "duration": "1s", "promises": promises}
    )
    taken = Snapshots(plan).of([Timeline("VARIANT", 0)])
    chaos = [family for family in taken.families if family.name.startswith("saqchaos_")]
    return chaos, [family for family in taken.families if family not in chaos]


def _own() -> list[Family]:
    metrics = ServiceMetrics()
    metrics.requested("/route", "GET", 200, 0.0)
    return [_family(metric) for metric in metrics.registry.collect()]


def _family(metric: Metric) -> Family:
    samples = tuple(
        Sample(name=one.name, labels=tuple(sorted(one.labels.items())), value=one.value)
        for one in metric.samples
        if not one.name.endswith("_created")
    )
    return Family(name=metric.name, kind=metric.type, help=metric.documentation, samples=samples)


def _table(families: Iterable[Family]) -> str:
    return _lines(
        (
            f"{one.name}_total" if one.kind == "counter" else one.name,
            one.kind,
            _labels(one),
            one.help,
        )
        for one in families
    )


def _lines(rows: Iterable[tuple[str, str, Sequence[str], str]]) -> str:
    lines = ["| metric | type | labels | what it counts |", "|---|---|---|---|"]
    for name, kind, labels, text in rows:
        named = ", ".join(f"`{label}`" for label in labels)
        lines.append(f"| `{name}` | {kind} | {named} | {text} |")
    return "\n".join(lines) + "\n"


def _labels(family: Family) -> tuple[str, ...]:
    if family.name.endswith("_run_info"):
        return LABELS_OF_INFO
    if family.name.endswith("_job_seconds"):
        return LABELS_OF_SECONDS
    names = [name for sample in family.samples for name, _ in sample.labels]
    return tuple(name for name in dict.fromkeys(names) if name != "le")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
