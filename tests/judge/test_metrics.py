"""The Prometheus view: families, labels that exist from the start, and the port."""

from __future__ import annotations

import socket
import threading
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from chaos import event as e
from chaos.errors import WorldError
from chaos.judge import judge
from chaos.metrics import MetricsServer, exposition
from chaos.timeline import Timeline
from chaos.timeline.tally import BUCKETS_US
from tests.judge.histories import VARIANT, Story, plan

UNKNOWN_RUN = {"plan": "by-hand", "run": "", "seed": "1", "server": "", "world": ""}
BOTH = ("no-internal-errors", "one-at-a-time")


def _samples(text: bytes) -> dict[str, float]:
    """Every sample by name and labels, the variant left out."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            labels = {name: value for name, value in sample.labels.items() if name != "variant"}
            found[f"{sample.name}{labels or ''}"] = sample.value
    return found


def _histogram(name: str, below: dict[str, int], total: int, seconds: float) -> dict[str, float]:
    """The samples of one that has its first value in the given buckets, and is full after them."""
    last = [str(bound_us / 1_000_000) for bound_us in BUCKETS_US]
    first = last.index(next(iter(below)))
    counts = {bound: float(total) for bound in (*last[first:], "+Inf")}
    return {
        **{f"{name}_bucket{{'le': '{bound}'}}": count for bound, count in (counts | below).items()},
        f"{name}_count": total,
        f"{name}_sum": seconds,
    }


def _exposed(story: Story) -> bytes:
    chosen = plan(promises=BOTH)
    return exposition(chosen, judge(chosen, story.history()))


def _broken() -> Story:
    story = Story()
    worker = story.worker(1)
    story.enqueued("secret-key", at=1)
    run = worker.begins("secret-key", at=10)
    run.runs(at=11)
    run.raises(at=12, error="KeyError")
    story.killed(worker, at=20, gone=21)
    story.worker(1, incarnation=2, at=30)
    story.tell_injected("kill", at=20)
    return story


def test_every_label_value_exists_at_zero_before_anything_happened() -> None:
    found = _samples(_exposed(Story(variant="v@1")))
    assert found == {}, "a history without variants has no samples"
    story = Story()
    story.worker()
    samples = _samples(_exposed(story))
    assert samples.pop(f"saqchaos_run_info{UNKNOWN_RUN}") == 1
    assert samples.pop("saq_workers") == 1
    assert set(samples.values()) == {0}
    assert [name for name in samples if name.startswith("saqchaos_aborted_attempts")] == [
        f"saqchaos_aborted_attempts_total{{'outcome': '{outcome}'}}"
        for outcome in ("honoured", "late", "misdirected", "ignored", "lost", "stray", "moot")
    ]
    assert [name for name in samples if name.startswith("saqchaos_fault_active")] == [
        f"saqchaos_fault_active{{'fault': '{fault}'}}"
        for fault in (
            "sweep", "rolling_restart", "kill", "pause", "clock_skew", "abort", "redis_restart",
            "redis_pause", "latency", "lost_reply", "cut", "redis_away", "redis_error",
            "script_flush",
        )
    ]  # fmt: skip
    assert [name for name in samples if name.startswith("saqchaos_findings")] == [
        f"saqchaos_findings_total{{'promise': '{promise}'}}" for promise in BOTH
    ]


def test_the_figures_of_a_judged_run_are_those_of_its_verdict() -> None:
    samples = _samples(_exposed(_broken()))
    assert {name: value for name, value in samples.items() if value} == {
        "saqchaos_key_errors_total": 1,
        "saqchaos_attempts_begun_total": 1,
        "saqchaos_attempts_total{'outcome': 'killed'}": 1,
        "saqchaos_jobs_enqueued_total{'outcome': 'accepted'}": 1,
        "saqchaos_restarts_total{'kind': 'kill'}": 1,
        "saqchaos_fault_active{'fault': 'kill'}": 1,
        "saqchaos_faults_injected_total": 1,
        "saqchaos_findings_total{'promise': 'no-internal-errors'}": 1,
        "saqchaos_job_seconds{'percentile': '50', 'what': 'wait'}": 0.009,
        "saqchaos_job_seconds{'percentile': '95', 'what': 'wait'}": 0.009,
        "saqchaos_job_seconds{'percentile': '99', 'what': 'wait'}": 0.009,
        f"saqchaos_run_info{UNKNOWN_RUN}": 1,
        "saq_queue_jobs{'state': 'active'}": 1,
        "saq_queue_jobs{'state': 'incomplete'}": 1,
        "saq_workers": 1,
        **_histogram("saq_job_wait_seconds", {"0.01": 1}, total=1, seconds=0.009),
    }


def test_no_job_key_and_no_worker_is_a_label_and_every_sample_names_its_variant() -> None:
    text = _exposed(_broken())
    assert b"secret-key" not in text
    assert b"worker-1" not in text
    samples = [line for line in text.splitlines() if line and not line.startswith(b"#")]
    assert [line for line in samples if f'variant="{VARIANT}"'.encode() not in line] == []


def test_no_two_families_share_a_name() -> None:
    """OpenMetrics, which Prometheus asks for, names a counter without its `_total`."""
    text = _exposed(_broken()).decode()
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    families = [name.removesuffix("_total") for name in names]
    assert sorted(families) == sorted(set(families))


def test_the_server_shows_a_run_while_it_goes_on_and_frees_its_port() -> None:
    timeline = Timeline(VARIANT, 50_000)
    with MetricsServer(plan(promises=BOTH), [timeline], 0) as server:
        assert _samples(_scraped(server.port))["saqchaos_key_errors_total"] == 0
        for event in _broken().history():
            timeline.feed(event)
        assert _samples(_scraped(server.port))["saqchaos_key_errors_total"] == 1
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", server.port))


def test_it_can_be_scraped_while_another_thread_feeds_the_timeline() -> None:
    timeline = Timeline(VARIANT, 50_000)
    story = Story()
    worker = story.worker()
    for place in range(400):
        run = worker.begins(f"k{place % 3}", at=place)
        run.runs(at=place)
        run.completes(at=place + 5)
    events = list(story.history())

    def feed() -> None:
        for event in events:
            timeline.feed(event)

    feeding = threading.Thread(target=feed)
    with MetricsServer(plan(promises=BOTH), [timeline], 0) as server:
        feeding.start()
        for _ in range(5):
            assert b"saqchaos_attempts_begun_total" in _scraped(server.port)
        feeding.join()
        assert _samples(_scraped(server.port))["saqchaos_attempts_begun_total"] == 400


def test_a_busy_port_is_one_clear_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = MetricsServer(plan(), [Timeline(VARIANT, 0)], port)
        with pytest.raises(WorldError, match=f"127.0.0.1:{port}: Address already in use; name an"):
            server.__enter__()


def test_the_server_s_and_the_run_s_names_are_on_the_info() -> None:
    story = _broken()
    variants = (VARIANT,)
    story.tell(e.RunBegan, 0, run="r1", plan="smoke", world="live", seed=7, variants=variants)
    story.tell(e.ServerFound, 0, server="valkey 9.1.2", of=VARIANT)
    info = [name for name in _samples(_exposed(story)) if name.startswith("saqchaos_run_info")]
    named = {"plan": "smoke", "run": "r1", "seed": "7", "server": "valkey 9.1.2", "world": "live"}
    assert info == [f"saqchaos_run_info{named}"]


def _scraped(port: int) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        body: bytes = answer.read()
    return body
