"""Attempts: their lifetimes, which of one key overlap, and which collide in one worker's slot.

An attempt is alive from `attempt-began` to the later of the end of `process()` and the end of its
body, its thread included; on a host that is gone it ended when the host did. Attempts of one key
are looked up among those of that key that are still alive, so the fold costs the same per event
however long the run is.

Attempts keep the events themselves: a finding points at their numbers, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from chaos.event import (
    AttemptBegan,
    BodyBegan,
    BodyCancelled,
    BodyEnded,
    Event,
    ProcessEnded,
    SlotOverwritten,
    SlotRemoved,
    SlotSet,
)
from chaos.timeline.calls import Call


class Attempt(msgspec.Struct, kw_only=True, eq=False):
    """One execution of a job.

    Attributes:
        repeat: it is not the first attempt of its enqueue.
        collided: it was one of the two in a slot collision.
        calls: the finish and retry calls that it made, in order.
        slot_gone: the event that took its context out of the map.
        host_gone: the event that ended its host while it was alive.
        timed_out: its own timeout ended it.
    """

    began: AttemptBegan
    repeat: bool = False
    collided: bool = False
    process_ended: ProcessEnded | None = None
    body_began: BodyBegan | None = None
    body_ended: BodyEnded | None = None
    cancels: list[BodyCancelled] = []
    calls: list[Call] = []
    slot_set: SlotSet | None = None
    slot_gone: SlotOverwritten | SlotRemoved | None = None
    host_gone: Event | None = None
    timed_out: bool = False

    @property
    def id(self) -> str:
        return self.began.attempt

    @property
    def job(self) -> str:
        return self.began.job

    @property
    def host(self) -> str:
        return self.began.host

    @property
    def body_over(self) -> Event | None:
        """What ended the body: its own end or its host's. None while it runs or never began."""
        return None if self.body_began is None else self.body_ended or self.host_gone

    @property
    def body_alive(self) -> bool:
        return self.body_began is not None and self.body_over is None

    @property
    def process_over(self) -> Event | None:
        """What ended `process()`: its own end or its host's."""
        return self.process_ended or self.host_gone

    @property
    def over(self) -> Event | None:
        """The event that ended the attempt, or None while it is alive."""
        process = self.process_over
        if process is None or self.body_began is None:
            return process
        body = self.body_over
        if body is None:
            return None
        return body if body.t_us > process.t_us else process


