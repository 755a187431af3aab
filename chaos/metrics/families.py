"""The tables of the chaos view: which counter of `chaos.counters` becomes which family."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from chaos.timeline.aborts import OUTCOMES
from chaos.timeline.jobs import TERMINAL
from chaos.timeline.orphans import REASONS
from chaos.timeline.tally import ATTEMPT_OUTCOMES, ENQUEUE_OUTCOMES

PREFIX = "saqchaos_"
QUEUE_PREFIX = "saq_"
QUEUE_STATES = ("queued", "active", "incomplete")


class Plain(NamedTuple):
    """A family with the variant as its only label."""

    name: str
    counter: str
    help: str


class Labelled(NamedTuple):
    """A family with one more label, whose values are fixed words."""

    name: str
    label: str
    prefix: str  # of the counters: prefix + word
    words: tuple[str, ...]
    help: str


PLAIN_COUNTERS = (
    Plain("key_errors", "key_errors", "KeyErrors that saq's own code raised."),
    Plain("internal_errors", "internal_errors", "Other exceptions that saq's own code raised."),
    Plain("slot_collisions", "slot_collisions", "Contexts registered over a live attempt's slot."),
    Plain("overlaps", "overlaps", "Pairs of attempts of one key that were alive at once."),
    Plain("body_overlaps", "body_overlaps", "Pairs of bodies of one key that ran at once."),
    Plain("attempts_begun", "attempts", "Attempts begun."),
    Plain("aborts", "aborts", "Acknowledged aborts."),
    Plain("aborts_running", "aborts_running", "Aborts of running attempts that were judged."),
    Plain("retries", "retries", "Retries that happened."),
    Plain("sweeps", "sweeps", "Sweep calls."),
    Plain("swept", "swept", "Jobs that a sweep aborted."),
    Plain("swept_live", "swept_live", "Jobs that a sweep aborted while an attempt was alive."),
    Plain("faults_injected", "faults", "Faults injected."),
)
PLAIN_GAUGES = (
    Plain("orphaned_contexts_now", "orphaned_contexts_now", "Contexts that are orphaned now."),
    Plain("queue_queued", "queue_queued", "Entries in the queued list, when last looked at."),
    Plain("queue_active", "queue_active", "Entries in the active list, when last looked at."),
    Plain("queue_incomplete", "queue_incomplete", "Unfinished jobs, when last counted."),
)
LABELLED_COUNTERS = (
    Labelled("orphaned_contexts", "reason", "orphaned_", REASONS, "Contexts orphaned, in all."),
    Labelled(
        "aborted_attempts", "outcome", "aborts_", OUTCOMES, "Aborts and wrong cancels by outcome."
    ),
    Labelled("attempts", "outcome", "attempts_", ATTEMPT_OUTCOMES, "Attempts ended, by outcome."),
    Labelled(
        "jobs_enqueued", "outcome", "", ENQUEUE_OUTCOMES, "Enqueues that came back, by outcome."
    ),
    Labelled("jobs_finished", "status", "jobs_", TERMINAL, "Jobs by their first terminal status."),
)
COUNTER_OF_ENQUEUE = MappingProxyType(
    {
        "accepted": "enqueues",
        "refused": "enqueues_refused",
        "unclear": "enqueues_unclear",
    }
)
