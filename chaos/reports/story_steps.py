"""Makes steps and a summary of what a story tells: the same words at two levels of detail.

A step joins what one actor did without a break, within a few milliseconds; a sentence of the
summary joins what one actor did before another one acts, leaves out what matters less, and says
how much time passed. What the slots hold and which functions run is kept up over every event of the
scene, told or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from chaos import event as e
from chaos.reports.story_lanes import Lanes
from chaos.reports.story_model import ALIVE, ATTEMPT, RUNS, Step
from chaos.reports.story_names import Names, duration
from chaos.reports.story_scene import Scene
from chaos.reports.story_words import Said, Words

_TOGETHER_US = 50_000  # an attempt's own steps, each a round trip to Redis apart
_CALLS_TOGETHER_US = 5_000
_PHRASES_MAX = 4
_SENTENCES = 8
_LEAST = 25  # lighter than that is "is over", which a picture shows and a sentence can do without
_TURNING_POINT = 60  # what weighs as much is not left out of a summary
_TOLD_TIME_US = 10_000


def steps(
    scene: Scene, kept: Sequence[Said], gaps: dict[int, str], lanes: Lanes, words: Words,
    names: Names,
) -> tuple[Step, ...]:  # fmt: skip
    """The steps, in order."""
    state = _State(scene, lanes, names)
    made: list[Step] = []
    start_us = kept[0].event.t_us if kept else 0
    for group in _groups(kept, scene):
        state.up_to(max(group[-1].numbers))
        arrows = [lanes.arrow(said) for said in group]
        made.append(
            Step(
                t_us=max(0, group[0].event.t_us - start_us),
                lane=lanes.of(group[0]),
                text=sentence(words.actor(group[0].actor), [said.says for said in group]),
                events=tuple(n for said in group for n in said.numbers),
                arrows=tuple(dict.fromkeys(arrow for arrow in arrows if arrow is not None)),
                bars=state.bars(),
                slots=state.slots(),
                left_out="; ".join(gaps[s.event.n] for s in group if s.event.n in gaps),
                detail="; ".join(dict.fromkeys(said.detail for said in group if said.detail)),
            )
        )
    return tuple(made)


def sentence(actor: str, phrases: Sequence[str]) -> str:
    """`Attempt 1 registers its context, runs …, and is over.`"""
    subject = actor if actor.startswith("saq-chaos") else actor[:1].upper() + actor[1:]
    if len(phrases) > 1:
        comma = "," if len(phrases) > 2 or "," in phrases[0] else ""
        said = f"{', '.join(phrases[:-1])}{comma} and {phrases[-1]}"
    else:
        said = phrases[0]
    return f"{subject} {said}."


def summary(kept: Sequence[Said], scene: Scene, words: Words) -> tuple[str, ...]:
    """At most a handful of sentences: what matters most, in order."""
    spoken: tuple[str, ...] = ()
    for least in range(_LEAST, _TURNING_POINT + 1, 5):
        told = [said for said in kept if said.weight >= least or _is_break(said, scene)]
        spoken = tuple(_sentences(told, words))
        if len(spoken) <= _SENTENCES:
            return spoken
    half = _SENTENCES // 2
    between = f"(… and so on: {len(spoken) - 2 * half} more of such steps.)"
    return (*spoken[:half], between, *spoken[-half:])


def _sentences(told: Sequence[Said], words: Words) -> Iterator[str]:
    before_us = told[0].event.t_us if told else 0
    for group in _by_actor(told):
        waited_us = group[0].event.t_us - before_us
        actor = words.actor(group[0].actor)
        later = f"{duration(waited_us)} later " if waited_us >= _TOLD_TIME_US else ""
        yield sentence(f"{later}{actor}", list(_timed(group)))
        before_us = group[-1].event.t_us


def _timed(group: Sequence[Said]) -> Iterator[str]:
    """The phrases of one sentence, with the times between them; what is repeated is counted."""
    before_us = group[0].event.t_us
    for says, same in groupby(group, lambda said: said.says):
        repeated = list(same)
        first_us, last_us = repeated[0].event.t_us, repeated[-1].event.t_us
        waited_us = first_us - before_us
        later = f"{duration(waited_us)} later " if waited_us >= _TOLD_TIME_US else ""
        often = f", {len(repeated)} times in {duration(last_us - first_us)}"
        yield f"{later}{says}{often if len(repeated) > 1 else ''}"
        before_us = last_us


def _by_actor(told: Iterable[Said]) -> Iterator[list[Said]]:
    group: list[Said] = []
    for said in told:
        phrases = len({one.says for one in (*group, said)})
        if group and (said.actor != group[0].actor or phrases > _PHRASES_MAX):
            yield group
            group = []
        group.append(said)
    if group:
        yield group


def _groups(kept: Iterable[Said], scene: Scene) -> Iterator[list[Said]]:
    """What makes one step: one actor, no pause, and the break alone."""
    group: list[Said] = []
    for said in kept:
        if group and not _continues(group, said, scene):
            yield group
            group = []
        group.append(said)
    if group:
        yield group


def _continues(group: Sequence[Said], said: Said, scene: Scene) -> bool:
    if _is_break(said, scene) or _is_break(group[-1], scene):
        return False
    if isinstance(said.event, e.BodyEnded | e.BodyCancelled) and any(
        isinstance(one.event, e.BodyBegan) for one in group
    ):
        return False  # else the picture would not show that it ran
    limit_us = _TOGETHER_US if said.actor[0] == ATTEMPT else _CALLS_TOGETHER_US
    soon = said.event.t_us - group[0].event.t_us <= limit_us
    return soon and said.actor == group[0].actor and len(group) < _PHRASES_MAX


def _is_break(said: Said, scene: Scene) -> bool:
    return scene.breaks is not None and scene.breaks.n in said.numbers


class _State:
    """What the slots hold and what each attempt does, after each event of the scene."""

    def __init__(self, scene: Scene, lanes: Lanes, names: Names) -> None:
        self._events = iter(scene.events)
        self._next = next(self._events, None)
        self._lanes = lanes
        self._names = names
        self._bars = [""] * len(lanes.all)
        self._holders: dict[str, list[str]] = {host: [] for host in lanes.slot_hosts()}
        self._process: dict[str, bool] = {}
        self._body: dict[str, bool] = {}

    def up_to(self, n: int) -> None:
        """Fold the events up to number `n`."""
        while self._next is not None and self._next.n <= n:
            self._fold(self._next)
            self._next = next(self._events, None)

    def bars(self) -> tuple[str, ...]:
        return tuple(self._bars)

    def slots(self) -> tuple[str, ...]:
        """The attempts whose contexts each slot holds."""
        return tuple(
            " and ".join(self._names.attempt(one) for one in holders)
            for holders in self._holders.values()
        )

    def _fold(self, event: e.Event) -> None:
        if isinstance(event, e.HostEnded | e.HostExited):
            host = event.target if isinstance(event, e.HostExited) else event.host
            self._gone(host)
            return
        attempt = str(getattr(event, "attempt", ""))
        self._slot(event, attempt)
        match event:
            case e.AttemptBegan():
                self._process[attempt] = True
            case e.ProcessEnded():
                self._process[attempt] = False
            case e.BodyBegan():
                self._body[attempt] = True
            case e.BodyEnded():
                self._body[attempt] = False
            case _:
                return
        self._bar(attempt)

    def _bar(self, attempt: str) -> None:
        place = self._lanes.of_attempt(attempt)
        if place is not None:
            alive = ALIVE if self._process.get(attempt) else ""
            self._bars[place] = RUNS if self._body.get(attempt) else alive

    def _slot(self, event: e.Event, attempt: str) -> None:
        holders = self._holders.get(event.host)
        if holders is None:
            return
        if isinstance(event, e.SlotSet) and attempt not in holders:
            holders.append(attempt)
        elif isinstance(event, e.SlotOverwritten | e.SlotRemoved) and attempt in holders:
            holders.remove(attempt)

    def _gone(self, host: str) -> None:
        for attempt in dict.fromkeys((*self._process, *self._body)):
            if attempt.startswith(f"{host}#"):
                self._process[attempt] = self._body[attempt] = False
                self._bar(attempt)
        if host in self._holders:
            self._holders[host].clear()
