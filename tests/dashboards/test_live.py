"""The boards' proof: every query of every board and rule, on a Prometheus that scraped a real run.

    real soak ─► snapshots ─► RunsCollector ─► /metrics ◄── scrapes ── prometheus ◄── every query

A query must be answered, and with something. What a healthy run rightly leaves empty stands in
QUIET with the reason; what no board and no rule asks for stands in UNUSED.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from chaos.environments import Environment
from dashboards.builder.output import FOLDER
from dashboards.builder.rules import ALERTS
from tests.dashboards.promql import metrics_in, panel_queries, rule_queries, variable_queries

HERE = Path(__file__).parent
SECONDS = 90

QUIET = {
    "SaqChaosRunFailed": "no run failed",
    "SaqChaosRunsWait": "no run waited",
    "SaqChaosFaultNotHealed": "every fault healed at once",
    "SaqQueueStuck": "jobs finish all the time",
    "SaqJobsWaitLong": "no job waits for a minute",
    "SaqJobsFail": "few jobs fail",
    "SaqNoWorkers": "workers are alive",
    "SaqChaosServiceDown": "it answers",
    "SaqOrphanedContexts": "depends on the moment: orphans of this race last for a second",
    "SaqInternalErrors": "the race of this version ends in KeyErrors",
}
UNUSED = {
    "saqchaos_jobs_finished_total": "the same as saq_jobs_finished_total, for metrics.prom",
}


@dataclass(frozen=True, slots=True)
class Scraped:
    """A Prometheus that has seen a whole run, from `began` to `ended` (seconds since 1970)."""

    url: str
    target: str
    began: float
    ended: float

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer; an error of Prometheus fails the test with its words."""
        question = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(question, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            pytest.fail(f"{parameters}: {error.read().decode()}")

    def during(self, expr: str) -> list[Any]:
        """The series that the query had at any second of the run."""
        found = self.get(
            "query_range", query=expr, start=str(self.began), end=str(self.ended), step="1"
        )
        result: list[Any] = found["result"]
        return result


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something of another process."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.1)
    pytest.fail(f"{what} did not come within {SECONDS} s")


@contextmanager
def process(command: list[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is gone afterwards; its words are in `log`."""
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=HERE.parents[1],
        ) as started,
    ):
        try:
            yield started
        finally:
            started.terminate()


def line_of(stream: IO[str] | None, log: Path) -> str:
    assert stream is not None
    line = stream.readline().strip()
    assert line, log.read_text("utf-8")
    return line


def configuration(folder: Path, target: str) -> Path:
    """The committed configuration and rules, but scraping and evaluating each second, here."""
    shutil.copytree(FOLDER / "prometheus" / "rules", folder / "rules")
    content = yaml.safe_load((FOLDER / "prometheus" / "prometheus.yml").read_text("utf-8"))
    content["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    content["scrape_configs"][0]["scrape_interval"] = "1s"
    content["scrape_configs"][0]["static_configs"] = [{"targets": [target]}]
    path = folder / "prometheus.yml"
    path.write_text(yaml.safe_dump(content), "utf-8")
    return path


@contextmanager
def prometheus(binary: str, folder: Path, target: str, port: int) -> Iterator[str]:
    """A Prometheus with an empty folder of its own, on loopback."""
    config = configuration(folder, target)
    command = [
        binary,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--enable-feature=exemplar-storage",
    ]
    url = f"http://127.0.0.1:{port}"
    with process(command, folder / "prometheus.log"):
        until(lambda: answers(f"{url}/-/ready"), "prometheus")
        yield url


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="module")
def scraped(
    environment: Callable[[str], Environment], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scraped]:
    """A whole real run, scraped each second."""
    binary = shutil.which("prometheus")
    if binary is None:
        pytest.skip("prometheus is not installed here: apt-get install prometheus")
    environment("stock@0.26.3")
    folder = tmp_path_factory.mktemp("scraped")
    command = [sys.executable, "-m", "tests.dashboards.serving"]
    command += [str(HERE / "short.yaml"), str(folder / "runs")]
    log = folder / "serving.log"
    with process(command, log) as serving:
        target = f"127.0.0.1:{line_of(serving.stdout, log)}"
        with prometheus(binary, folder, target, free_port()) as url:
            began = time.time()
            assert line_of(serving.stdout, log) == "ended", log.read_text("utf-8")
            found = Scraped(url, target, began, time.time())
            until(lambda: found.during("variant:saq_job_run_seconds:p99_5m"), "a recorded series")
            yield found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def exported(target: str) -> set[str]:
    """The metrics that the service exports, as queries name them."""
    with urllib.request.urlopen(f"http://{target}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in text_string_to_metric_families(text)
    }


def test_every_query_of_a_panel_an_annotation_a_rule_is_answered_with_something(
    scraped: Scraped,
) -> None:
    asked = [*panel_queries(), *rule_queries()]
    empty = [one.where for one in asked if not scraped.during(one.expr)]
    assert [where for where in empty if where not in QUIET] == []
    assert len(asked) > 60


def test_every_template_variable_offers_something(scraped: Scraped) -> None:
    for where, series, label in variable_queries():
        values = scraped.get(
            f"label/{label}/values",
            **{"match[]": series, "start": str(scraped.began), "end": str(scraped.ended)},
        )
        expected = {"job": ["saq-chaos"], "variant": ["guarded@0.26.3", "stock@0.26.3"]}
        assert values == expected[label], where


def test_every_rule_is_evaluated_without_an_error(scraped: Scraped) -> None:
    groups = scraped.get("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert {rule["name"]: rule["lastError"] for rule in rules if rule.get("lastError")} == {}
    assert {rule["health"] for rule in rules} == {"ok"}
    assert {alert.name for alert in ALERTS} <= {rule["name"] for rule in rules}


def test_a_fault_window_is_points_that_follow_each_other(scraped: Scraped) -> None:
    windows = scraped.during('saqchaos_fault_active{fault="rolling_restart"} > 0')
    stamps = [stamp for stamp, _ in windows[0]["values"]]
    (answered,) = scraped.during("up == 1")  # a scrape that came too late leaves no point
    points = [stamp for stamp, _ in answered["values"]]
    assert stamps == [stamp for stamp in points if stamps[0] <= stamp <= stamps[-1]]
    assert len(stamps) > 1
    assert len(stamps) < scraped.ended - scraped.began


def test_exemplars_arrive_and_name_the_run_and_a_job(scraped: Scraped) -> None:
    for query in ("saq_job_run_seconds_bucket", "saq_jobs_finished_total"):
        found = scraped.get(
            "query_exemplars", query=query, start=str(scraped.began), end=str(scraped.ended)
        )
        labels = found[0]["exemplars"][0]["labels"]
        assert labels["run"] == "r-20261201-000000"
        assert sorted(labels) == ["key", "run"]


def test_no_counter_fell_during_the_run(scraped: Scraped) -> None:
    counters = [name for name in sorted(exported(scraped.target)) if name.endswith("_total")]
    fell = [
        name
        for name in counters
        for one in scraped.during(f"resets({name}[120s])")
        if any(float(value) for _, value in one["values"])
    ]
    assert fell == []


def test_every_exported_metric_is_asked_for_or_unused_on_purpose(scraped: Scraped) -> None:
    asked: set[str] = set()
    for one in (*panel_queries(), *rule_queries()):
        asked |= metrics_in(one.expr)
    families = exported(scraped.target)
    ends = ("", "_bucket", "_sum", "_count")
    unused = {name for name in families if not any(f"{name}{end}" in asked for end in ends)}
    assert unused == set(UNUSED)
