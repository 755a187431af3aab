"""What takes two parts of a plan to see, one case for each problem, and its sound neighbour."""

from __future__ import annotations

import pytest

from chaos import plan_file
from tests.plan.texts import SMALL, problems

APP = SMALL.replace("same_key", "app\n  app: my.app:settings\n  calls: [{function: f}]")

CASES = [
    # names
    ("promises: [no-internal-errors, no-internal-errors]", "promises: [no-internal-errors]",
     "promises[1]: 'no-internal-errors' stands here twice: keep one"),
    ("exposures: {overlap: 1}", "exposures: {overlaps: 1}",
     "exposures.overlap: 'overlap' is no exposure: did you mean 'overlaps'? Accepted are "),
    ("thresholds: [{that: key_errors = 0}]", "thresholds: [{that: key_errors == 0}]",
     "thresholds[0].that: 'key_errors = 0' is no threshold: "),
    ("thresholds: [{that: sweeps > 3, abort_on_fail: true}]",
     "thresholds: [{that: sweeps < 3, abort_on_fail: true}]",
     ("thresholds[0].that: 'sweeps > 3' can only fail at the end of a run: nothing acts on "
     "`abort_on_fail` here")),
    # variants
    ("variants: [stok@0.26.4]", "variants: [stock@0.26.4]",
     "variants[0]: unknown patch 'stok' in 'stok@0.26.4'"),
    ("variants: [stock@0.26.4, stock@0.26.4]", "variants: [stock@0.26.4, stock@0.26.3]",
     ("variants[1]: 'stock@0.26.4' is called 'stock@0.26.4' in reports, and so is 'stock@0.26.4': "
     "keep one of them")),
    ("gate: baseline", "gate: strict",
     "gate: gate `baseline` needs `baseline`: one of stock@0.26.4"),
    ("gate: baseline\nbaseline: stock@0.26.3",
     "gate: baseline\nbaseline: stock@0.26.3\nvariants: [stock@0.26.3, stock@0.26.4]",
     "baseline: 'stock@0.26.3' is none of the variants: stock@0.26.4"),
    ("gate: baseline\nbaseline: stock@0.26.4",
     "gate: baseline\nbaseline: stock@0.26.4\nvariants: [stock@0.26.3, stock@0.26.4]",
     "baseline: 'stock@0.26.4' is the only variant: there is nothing to compare with it"),
    ("baseline: stock@0.26.4",
     "baseline: stock@0.26.4\ngate: baseline\nvariants: [stock@0.26.3, stock@0.26.4]",
     "baseline: nothing acts on this key: only gate `baseline` compares with it. Remove it"),
    # times of faults
    ("faults: [{fault: kill, every: 10s}]", "faults: [{fault: kill, every: 9s}]",
     "faults[0].every: would never happen: the first time is 10s, and `duration` is 10s"),
    ("faults: [{fault: kill, every: 1s, after: 9s}]",
 "faults: [{fault: kill, every: 1s, after: 8s}]",
     "faults[0].every: would never happen: the first time is 10s, and `duration` is 10s"),
    ("faults: [{fault: kill, every: 1s, jitter: 1s}]",
     "faults: [{fault: kill, every: 1s, jitter: 999ms}]",
     "faults[0].jitter: must be shorter than `every` (1s)"),
    ("faults: [{fault: kill, every: 1us}]", "faults: [{fault: kill, every: 11us}]",
     "faults[0].every: 10000000 injections are more than 1000000: a longer time"),
    ("faults: [{fault: kill, at: [1s, 10s]}]", "faults: [{fault: kill, at: [1s, 9999ms]}]",
     "faults[0].at[1]: 10s is after the end: `duration` is 10s"),
    ("faults: [{fault: kill, at: [1s, 1000ms]}]", "faults: [{fault: kill, at: [1s, 1001ms]}]",
     "faults[0].at[1]: 1s stands here twice: keep one"),
    ("faults: [{fault: kill, at: [1s], jitter: 1ms}]", "faults: [{fault: kill, at: [1s]}]",
     "faults[0].jitter: nothing acts on this key: it belongs to `every`, not to `at`. Remove it"),
    ("faults: [{fault: kill, at: [1s], after: 1ms}]", "faults: [{fault: kill, at: [1s]}]",
     "faults[0].after: nothing acts on this key: it belongs to `every`, not to `at`. Remove it"),
    ("faults: [{fault: kill}]", "faults: [{fault: kill, every: 1s}]",
     "faults[0]: say when: either `every: 500ms` or `at: [5s, 9s]`, not both"),
    ("faults: [{fault: pause, every: 1s, for: 10s}]",
     "faults: [{fault: pause, every: 1s, for: 9s}]",
     "faults[0].for: 10s is longer than the run: `duration` is 10s"),
    ("faults: [{fault: redis_restart, every: 1s, for: 11s}]",
     "faults: [{fault: redis_restart, every: 1s, for: 0s}]",
     "faults[0].for: 11s is longer than the run: `duration` is 10s"),
    ("faults: [{fault: kill, every: 1s, replace_after: 10s}]",
     "faults: [{fault: kill, every: 1s, replace_after: 1s}]",
     "faults[0].replace_after: 10s is longer than the run: `duration` is 10s"),
    # the fleet
    ("faults: [{fault: rolling_restart, every: 1s, max_surge: 3}]",
     "faults: [{fault: rolling_restart, every: 1s, max_surge: 2}]",
     "faults[0].max_surge: 3 is more than the fleet has: `workers.count` is 2"),
    ("faults: [{fault: rolling_restart, every: 1s, max_unavailable: 3}]",
     "faults: [{fault: rolling_restart, every: 1s, max_unavailable: 2}]",
     "faults[0].max_unavailable: 3 is more than the fleet has: `workers.count` is 2"),
    ("faults: [{fault: rolling_restart, every: 1s, max_surge: 0}]",
     "faults: [{fault: rolling_restart, every: 1s, max_surge: 0, max_unavailable: 1}]",
     "faults[0]: max_surge and max_unavailable are both 0: nothing could be replaced"),
    ("limits: {jobs: 200}", "limits: {jobs: 201}",
     ("limits.jobs: this plan enqueues 200 jobs, and reaching the limit of 200 ends a run as "
     "UNKNOWN: raise the limit, or lower `rate` or `duration`")),
]  # fmt: skip
BODIES = [
    ("bodies: [{profile: quick, beat: 1s}]", "bodies: [{profile: heartbeat, beat: 1s}]",
     ("workload.bodies[0].beat: nothing acts on this key: profile is quick, and only heartbeat has "
     "it. Remove it")),
    ("bodies: [{profile: quick, winds_down: 1s}]",
     "bodies: [{profile: stubborn, winds_down: 1s}]",
     ("workload.bodies[0].winds_down: nothing acts on this key: profile is quick, and only "
     "stubborn has it. Remove it")),
    ("bodies: [{profile: quick, error: KeyError}]",
     "bodies: [{profile: raising, error: KeyError}]",
     ("workload.bodies[0].error: nothing acts on this key: profile is quick, and only raising has "
     "it. Remove it")),
    ("scheduled_ahead: 2s", "scheduled_share: 0.1, scheduled_ahead: 2s",
     "workload.scheduled_ahead: nothing acts on this key: `scheduled_share` is 0. Remove it"),
    ("scheduled_share: 0.1, scheduled_ahead: 30s", "scheduled_share: 0.1, scheduled_ahead: 29s",
     "workload.scheduled_ahead: 30s is not shorter than `drain` (30s)"),
    ("job: {retry_delay: 30s}", "job: {retry_delay: 29s}",
     "workload.job.retry_delay: 30s is not shorter than `drain` (30s)"),
    ("job: {timeout: 0s}, bodies: [{profile: quick, takes: 20s, spread: 11s}]",
     "job: {timeout: 0s}, bodies: [{profile: quick, takes: 20s, spread: 10s}]",
     ("workload.bodies[0].takes: an attempt may go on for 31s, longer than `drain` (30s): what "
     "began last could not end in the run")),
    ("bodies: [{profile: thread, takes: 31s}]", "bodies: [{profile: quick, takes: 31s}]",
     ("workload.bodies[0].takes: an attempt may go on for 31s, longer than `drain` (30s): what "
     "began last could not end in the run")),
    ("bodies: [{profile: stubborn, takes: 31s, winds_down: 21s}]",
     "bodies: [{profile: stubborn, takes: 31s, winds_down: 20s}]",
     ("workload.bodies[0].takes: an attempt may go on for 31s, longer than `drain` (30s): what "
     "began last could not end in the run")),
]  # fmt: skip
CALLS = [
    ("[{function: f, spread: 3}]", "[{function: f, spread: 3, key: 'a-{n}'}]",
     ("workload.calls[0].spread: nothing acts on this key: no key and no argument of this call has "
     "{n} in it. Remove it")),
    ("[{function: f, key: 'a-{x}'}]", "[{function: f, key: 'a-{i}'}]",
     "workload.calls[0].key: `{x}` is not filled in: a key has {i} and {n}"),
    ("[{function: f, scheduled_ahead: 30s}]", "[{function: f, scheduled_ahead: 29s}]",
     "workload.calls[0].scheduled_ahead: 30s is not shorter than `drain` (30s)"),
    ("[{function: f, job: {retry_backoff: -1}}]", "[{function: f, job: {retry_backoff: 5.5}}]",
     ("workload.calls[0].job.retry_backoff: -1 is no backoff: write true, false or the longest "
     "delay in seconds")),
    ("[{function: f, job: {time_out: 1}}]", "[{function: f, job: {timeout: 1}}]",
     "workload.calls[0].job.time_out: no such key: did you mean 'timeout'? Accepted are "),
]  # fmt: skip


