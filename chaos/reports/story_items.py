"""Chooses what a story tells: at most `limit` events of its scene, and a count of the rest.

What stays is what weighs most (`story_relevance`), then what is nearest to the moment at which it
broke. A call and its answer are told as one, if nobody else did anything in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from chaos import event as e
from chaos.reports.story_relevance import Relevance
from chaos.reports.story_scene import Scene
from chaos.reports.story_words import Said, Words

LIMIT = 40
_LEAST = 20  # lighter events are counted, not told
_PLURALS = {"retry": "retries", "finish": "finishes", "finish abort": "finishes of aborts"}


def chosen(
    scene: Scene, relevance: Relevance, words: Words, limit: int = LIMIT
) -> tuple[Said, ...]:
    """The events that the story tells, in words and in order."""
    weighed: list[tuple[int, int, Said]] = []
    for event in scene.events:
        said = words.of(event)
        weight = 0 if said is None else relevance.weight(said)
        if said is not None and weight >= _LEAST:
            weighed.append((-weight, abs(event.n - relevance.focus_n), said))
    weighed.sort(key=lambda one: one[:2])
    kept = [said for _, _, said in weighed[:limit]]
    if len(kept) < limit:
        kept += _caught_before_active(scene, words, kept)
    kept.sort(key=lambda said: said.event.n)
    return tuple(_with_answers(_without_doubles(kept)))


def hosts_in(kept: Iterable[Said], scene: Scene) -> tuple[str, ...]:
    """The hosts that are named when these events are told."""
    named = [one.host for one in scene.attempts]
    for said in kept:
        named += [said.event.host, str(getattr(said.event, "target", ""))]
    return tuple(dict.fromkeys(filter(None, named)))


def left_out(scene: Scene, kept: Sequence[Said]) -> dict[int, str]:
    """Before which kept event (by number) what was left out, in words."""
    told = frozenset(n for said in kept for n in said.numbers)
    numbers = sorted(told)
    between: dict[int, Counter[str]] = {}
    place = 0
    for event in scene.events:
        if not numbers or not numbers[0] < event.n < numbers[-1]:
            continue
        while numbers[place] < event.n:
            place += 1
        kind = _kind_of(event, scene)
        if event.n not in told and kind:
            between.setdefault(numbers[place], Counter())[kind] += 1
    return {n: _counted(counts) for n, counts in between.items()}


def _counted(counts: Counter[str]) -> str:
    return ", ".join(
        f"{count} {kind if count == 1 else _PLURALS.get(kind, f'{kind}s')}"
        for kind, count in sorted(counts.items())
    )


def _kind_of(event: e.Event, scene: Scene) -> str:
    """What an event that is not told is counted as; empty for what is part of something told."""
    if not getattr(event, "job", ""):
        return ""
    shown = {one.id for one in scene.attempts}
    if isinstance(event, e.CallInvoked):
        known = not event.attempt or event.attempt in shown
        if not known or (event.op == "update" and event.status == "active"):
            return ""
        return event.op.replace("_", " ")
    if isinstance(event, e.AttemptBegan) and event.attempt not in shown:
        return "other attempt"
    return ""


def _without_doubles(kept: Sequence[Said]) -> Iterator[Said]:
    """A context that overwrites another one is registered by the same act: told once."""
    implied: e.Event | None = None
    for place, said in enumerate(kept):
        after = kept[place + 1].event if place + 1 < len(kept) else None
        doubled = isinstance(said.event, e.SlotSet) and isinstance(after, e.SlotOverwritten)
        if doubled and getattr(after, "by", "") == getattr(said.event, "attempt", ""):
            implied = said.event
            continue
        yield said if implied is None else msgspec.structs.replace(said, also=(implied,))
        implied = None


def _with_answers(kept: Iterable[Said]) -> Iterator[Said]:
    """A call and its answer are one thing, if nobody else did anything in between."""
    before: Said | None = None
    for said in kept:
        if before is not None and _is_answer(said, before):
            says = before.says
            if getattr(said.event, "op", "") != "enqueue":
                says = f"{says} (Redis confirms it)"
            before = msgspec.structs.replace(before, also=(*before.also, said.event), says=says)
            continue
        if before is not None:
            yield before
        before = said
    if before is not None:
        yield before


def _is_answer(said: Said, before: Said) -> bool:
    invoked, returned = before.event, said.event
    return (
        isinstance(invoked, e.CallInvoked)
        and isinstance(returned, e.CallReturned)
        and (invoked.host, invoked.call) == (returned.host, returned.call)
        and returned.outcome in ("ok", "empty")
    )


def _caught_before_active(scene: Scene, words: Words, kept: Iterable[Said]) -> list[Said]:
    """The first update to ACTIVE that something came before: a worker had the job, unmarked."""
    calls = [said.event for said in kept if isinstance(said.event, e.CallInvoked)]
    caught_by = [one.n for one in calls if one.op in ("abort", "finish", "retry")]
    began = {one.id: one.began.n for one in scene.attempts}
    for event in scene.events:
        if not isinstance(event, e.CallInvoked) or event.attempt not in began:
            continue
        if event.op == "update" and event.status == "active":
            said = words.of(event)
            if said is not None and any(began[event.attempt] < n < event.n for n in caught_by):
                return [said]
    return []
