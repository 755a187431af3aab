"""The counters: every figure that a threshold, an exposure, a report or Prometheus may name.

    Timeline ──values()──► {"slot_collisions": 412.0, "key_errors": 57.0, "job_wait_p99": 0.41, …}

One flat table of names, one function that computes them all, and everybody reads that: so a
threshold, a report and a graph cannot disagree. Times are seconds; a percentile is absent until
there is something to measure. `chaos.metrics` gives the same figures to Prometheus.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from chaos.clock import SECOND_US
from chaos.timeline import Timeline
from chaos.timeline.aborts import JUDGED, OUTCOMES
from chaos.timeline.tally import Times

KEY_ERROR = "KeyError"
PERCENTILES = (50, 95, 99)

COUNTERS: Mapping[str, str] = MappingProxyType(
    {
        "attempts": "attempts begun: a job was dequeued",
        "slot_collisions": "attempts that registered their context while another attempt of their "
        "key on that worker had registered its own: what the seed bug needs",
        "key_errors": "KeyErrors that saq's own code raised",
        "internal_errors": "other exceptions that saq's own code raised",
        "orphaned_contexts": "attempts that abort() could not reach, and contexts that outlived "
        "their attempt, in all",
        "orphaned_contexts_now": "those that are orphaned at this moment",
        "orphaned_overwritten": "orphaned: another attempt took the slot while the body ran",
        "orphaned_foreign_pop": "orphaned: something else removed the context while the body ran",
        "orphaned_outlived_by_body": "orphaned: removed by its own attempt while the body ran",
        "orphaned_leaked": "orphaned: still in the map after the attempt had ended",
        "overlaps": "pairs of attempts of one key that were alive at once",
        "body_overlaps": "pairs of bodies of one key that ran at once",
        "repeats": "attempts after the first of their enqueue, or that met another of their key",
        "requeued_live": "jobs put into the queue while an attempt of their key ran: what it takes "
        "for two of them to run at once",
        "contexts": "contexts that workers registered",
        "contexts_collided": "contexts of attempts that were in a slot collision",
        "jobs_run": "jobs whose function began at least once",
        "runs": "bodies begun",
        "attempts_complete": "attempts that finished their job as COMPLETE",
        "attempts_failed": "attempts that finished their job as FAILED",
        "attempts_aborted": "attempts that finished their job as ABORTED",
        "attempts_retried": "attempts that put their job back",
        "attempts_raised": "attempts whose process() raised",
        "attempts_killed": "attempts whose host went away first",
        "attempts_unrecorded": "attempts that ended without recording anything",
        "enqueues": "enqueues that were accepted",
        "enqueues_refused": "enqueues that the queue refused",
        "enqueues_unclear": "enqueues that failed, and may or may not have happened",
        "jobs_finished": "jobs for which a terminal status was recorded",
        "jobs_complete": "jobs whose first terminal status was COMPLETE",
        "jobs_failed": "jobs whose first terminal status was FAILED",
        "jobs_aborted": "jobs whose first terminal status was ABORTED",
        "retries": "retries that happened, by attempts and by sweeps",
        "aborts": "acknowledged aborts, a sweep's included",
        "aborts_running": "acknowledged aborts × attempts that were running then, where judged",
        "aborts_honoured": "of those: cancelled in time and recorded ABORTED",
        "aborts_late": "of those: cancelled after the bound",
        "aborts_ignored": "of those: cancelled in time but not recorded ABORTED",
        "aborts_lost": "of those: never cancelled",
        "aborts_moot": "aborts of attempts that ended by themselves first: not judged",
        "aborts_misdirected": "attempts cancelled for an abort acknowledged before they began",
        "aborts_stray": "attempts cancelled without an abort, timeout or shutdown of their own",
        "sweeps": "sweep calls, of workers and forced ones",
        "swept": "jobs that a sweep aborted",
        "swept_live": "jobs that a sweep aborted while an attempt of them was alive",
        "restarts": "workers that replaced another one",
        "kills": "workers that were killed",
        "crashes": "workers that replaced one which had ended by itself",
        "faults": "faults injected",
        "faults_active": "faults injected and not healed yet",
        "queue_queued": "entries in the queued list when it was last looked at",
        "queue_active": "entries in the active list when it was last looked at",
        "queue_incomplete": "unfinished jobs when they were last counted",
        "job_wait_p50": "seconds from enqueue to first attempt, scheduling ahead included: median",
        "job_wait_p95": "the same: 95 % wait no longer",
        "job_wait_p99": "the same: 99 % wait no longer",
        "job_run_p50": "seconds that a body runs: median",
        "job_run_p95": "the same: 95 % run no longer",
        "job_run_p99": "the same: 99 % run no longer",
    }
)

EXPOSURES: Mapping[str, str] = MappingProxyType(
    {
        name: COUNTERS[name]
        for name in (
            "slot_collisions", "overlaps", "body_overlaps", "repeats", "requeued_live", "attempts",
            "contexts", "contexts_collided",
            "jobs_run", "enqueues", "jobs_finished", "retries", "aborts", "aborts_running",
            "sweeps", "swept", "swept_live", "restarts", "kills", "faults",
        )
    }
)  # fmt: skip


def is_time(name: str) -> bool:
    """Whether a counter is a duration in seconds."""
    return name.startswith(("job_wait_p", "job_run_p"))


def spoken(name: str, count: int = 2) -> str:
    """A counter's name as words, in the number that fits: "slot collisions", "1 slot collision"."""
    words = name.split("_")
    if count == 1:
        place = next((n for n, word in enumerate(words) if word.endswith("s")), None)
        if place is not None:
            word = words[place]
            words[place] = f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
    return " ".join(words)