def check(bad: str, good: str, problem: str) -> None:
    (found,) = problems(bad)
    assert found.partition(": ")[2].startswith(problem)
    plan_file.loads(good)


def small_with(addition: str) -> str:
    kept = SMALL if "promises" not in addition else SMALL.rpartition("promises")[0]
    return f"{kept}{addition}\n"


@pytest.mark.parametrize(("bad", "good", "problem"), CASES)
def test_a_plan_that_cannot_mean_what_it_says_is_refused(bad: str, good: str, problem: str) -> None:
    check(small_with(bad), small_with(good), problem)


@pytest.mark.parametrize(("bad", "good", "problem"), BODIES)
def test_bodies_and_jobs_fit_each_other_and_the_drain(bad: str, good: str, problem: str) -> None:
    inline = SMALL.replace("workload:\n  kind: same_key", "workload: {kind: same_key, %s}")
    check(inline % bad, inline % good, problem)


@pytest.mark.parametrize(("bad", "good", "problem"), CALLS)
def test_calls_of_an_app_say_nothing_in_vain(bad: str, good: str, problem: str) -> None:
    check(APP.replace("[{function: f}]", bad), APP.replace("[{function: f}]", good), problem)


def test_an_app_workload_names_its_app() -> None:
    assert problems(APP.replace("  app: my.app:settings\n", "")) == [
        "3:1: workload.app: `app` is missing: write `app: my.module:settings`, or give --app"
    ]


def test_a_problem_that_rests_on_a_wrong_value_is_not_told() -> None:
    text = SMALL.replace("10s", "10") + "faults: [{fault: kill, every: 20s}]\n"
    assert [problem.split(": ")[1] for problem in problems(text)] == ["duration"]
