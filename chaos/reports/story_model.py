"""What a story is made of: lanes, steps in the order of time, and a summary. Only data.

Texts are plain words without markup; whoever shows them escapes them for its format.
"""

from __future__ import annotations

import msgspec

CONTROLLER, PRODUCER, REDIS, WORKER, SLOT, ATTEMPT = (
    "controller", "producer", "redis", "worker", "slot", "attempt",
)  # fmt: skip
ALIVE, RUNS = "alive", "runs"


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One column of the picture: a host, an attempt, or a worker's slot for the job.

    Attributes:
        kind: controller, producer, redis, worker, slot or attempt.
        label: its name in the texts ("attempt 2"), also of several attempts that share a column.
        code: the shortest name, for narrow columns ("A2").
        group: the worker that a slot or an attempt belongs to ("worker 1").
        full: the name in the history, for whoever looks it up there.
    """

    kind: str
    label: str
    code: str
    group: str = ""
    full: str = ""


class Arrow(msgspec.Struct, frozen=True):
    """From one lane to another, by their places; `missed` if nothing was found there."""

    start: int
    end: int
    missed: bool = False


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened: one event, or a few of one actor right after each other.

    Attributes:
        t_us: time since the first step.
        lane: who did it, or had it happen.
        text: one sentence in plain words.
        events: the numbers of its events in the history.
        bars: what each lane's attempt does after it: "", `alive` or `runs` (its function).
        slots: what each slot lane holds after it, in their order; empty text for nothing.
        left_out: what happened before it, since the step before, and is not shown.
        detail: saq's line, the command, the error text.
    """

    t_us: int
    lane: int
    text: str
    events: tuple[int, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    bars: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()
    left_out: str = ""
    detail: str = ""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """How a promise came to be broken.

    Attributes:
        summary: the same in a few sentences, in order.
        breaks_at: the place of the step at which the promise breaks; -1 if the history has none.
        why: what is wrong there, with the names that the story uses.
        means: what that means for whoever runs the jobs.
        claim: the promise in one sentence.
        notes: what a reader must know beside it (what is left out, who is who).
        words: the words of saq that the story uses, each with its meaning.
    """

    title: str
    promise: str
    claim: str
    variant: str
    job: str
    summary: tuple[str, ...]
    lanes: tuple[Lane, ...]
    steps: tuple[Step, ...]
    breaks_at: int
    why: str
    means: str = ""
    notes: tuple[str, ...] = ()
    words: tuple[tuple[str, str], ...] = ()

    @property
    def slot_lanes(self) -> tuple[int, ...]:
        """The places of the slot lanes; `Step.slots` is in their order."""
        return tuple(place for place, lane in enumerate(self.lanes) if lane.kind == SLOT)
