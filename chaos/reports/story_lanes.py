"""The lanes of a story: which columns there are, and which one each actor has.

    saq-chaos │ the producer │ Redis │ worker 1: itself, its slot, attempt 1, attempt 2 │ worker 2 …

A host has a lane if it does something in the story. Attempts have one each; when there are more
than `ATTEMPT_LANES`, those of one worker that were not alive together share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chaos.event import CONTROLLER
from chaos.reports.story_model import (
    ATTEMPT,
    PRODUCER,
    REDIS,
    SLOT,
    WORKER,
    Arrow,
    Lane,
)
from chaos.reports.story_names import Names
from chaos.reports.story_scene import Scene
from chaos.reports.story_words import HOST, SWEEP, Said
from chaos.timeline.attempts import Attempt

ATTEMPT_LANES = 5
_SHARED_MAX = 8
_CODES = {CONTROLLER: "C", PRODUCER: "P"}


class Lanes:
    """The lanes of one story.

    Attributes:
        all: the lanes, from left to right.
    """

    def __init__(
        self, scene: Scene, kept: Sequence[Said], slots: frozenset[str], names: Names
    ) -> None:
        self.all: list[Lane] = []
        self._hosts: dict[str, int] = {}
        self._slots: dict[str, int] = {}
        self._attempts: dict[str, int] = {}
        self._names = names
        acting = _acting(kept)
        self._controller_and_producers(acting)
        if any(said.towards == REDIS for said in kept):
            self._redis(scene.variant)
        workers = [one.host for one in scene.attempts]
        for host in dict.fromkeys((*workers, *sorted(acting))):
            if _role(host) == WORKER or host in workers:
                self._worker(host, host in acting, host in slots, scene.attempts)

    def slot_hosts(self) -> tuple[str, ...]:
        """The workers whose slot has a lane, in the order of the lanes."""
        return tuple(self._slots)

    def of(self, said: Said) -> int:
        """The lane of whoever acts."""
        kind, name = said.actor
        if kind == ATTEMPT:
            return self._attempts.get(name, self._of_host(name.partition("#")[0]))
        host = name.partition(" ")[0] if kind == SWEEP else name
        return self._of_host(host)

    def of_attempt(self, attempt: str) -> int | None:
        """The lane of an attempt, if the story shows it."""
        return self._attempts.get(attempt)

    def arrow(self, said: Said) -> Arrow | None:
        """What it acts on."""
        start = self.of(said)
        end = self._target(said)
        if end is None or end == start:
            return None
        return Arrow(end, start) if said.back else Arrow(start, end, said.missed)

    def _target(self, said: Said) -> int | None:
        if said.towards == SLOT:
            return self._slots.get(said.event.host)
        if said.towards == REDIS:
            return next((n for n, lane in enumerate(self.all) if lane.kind == REDIS), None)
        return self._of_host(said.towards) if said.towards else None

    def _of_host(self, host: str) -> int:
        """A host's own lane, or the first of its attempts'."""
        if host in self._hosts:
            return self._hosts[host]
        for attempt, place in self._attempts.items():
            if attempt.partition("#")[0] == host:
                return place
        return 0

    # --- making them ------------------------------------------------------------------------------

    def _controller_and_producers(self, acting: Iterable[str]) -> None:
        for host in sorted(acting, key=lambda one: (one != CONTROLLER, one)):
            if _role(host) not in (WORKER, REDIS):
                kind = PRODUCER if _role(host) == PRODUCER else _role(host)
                name = self._names.host(host).removeprefix("the ")
                self._hosts[host] = self._add(kind, name, _CODES.get(kind, "H"), full=host)

    def _redis(self, variant: str) -> None:
        host = f"{variant}/redis"
        self._hosts[host] = self._add(REDIS, "Redis", "R", full=host)

    def _worker(self, host: str, acts: bool, has_slot: bool, attempts: Sequence[Attempt]) -> None:
        name = self._names.host(host)
        if acts:
            code = "W" + name.partition(" ")[2]
            self._hosts[host] = self._add(WORKER, name, code, group=name, full=host)
        if has_slot:
            self._slots[host] = self._add(SLOT, "slot", "S", group=name, full=host)
        own = [one for one in attempts if one.host == host]
        for shared in _columns(own, crowded=len(attempts) > ATTEMPT_LANES):
            labels = [self._names.attempt(one.id) for one in shared]
            numbers = [label.partition(" ")[2] for label in labels]
            several = f"attempts {', '.join(numbers)}"
            place = self._add(
                ATTEMPT, labels[0] if len(labels) == 1 else several, "A" + "+".join(numbers),
                group=name, full=", ".join(one.id for one in shared),
            )  # fmt: skip
            self._attempts.update({one.id: place for one in shared})

    def _add(self, kind: str, label: str, code: str, group: str = "", full: str = "") -> int:
        self.all.append(Lane(kind=kind, label=label, code=code, group=group, full=full))
        return len(self.all) - 1


def _acting(kept: Sequence[Said]) -> frozenset[str]:
    """The hosts that act by themselves in the story, or are acted on."""
    hosts: set[str] = set()
    for said in kept:
        kind, name = said.actor
        if kind in (SWEEP, HOST):
            hosts.add(name.partition(" ")[0])
        if "/" in said.towards:
            hosts.add(said.towards)
    return frozenset(hosts)


def _role(host: str) -> str:
    return host.rpartition("/")[2].partition("-")[0]


def _columns(attempts: Sequence[Attempt], *, crowded: bool) -> list[list[Attempt]]:
    """Which attempts of one worker share a column: none, unless there are too many."""
    columns: list[list[Attempt]] = []
    for one in attempts:
        for column in columns if crowded else ():
            over = column[-1].over
            if over is not None and over.n < one.began.n and len(column) < _SHARED_MAX:
                column.append(one)
                break
        else:
            columns.append([one])
    return columns