def counted(count: int, name: str) -> str:
    """`0 retries`, `1 retry`, `412 slot collisions`."""
    return f"{count} {spoken(name, count)}"


def values(timeline: Timeline) -> dict[str, float]:
    """Every counter of one variant up to now, in the order of `COUNTERS`. Safe from any thread."""
    with timeline.lock:
        found = {
            **_attempts(timeline),
            **_errors_and_orphans(timeline),
            **_jobs(timeline),
            **_aborts(timeline),
            **_disturbances(timeline),
            **_times("job_wait", timeline.tally.wait),
            **_times("job_run", timeline.tally.run),
        }
    return {name: float(found[name]) for name in COUNTERS if name in found}


def _attempts(timeline: Timeline) -> dict[str, float]:
    attempts, now_us = timeline.attempts, timeline.now_us
    ended = timeline.tally.attempts.items()
    return {
        "attempts": len(attempts.by_id),
        "slot_collisions": len(attempts.collisions),
        "overlaps": attempts.overlaps.count(now_us),
        "body_overlaps": attempts.body_overlaps.count(now_us),
        "repeats": timeline.repeats(),
        "requeued_live": timeline.tally.requeued_live,
        "contexts": attempts.contexts,
        "contexts_collided": attempts.contexts_collided,
        "runs": timeline.tally.bodies,
        **{f"attempts_{outcome}": count for outcome, count in ended},
    }


def _errors_and_orphans(timeline: Timeline) -> dict[str, float]:
    errors = timeline.errors.all()
    key_errors = sum(error.kind == KEY_ERROR for error in errors)
    orphans = timeline.orphans.counts()
    return {
        "key_errors": key_errors,
        "internal_errors": len(errors) - key_errors,
        "orphaned_contexts": sum(orphans.values()),
        "orphaned_contexts_now": timeline.orphans.now(),
        **{f"orphaned_{reason.replace('-', '_')}": count for reason, count in orphans.items()},
    }


def _jobs(timeline: Timeline) -> dict[str, float]:
    tally, depth = timeline.tally, timeline.depth
    found: dict[str, float] = {
        "jobs_run": tally.jobs_run,
        "enqueues": tally.enqueues["accepted"],
        "enqueues_refused": tally.enqueues["refused"],
        "enqueues_unclear": tally.enqueues["unclear"],
        "jobs_finished": timeline.jobs_finished(),
        "retries": tally.retries,
        **{f"jobs_{status}": count for status, count in tally.finished.items()},
    }
    if depth is not None:
        found["queue_queued"] = depth.queued
        found["queue_active"] = depth.active
        found["queue_incomplete"] = depth.incomplete
    return found


def _aborts(timeline: Timeline) -> dict[str, float]:
    outcomes = timeline.aborts.counts(timeline.now_us)
    return {
        "aborts": len(timeline.aborts.acknowledged),
        "aborts_running": sum(outcomes[outcome] for outcome in JUDGED),
        **{f"aborts_{outcome}": outcomes[outcome] for outcome in OUTCOMES},
    }


def _disturbances(timeline: Timeline) -> dict[str, float]:
    restarts = timeline.hosts.restarts()
    return {
        "sweeps": timeline.tally.sweeps,
        "swept": timeline.tally.swept,
        "swept_live": timeline.tally.swept_live,
        "restarts": sum(restarts.values()),
        "kills": timeline.hosts.kills(),
        "crashes": restarts["crash"],
        "faults": len(timeline.faults.windows),
        "faults_active": sum(timeline.faults.active_counts().values()),
    }


def _times(name: str, times: Times) -> dict[str, float]:
    measured = {percent: times.percentile_us(percent) for percent in PERCENTILES}
    return {
        f"{name}_p{percent}": time_us / SECOND_US
        for percent, time_us in measured.items()
        if time_us is not None
    }
