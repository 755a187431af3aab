"""Both worlds say the same: how runs are pooled and compared, and a race that is really run twice.

The short race is same-key for four seconds. Of its promises two are left out, by name and with the
reason, since four seconds do not meet their danger often enough to be sure of it; the whole table
is measured by `saq-chaos bench transfer` and stands in docs/results.md.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from chaos.cli.bench_transfer import transfer_text
from chaos.cli.main import run as saq_chaos
from chaos.environments import Environment
from chaos.errors import UsageError
from chaos.explore.bench_transfer import (
    KNOWN_DIFFERENCES,
    Cell,
    Known,
    Pool,
    Runs,
    Side,
    TransferResult,
    cell_of,
    one_rate_p,
    stored_live,
)
from chaos.plan import Plan
from chaos.reports import verdict_json
from chaos.verdict import GateVerdict, Outcome, PromiseVerdict, VariantVerdict, Verdict

LOST, ERRORS = "no-lost-jobs", "no-internal-errors"
RESULTS = Path(__file__).parents[2] / "docs" / "results.md"

# What four seconds of same-key do not decide, and why.
TOO_RARE = {
    "no-lost-jobs": "about one job in a hundred is left ABORTING for ever; 40 are enqueued",
    "bounded-attempts": "a job must be swept again and again, about once for each of its 8 retries",
}


def plan(*promises: str) -> Plan:
    return Plan.model_validate(
        {"plan": "p", "workload": {"kind": "same_key"}, "duration": "1s", "promises": promises}
    )


def verdict(*promises: PromiseVerdict, attempts: int = 100) -> VariantVerdict:
    return VariantVerdict(
        variant="stock@0.26.3", outcome=Outcome.VALID, promises=promises,
        counters={"attempts": float(attempts)},
    )  # fmt: skip


def judged(name: str, count: int, exposure: int, *, met: str = "enqueues") -> PromiseVerdict:
    outcome, reason = (Outcome.INVALID, "") if count else (Outcome.VALID, "")
    if not exposure:
        outcome, reason = Outcome.UNKNOWN, f"the danger was never met: no {met}"
    return PromiseVerdict(
        promise=name, outcome=outcome, count=count, exposure=exposure, exposure_name=met,
        reason=reason, kinds={"lost": count} if count else {},
    )  # fmt: skip


def side(count: int, exposure: int, *, met: str = "enqueues", attempts: int = 0) -> Side:
    pool = Pool(plan(LOST))
    pool.add(verdict(judged(LOST, count, exposure, met=met), attempts=attempts), 1)
    return pool.side(LOST)


# --- pooling --------------------------------------------------------------------------------------


def test_one_run_that_broke_a_promise_makes_the_cell_invalid_and_counts_add_up() -> None:
    pool = Pool(plan(LOST))
    pool.add(verdict(judged(LOST, 0, 1_000)), 1)
    pool.add(verdict(judged(LOST, 2, 1_500), attempts=200), 2)
    assert pool.side(LOST) == Side(
        outcome=Outcome.INVALID, count=2, exposure=2_500, exposure_name="enqueues",
        kinds={"lost": 2}, attempts=300,
    )  # fmt: skip


def test_a_cell_is_unknown_only_if_no_run_met_the_danger() -> None:
    pool = Pool(plan(LOST))
    pool.add(verdict(judged(LOST, 0, 0)), 1)
    assert pool.side(LOST).outcome is Outcome.UNKNOWN
    assert pool.side(LOST).reason == "the danger was never met: no enqueues"
    pool.add(verdict(judged(LOST, 0, 12)), 2)
    assert (pool.side(LOST).outcome, pool.side(LOST).reason) == (Outcome.VALID, "")


def test_what_only_one_world_judges_is_not_compared() -> None:
    pool = Pool(plan(LOST))
    pool.add(verdict(judged(LOST, 0, 5), judged("no-standstill", 1, 1)), 1)
    assert list(pool.tallies) == [LOST]


# --- comparing ------------------------------------------------------------------------------------


def test_three_in_five_thousand_and_none_in_five_thousand_may_be_one_rate() -> None:
    cell = cell_of("p", LOST, "v", side(0, 5_000), side(3, 5_000))
    assert (cell.differs, cell.is_chance) == (True, True)
    assert cell.p == pytest.approx(0.25)  # both tails of three fair coins


def test_thirty_and_none_are_not_one_rate() -> None:
    cell = cell_of("p", LOST, "v", side(0, 5_000), side(30, 5_000))
    assert (cell.differs, cell.is_chance) == (True, False)
    assert cell.p < 1e-8


def test_broken_in_both_worlds_is_equal_at_any_rate() -> None:
    cell = cell_of("p", LOST, "v", side(1, 5_000), side(900, 5_000))
    assert (cell.differs, cell.is_chance) == (False, False)


def test_what_held_in_one_world_and_was_not_met_in_the_other_differs() -> None:
    cell = cell_of("p", LOST, "v", side(0, 5_000), side(0, 0))
    assert cell.differs
    assert cell.p == 1.0


def test_worlds_that_met_different_dangers_are_rated_by_attempt() -> None:
    one = side(0, 7, met="slot_collisions", attempts=1_000)
    other = side(4, 1_000, met="attempts", attempts=1_000)
    assert one_rate_p(one, other) == pytest.approx(0.125)


def test_the_event_of_a_known_cell_is_told_only_where_the_cell_differs() -> None:
    known = (Known(plan="p", promise=LOST, variant="v", event="a clock that jumps", test="t"),)
    assert cell_of("p", LOST, "v", side(0, 9), side(5, 9), known).known == "a clock that jumps"
    assert cell_of("p", LOST, "w", side(0, 9), side(5, 9), known).known == ""
    assert cell_of("p", LOST, "v", side(5, 9), side(5, 9), known).known == ""


# --- the answer -----------------------------------------------------------------------------------


def result(*cells: Cell, ended: str = "finished") -> TransferResult:
    ran = Runs(
        plan="p", duration_us=90_000_000, live_seeds=2, sim_seeds=3, servers=("valkey 9.1.2",)
    )
    return TransferResult(runs=(ran,), variants=("v", "w"), cells=cells, ended=ended)


def test_the_table_shows_both_worlds_and_says_which_cells_differ_and_why() -> None:
    known = (Known(plan="p", promise=LOST, variant="w", event="a clock that jumps", test="t"),)
    cells = (
        cell_of("p", LOST, "v", side(0, 5_000), side(3, 5_000)),
        cell_of("p", LOST, "w", side(0, 5_000), side(30, 5_000), known),
        cell_of("p", ERRORS, "v", side(7, 70), side(9, 80)),
    )
    assert transfer_text(result(*cells)) == (
        "p, 90 s: 2 live runs on valkey 9.1.2, 3 simulated\n"
        "  promise             variant  live     broken           sim      broken\n"
        "  no-lost-jobs        v        VALID    0/5000 enqueues  INVALID  3/5000 enqueues   "
        "DIFFERS\n"
        "  no-lost-jobs        w        VALID    0/5000 enqueues  INVALID  30/5000 enqueues  "
        "differs (known)\n"
        "  no-internal-errors  v        INVALID  7/70 enqueues    INVALID  9/80 enqueues\n"
        "\n"
        "p, no-lost-jobs on v: one rate can explain both (p = 0.25): chance, run more seeds\n"
        "p, no-lost-jobs on w: a clock that jumps\n"
        "1 of 3 cells equal, 2 differ (1 of them known)\n"
    )


def test_worlds_transfer_if_no_cell_differs_but_known_ones() -> None:
    equal = cell_of("p", LOST, "v", side(1, 9), side(2, 9))
    differs = cell_of("p", LOST, "v", side(0, 9), side(2, 9))
    known = (Known(plan="p", promise=LOST, variant="v", event="e", test="t"),)
    expected = cell_of("p", LOST, "v", side(0, 9), side(2, 9), known)
    assert result(equal, expected).transfers
    assert not result(equal, differs).transfers
    assert not result(equal, ended="interrupted").transfers
    assert not result().transfers


def test_the_known_differences_are_those_of_the_docs_and_at_most_two() -> None:
    text = RESULTS.read_text("utf-8").partition("## Do both worlds say the same?")[2]
    listed = re.findall(
        r"^\| `([\w-]+)` \| `([\w-]+)` \| `([\w@.-]+)` \| known", text, re.MULTILINE
    )
    known = [(one.plan, one.promise, one.variant) for one in KNOWN_DIFFERENCES]
    assert text, "docs/results.md has lost its section"
    assert sorted(listed) == sorted(known)
    assert ("No cell is known to differ" in text) is (not known)
    assert len(known) <= 2


def test_live_runs_of_an_earlier_comparison_are_found_by_their_plan(tmp_path: Path) -> None:
    ran = Verdict(
        run="r", plan="p", world="live", seed=1, version="1", history_digest="",
        variants=(verdict(judged(LOST, 0, 5)),),
        gate=GateVerdict(gate="strict", outcome=Outcome.VALID),
    )  # fmt: skip
    others = {"sim": {"world": "sim"}, "cut": {"ended": "interrupted"}, "good": {"run": "good"}}
    for name, changes in others.items():
        (tmp_path / name).mkdir()
        stored = msgspec.structs.replace(ran, **changes)
        (tmp_path / name / "verdict.json").write_bytes(verdict_json.render(stored).encode())
        (tmp_path / name / "plan.yaml").write_text(f"plan of {name}", "utf-8")
    found = stored_live(tmp_path)
    assert {text: one.run for text, one in found.items()} == {"plan of good": "good"}
    assert found["plan of good"].variants == ran.variants


def test_a_folder_without_live_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no live run that went to its end lies there"):
        stored_live(tmp_path)


# --- for real -------------------------------------------------------------------------------------


def test_the_same_key_race_has_the_same_verdicts_in_both_worlds(
    environment: Callable[[str], Environment],
    sim_environment: Callable[[str], Environment],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for variant in ("stock@0.26.3", "stock@0.26.4"):
        environment(variant)
        sim_environment(variant)
    arguments = ["bench", "transfer", "same-key", "--seeds", "1", "--duration", "4s"]
    arguments += ["--variant", "stock@0.26.3", "--variant", "stock@0.26.4", "--drain", "10s"]
    capsys.readouterr()
    code = saq_chaos([*arguments, "--json", "--run-dir", str(tmp_path), "--quiet"])
    answer = json.loads(capsys.readouterr().out)
    cells = {(one["promise"], one["variant"]): one for one in answer["cells"]}
    outcomes = {
        place: (one["live"]["outcome"], one["sim"]["outcome"])
        for place, one in cells.items()
        if place[0] not in TOO_RARE
    }
    assert outcomes == {
        (promise, variant): (outcome, outcome)
        for promise, outcome_of in EXPECTED.items()
        for variant, outcome in zip(("stock@0.26.3", "stock@0.26.4"), outcome_of, strict=True)
    }
    differing = {place for place, one in cells.items() if one["differs"]}
    assert {promise for promise, _ in differing} <= set(TOO_RARE)
    assert code == (1 if differing else 0)


EXPECTED = {
    "no-internal-errors": ("INVALID", "VALID"),
    "no-orphaned-contexts": ("INVALID", "INVALID"),
    "aborts-honoured": ("INVALID", "INVALID"),
    "no-phantom-runs": ("VALID", "VALID"),
    "one-at-a-time": ("INVALID", "INVALID"),
    "terminal-is-final": ("INVALID", "INVALID"),
}


def test_an_interrupt_ends_the_live_run_in_good_order_and_shows_what_there_is(
    environment: Callable[[str], Environment],
    sim_environment: Callable[[str], Environment],
    tmp_path: Path,
) -> None:
    environment("stock@0.26.4")
    sim_environment("stock@0.26.4")
    command = [sys.executable, "-c", "from chaos.cli.main import main; main()"]
    command += [
        "bench",
        "transfer",
        "smoke",
        "--variant",
        "stock@0.26.4",
        "--duration",
        "30s",
        "--run-dir",
        str(tmp_path),
    ]
    with subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as bench:
        said = list(lines_until_live_load(bench))
        bench.send_signal(signal.SIGINT)
        out, rest = bench.communicate(timeout=60)
    assert bench.returncode == 130, "".join(said) + rest
    assert "0 live runs, 1 simulated" in out
    assert out.endswith("INTERRUPTED: this is what had been run\n")
    verdicts = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("2*/verdict.json")]
    assert sorted((one["world"], one["ended"]) for one in verdicts) == [
        ("live", "interrupted"), ("sim", "finished"),
    ]  # fmt: skip


def lines_until_live_load(bench: subprocess.Popen[str]) -> Iterator[str]:
    """What it says on stderr, up to the beginning of the live run's load."""
    assert bench.stderr is not None
    is_live = False
    for line in bench.stderr:
        yield line
        is_live = is_live or line.startswith("smoke, live, seed 1")
        if is_live and line.startswith("stock@0.26.4: safety"):
            return
