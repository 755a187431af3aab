"""Explorations, simulated soaks and their benches through the installed script, with few seeds."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaos.environments import Environment
from chaos.history import History
from chaos.reports import verdict_json

SCRIPT = Path(sys.executable).parent / "saq-chaos"
STOCK, GUARDED = "stock@0.26.3", "guarded@0.26.3"
# Four jobs of one key, swept while they run: the seed bug, or its repair, in a second.
PLAN = """
plan: collide
duration: 1s
drain: 20s
workers: {count: 1, concurrency: 6}
workload:
  kind: same_key
  keys: 2
  rate: 4/s
  job: {timeout: 10s, heartbeat: 100ms, retries: 4}
  bodies: [{profile: quick, takes: 700ms, spread: 300ms}]
faults: [{fault: sweep, every: 150ms, wait: 5ms}]
promises: [no-internal-errors]
exposures: {slot_collisions: 5}
"""
# Tasks hash by what differs between processes: what must not leak into a run, leaks.
LEAKY = """
import sys
from saq.worker import Worker

loop = sys.modules.get("chaos.sim.loop")
if loop is not None:
    loop.CountedTask.__hash__ = lambda task: hash(("task", id(task)))


class Leaky(Worker):
    pass
"""


@pytest.fixture(autouse=True)
def folder(
    sim_environment: Callable[[str], Environment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An empty folder with the plan in it; the environment is built before anything is asked."""
    sim_environment(STOCK)
    (tmp_path / "collide.yaml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *arguments], capture_output=True, text=True, check=False, timeout=200, umask=0
    )


def explored(*arguments: str) -> tuple[int, dict[str, Any], str]:
    done = said("explore", "./collide.yaml", "--duration", "1s", "--json", *arguments)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def test_the_seed_bug_is_found_shrunk_and_told(folder: Path) -> None:
    code, answer, err = explored("--variant", STOCK, "--seeds", "4", "--jobs", "1")
    run = (folder / "runs" / "latest").resolve()
    shrunk = answer["explored"]["shrunk"]
    assert code == 1, err
    assert (shrunk["promise"], shrunk["kind"]) == ("no-internal-errors", "KeyError")
    assert shrunk["after"] <= 12
    assert shrunk["reruns"] <= 200
    assert shrunk["after"] < shrunk["before"]
    assert {path.name for path in run.iterdir()} >= {
        "explored.json", "failure.json", "history.jsonl", "junit.xml", "plan.yaml", "report.html",
        "story.html", "story.txt", "verdict.json",
    }  # fmt: skip
    assert [path for path in (run, *run.rglob("*")) if path.stat().st_mode & 0o077] == []
    digest = History.read(run / "history.jsonl").digest()
    assert verdict_json.read(run / "verdict.json").history_digest == digest
    assert f"{STOCK}: seed {shrunk['seed']}: INVALID no-internal-errors KeyError" in err


def test_the_repair_holds_on_the_same_seeds_with_its_exposures_shown() -> None:
    code, answer, err = explored("--variant", GUARDED, "--seeds", "4")
    (judged,) = answer["verdict"]["variants"]
    (exposure,) = judged["exposures"]
    assert code == 0, err
    assert exposure["exposure"] == "slot_collisions"
    assert exposure["count"] >= 5
    assert answer["explored"]["variants"][0]["failing"] == 0


def test_seeds_that_differ_between_two_variants_are_listed() -> None:
    arguments = ("--variant", GUARDED, "--variant", STOCK, "--seeds", "4", "--no-shrink")
    _, answer, _ = explored(*arguments)
    found = answer["explored"]
    assert found["compared"] == 4
    assert found["changed_count"] == found["variants"][1]["failing"] > 0
    assert {one["broken"][0] for one in found["changed"]} == {""}
    assert {one["broken"][1] for one in found["changed"]} == {"no-internal-errors KeyError"}


def test_too_little_danger_is_unknown_and_exits_3() -> None:
    arguments = ("--variant", GUARDED, "--seeds", "1", "--workers", "1", "--concurrency", "1")
    code, answer, _ = explored(*arguments)
    assert (code, answer["verdict"]["gate"]["outcome"]) == (3, "UNKNOWN")


def test_until_failure_stops_early_and_another_base_is_another_search() -> None:
    runs = [
        explored("--variant", STOCK, "--seeds", "500", "--until-failure", "--no-shrink",
                 "--jobs", "1", "--seed", base)
        for base in ("1", "2")
    ]  # fmt: skip
    seeds = [answer["explored"]["first"][0]["seed"] for _, answer, _ in runs]
    assert [code for code, _, _ in runs] == [1, 1]
    assert all(answer["explored"]["variants"][0]["seeds"] < 500 for _, answer, _ in runs)
    assert seeds[0] != seeds[1]