class Overlap(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Two attempts (or bodies) of one key alive at once: `later` began while `earlier` was."""

    earlier: Attempt
    later: Attempt
    began: Event


class Collision(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """`later` registered its context while `earlier`, on that worker, was still in `process()`."""

    earlier: Attempt
    later: Attempt


class Overlaps:
    """Pairs of one kind. Across hosts a pair counts only once it has lasted longer than the slack.

    Args:
        slack_us: how far the clocks of two hosts may be apart.
        over: what ends an attempt for this kind of pair (`over` or `body_over`).
    """

    def __init__(self, slack_us: int, over: Callable[[Attempt], Event | None]) -> None:
        self._slack_us = slack_us
        self._over = over
        self._open: list[Overlap] = []
        self._counted: list[Overlap] = []

    def began(self, later: Attempt, began: Event, alive: list[Attempt]) -> None:
        """Pair `later` with everything of its key that is alive now."""
        for earlier in alive:
            if earlier is not later and self._over(earlier) is None:
                self._open.append(Overlap(earlier=earlier, later=later, began=began))

    def pairs(self, now_us: int) -> list[Overlap]:
        """The pairs that count up to `now_us`, in the order in which they began."""
        provisional = self._settle(now_us)
        return sorted(self._counted + provisional, key=lambda pair: (pair.began.t_us, pair.began.n))

    def count(self, now_us: int) -> int:
        """How many pairs count up to `now_us`."""
        return len(self._settle(now_us)) + len(self._counted)

    def lasted_us(self, pair: Overlap, now_us: int) -> int:
        """How long both were alive, up to `now_us`."""
        ended_us = self._ended_us(pair)
        return (now_us if ended_us is None else ended_us) - pair.began.t_us

    def _settle(self, now_us: int) -> list[Overlap]:
        """Move what has ended out of the open pairs; the open ones that count already."""
        still_open: list[Overlap] = []
        provisional: list[Overlap] = []
        for pair in self._open:
            ended_us = self._ended_us(pair)
            lasts_us = (now_us if ended_us is None else ended_us) - pair.began.t_us
            counts = pair.earlier.host == pair.later.host or lasts_us > self._slack_us
            if ended_us is None:
                still_open.append(pair)
            if counts:
                (provisional if ended_us is None else self._counted).append(pair)
        self._open = still_open
        return provisional

    def _ended_us(self, pair: Overlap) -> int | None:
        ends = [event for event in (self._over(pair.earlier), self._over(pair.later)) if event]
        return min((event.t_us for event in ends), default=None)


class Attempts:
    """All attempts of one variant, in the order in which they began.

    Attributes:
        contexts: contexts registered; contexts_collided: those of attempts in a slot collision.
        repeats: attempts after the first of their enqueue.
        meetings: other attempts that began while one of their key was alive.
    """

    def __init__(self, slack_us: int) -> None:
        self.by_id: dict[str, Attempt] = {}
        self.collisions: list[Collision] = []
        self.contexts = 0
        self.contexts_collided = 0
        self.repeats = 0
        self.meetings = 0
        self.overlaps = Overlaps(slack_us, lambda attempt: attempt.over)
        self.body_overlaps = Overlaps(slack_us, lambda attempt: attempt.body_over)
        self._alive: dict[str, list[Attempt]] = {}

    def began(self, event: AttemptBegan, host_gone: Event | None, repeat: bool) -> Attempt:
        """A new attempt; on a host that is already gone it is over at once."""
        attempt = Attempt(began=event, repeat=repeat, host_gone=host_gone)
        self.by_id[event.attempt] = attempt
        self.repeats += repeat
        if host_gone is None:
            alive = self._alive.setdefault(event.job, [])
            self.meetings += bool(alive) and not repeat
            self.overlaps.began(attempt, event, alive)
            alive.append(attempt)
        return attempt

    def alive(self, job: str) -> list[Attempt]:
        """The attempts of this key that are alive now."""
        return self._alive.get(job, [])

    def alive_count(self) -> int:
        """How many attempts are alive now."""
        return sum(map(len, self._alive.values()))

    def body_began(self, attempt: Attempt, event: BodyBegan) -> None:
        """The body began; a pool thread may begin it after `process()` has ended."""
        alive = self._alive.setdefault(attempt.job, [])
        attempt.body_began = event
        running = [other for other in alive if other.body_began is not None]
        self.body_overlaps.began(attempt, event, running)
        if attempt not in alive and attempt.host_gone is None:
            alive.append(attempt)

    def slot_set(self, attempt: Attempt, event: SlotSet) -> None:
        """The worker registered the attempt's context: a collision if an earlier one is there."""
        attempt.slot_set = event
        self.contexts += 1
        for other in self.alive(attempt.job):
            if other is attempt or other.host != attempt.host:
                continue
            if other.slot_set is not None and other.process_over is None:
                self._collide(other, attempt)
                return

    def _collide(self, earlier: Attempt, later: Attempt) -> None:
        self.collisions.append(Collision(earlier=earlier, later=later))
        self.contexts_collided += (not earlier.collided) + (not later.collided)
        earlier.collided = later.collided = True

    def forget_if_over(self, attempt: Attempt) -> bool:
        """Take an attempt that has ended out of the living; true if it was there and has ended."""
        alive = self._alive.get(attempt.job)
        if alive is None or attempt.over is None or attempt not in alive:
            return False
        alive.remove(attempt)
        if not alive:
            del self._alive[attempt.job]
        return True

    def on_host(self, host: str) -> list[Attempt]:
        """The attempts that are alive on one host now."""
        return [one for alive in self._alive.values() for one in alive if one.host == host]
