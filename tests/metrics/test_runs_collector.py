"""The runs of a service: counters that never fall, gauges that do, and whose names are where."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from chaos.metrics import Snapshot, Snapshots, decode, encode
from chaos.metrics.exemplars import labels
from chaos.metrics.snapshot import Example, Family, Sample
from service.metrics import Metrics
from service.metrics.expose import OPENMETRICS
from tests.judge.histories import VARIANT, Story, plan

KEYS = "saqchaos_key_errors_total"


def shown(metrics: Metrics) -> dict[str, float]:
    """Every sample that is not 0, by name and labels."""
    return {
        f"{sample.name}{dict(sorted(sample.labels.items()))}": sample.value
        for family in text_string_to_metric_families(metrics.exposition_for("")[0].decode())
        for sample in family.samples
        if sample.value
    }


def exposed(metrics: Metrics) -> str:
    body, content_type = metrics.exposition_for(OPENMETRICS)
    assert content_type.startswith("application/openmetrics-text")
    return body.decode()


def counter(value: float, name: str = "saqchaos_key_errors") -> Family:
    sample = Sample(name=f"{name}_total", labels=(("variant", VARIANT),), value=value)
    return Family(name=name, kind="counter", help="x", samples=(sample,))


def gauge(value: float, name: str = "saq_workers") -> Family:
    sample = Sample(name=name, labels=(("variant", VARIANT),), value=value)
    return Family(name=name, kind="gauge", help="x", samples=(sample,))


def taken(*families: Family) -> Snapshot:
    return Snapshot(families=families)


def key_errors(metrics: Metrics) -> float:
    return shown(metrics).get(f"{KEYS}{{'variant': '{VARIANT}'}}", 0)


def broken_story() -> Story:
    story = Story()
    worker = story.worker(1)
    story.enqueued("a-key", at=1)
    run = worker.begins("a-key", at=10)
    run.runs(at=11)
    run.raises(at=12, error="KeyError")
    return story


def test_before_any_run_everything_exists_at_zero_for_every_variant() -> None:
    metrics = Metrics(("stock@0.26.3", "guarded@0.26.3"))
    assert shown(metrics) == {}
    text = exposed(metrics)
    assert text.count("saqchaos_key_errors_total{") == 2
    assert 'saqchaos_findings_total{promise="no-lost-jobs",variant="guarded@0.26.3"} 0.0' in text
    assert 'saqchaos_runs_total{outcome="interrupted"} 0.0' in text
    assert "saqchaos_run_info{" not in text
    assert "saqchaos_job_seconds{" not in text


def test_counters_count_on_over_the_runs_and_never_fall() -> None:
    metrics = Metrics((VARIANT,))
    runs = metrics.runs
    seen = []
    for run, values in (("one", (1, 5, 3)), ("two", (0, 2))):
        runs.begin(run, "smoke", "live", (VARIANT,))
        seen.append(key_errors(metrics))
        for value in values:
            runs.update(run, taken(counter(value)))
            seen.append(key_errors(metrics))
        runs.end(run)
        seen.append(key_errors(metrics))
    assert seen == [0, 1, 5, 5, 5, 5, 5, 7, 7]


def test_a_gauge_of_an_ended_run_is_zero_and_its_percentiles_and_info_are_gone() -> None:
    metrics = Metrics((VARIANT,))
    story = broken_story()
    metrics.runs.begin("r1", "smoke", "live", (VARIANT,))
    metrics.runs.update("r1", Snapshots(plan()).of([story.timeline()]))
    during = shown(metrics)
    assert during[f"saq_workers{{'variant': '{VARIANT}'}}"] == 1
    assert [name for name in during if name.startswith("saqchaos_job_seconds")] != []
    metrics.runs.end("r1")
    after = shown(metrics)
    assert [name for name in after if "saqchaos_run_info" in name or "job_seconds{" in name] == []
    assert f"saq_workers{{'variant': '{VARIANT}'}}" not in after
    assert "saq_workers{" in exposed(metrics)


def test_a_snapshot_of_a_run_that_has_ended_or_never_began_changes_nothing() -> None:
    metrics = Metrics((VARIANT,))
    metrics.runs.update("never", taken(counter(3)))
    metrics.runs.begin("r", "smoke", "live", (VARIANT,))
    metrics.runs.end("r")
    metrics.runs.update("r", taken(counter(3)))
    metrics.runs.end("r")
    assert shown(metrics) == {}


def test_two_runs_at_once_add_up() -> None:
    metrics = Metrics((VARIANT,))
    for run in ("a", "b"):
        metrics.runs.begin(run, "smoke", "live", (VARIANT,))
        metrics.runs.update(run, taken(counter(2), gauge(3)))
    assert key_errors(metrics) == 4
    assert shown(metrics)[f"saq_workers{{'variant': '{VARIANT}'}}"] == 6
    metrics.runs.end("a")
    assert key_errors(metrics) == 4
    assert shown(metrics)[f"saq_workers{{'variant': '{VARIANT}'}}"] == 3


def test_the_run_is_a_label_of_its_info_alone_under_the_service_s_own_name() -> None:
    metrics = Metrics((VARIANT,))
    metrics.runs.begin("r-77", "smoke", "live", (VARIANT,))
    before = [name for name in shown(metrics) if "r-77" in name]
    known = {"plan": "smoke", "run": "r-77", "seed": "", "server": "", "variant": VARIANT}
    assert before == [f"saqchaos_run_info{known | {'world': 'live'}}"]
    metrics.runs.update("r-77", Snapshots(plan()).of([broken_story().timeline()]))
    named = [name for name in shown(metrics) if "r-77" in name]
    assert len(named) == 1
    assert named[0].startswith("saqchaos_run_info{'plan': 'by-hand', 'run': 'r-77', 'seed': '1'")


def test_exemplars_name_run_and_job_and_only_in_openmetrics() -> None:
    metrics = Metrics((VARIANT,))
    metrics.runs.begin("r-77", "smoke", "live", (VARIANT,))
    metrics.runs.update("r-77", Snapshots(plan()).of([broken_story().timeline()]))
    text = exposed(metrics)
    assert f'{KEYS}{{variant="{VARIANT}"}} 1.0 # {{key="a-key",run="r-77"}} 1.0' in text
    plain, content_type = metrics.exposition_for("text/plain")
    assert content_type.startswith("text/plain")
    assert b"a-key" not in plain


def test_a_snapshot_survives_its_way_as_one_line_of_json() -> None:
    made = Snapshots(plan()).of([broken_story().timeline()])
    line = encode(made)
    assert b"\n" not in line
    assert decode(line) == made


def test_an_exemplar_is_under_128_characters_whatever_run_and_job_are_called() -> None:
    assert labels("r", "k") == {"key": "k", "run": "r"}
    cut = labels("20261201-003000-same-key-1", "k" * 400)
    assert cut == {"key": "k" * 94 + "…", "run": "20261201-003000-same-key-1"}
    for run, job in (("r" * 300, "ключ" * 90), ("", "k" * 300), ("r" * 300, "k")):
        assert sum(map(len, [*(made := labels(run, job)), *made.values()])) <= 127
    assert labels("r", "a\udcffb")["key"] == "a?b"


def test_an_exemplar_that_came_with_a_short_run_name_is_cut_again_for_a_long_one() -> None:
    metrics = Metrics((VARIANT,))
    example = Example(labels=(("key", "k" * 119), ("run", "r")), value=1.0)
    sample = Sample(name=KEYS, labels=(("variant", VARIANT),), value=1.0, example=example)
    family = Family(name="saqchaos_key_errors", kind="counter", help="x", samples=(sample,))
    run = "a-much-longer-name-of-a-run"
    metrics.runs.begin(run, "smoke", "live", (VARIANT,))
    metrics.runs.update(run, taken(family))
    assert f'key="{"k" * 93}…",run="{run}"' in exposed(metrics)