def test_swarm_seeds_are_run_and_judged() -> None:
    code, answer, _ = explored("--variant", GUARDED, "--seeds", "6", "--swarm", "--no-shrink")
    assert code in (0, 3)
    assert answer["explored"]["swarm"] is True
    assert answer["explored"]["variants"][0]["seeds"] == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--promise", "no-such"), "no promise is called 'no-such'"),
        (("--seeds", "0"), "0 is not in the range"),
        (("--budget", "soon"), "'soon' is no duration"),
        (("--dask", "tcp://127.0.0.1:1"), "no Dask scheduler answers there"),
    ],
)
def test_what_cannot_be_searched_is_refused(arguments: tuple[str, ...], message: str) -> None:
    done = said("explore", "./collide.yaml", "--variant", STOCK, *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_keeps_what_was_found_and_exits_130(folder: Path) -> None:
    argv = [str(SCRIPT), "explore", "./collide.yaml", "--variant", STOCK, "--budget", "100s"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        lines = iter(run.stderr.readline, "")
        assert any("INVALID no-internal-errors" in line for line in lines)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    assert "INTERRUPTED" in out
    stored = verdict_json.read((folder / "runs" / "latest").resolve() / "verdict.json")
    assert stored.ended == "interrupted"


# --- soak --world sim -----------------------------------------------------------------------------


def soaked(*arguments: str) -> tuple[int, dict[str, Any], str]:
    done = said("soak", "./collide.yaml", "--world", "sim", "--json", *arguments)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def test_a_simulated_soak_leaves_what_a_live_one_does_and_is_repeatable(folder: Path) -> None:
    code, verdict, err = soaked("--variant", STOCK, "--duration", "5s")
    run = (folder / "runs" / "latest").resolve()
    assert (code, verdict["world"]) == (1, "sim"), err
    assert verdict["repeat"] == f"saq-chaos soak runs/{run.name}/plan.yaml --world sim"
    assert sorted(path.name for path in run.iterdir()) >= [
        "history.jsonl", "hosts", "junit.xml", "metrics.prom", "plan.yaml", "report.html",
    ]  # fmt: skip
    assert verdict["history_digest"] == History.read(run / "history.jsonl").digest()
    again = soaked("--variant", STOCK, "--duration", "5s")[1]
    assert again["history_digest"] == verdict["history_digest"]


def test_a_simulated_soak_of_two_variants_is_one_history_and_judged_again_the_same(
    folder: Path,
) -> None:
    _, verdict, _ = soaked("--variant", STOCK, "--variant", GUARDED)
    run = (folder / "runs" / "latest").resolve()
    history = History.read(run / "history.jsonl")
    assert history.variants() == (STOCK, GUARDED)
    again = json.loads(said("check", str(run), "--json").stdout)
    kept = [
        [one for one in each["promises"] if one["promise"] != "no-standstill"]
        for each in verdict["variants"]
    ]
    assert [each["promises"] for each in again["variants"]] == kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--redis-url", "redis://h", "--allow-external"), "--redis-url needs the live world"),
        (("--metrics-port", "0"), "--metrics-port needs the live world"),
    ],
)
def test_what_only_the_live_world_has_is_refused(arguments: tuple[str, ...], message: str) -> None:
    done = said("soak", "./collide.yaml", "--world", "sim", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


# --- benches --------------------------------------------------------------------------------------


def test_bench_sim_says_all_three_figures() -> None:
    done = said("bench", "sim", "--runs", "5", "--duration", "2m", "--json")
    figures = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [figures[kind]["runs"] for kind in ("minimal", "crowd")] == [5, 5]
    assert figures["production"]["virtual_s"] > 120
    assert figures["production"]["times_real"] > 0


def test_one_seed_gives_one_history_in_processes_with_different_hash_seeds() -> None:
    done = said("bench", "determinism", "--replays", "3", "--python", sys.executable, "--json")
    answer = json.loads(done.stdout)
    (python,) = answer["pythons"]
    assert (done.returncode, answer["repeatable"]) == (0, True), done.stderr
    assert list(python["digests"].values()) == [3]
    assert python["other_digests"] == python["other_seeds"] == 20


def test_bench_determinism_fails_when_the_order_of_hashes_leaks_into_a_run(folder: Path) -> None:
    (folder / "leaky.py").write_text(LEAKY)
    done = said("bench", "determinism", "--variant", "leaky:Leaky@0.26.3", "--replays", "3",
                "--python", sys.executable)  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "NOT REPEATABLE" in done.stdout
