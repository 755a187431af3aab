"""Chooses what a story tells: at most `limit` events of its scene, and a count of the rest.

What stays is what weighs most (`story_words`), then what is nearest to the moment at which it
broke. Events of the attempts that the finding is about weigh more than those of bystanders, and
what came after the break is told only where it follows from it. The finding's own events always
stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from chaos import event as e
from chaos.reports.story_scene import Scene, attempts_of
from chaos.reports.story_words import Said, Words

LIMIT = 40
_LEAST = 20  # lighter events are counted, not told
_OF_HOSTS = (
    e.HostBegan, e.HostStopping, e.HostEnded, e.UpkeepEnded, e.ErrorRaised, e.HostSignalled,
    e.HostExited, e.FaultInjected, e.FaultHealed,
)  # fmt: skip
_SLOT = (e.SlotSet, e.SlotOverwritten, e.SlotRemoved, e.SlotMissed)
_SEEN_BY_ITS_CALLS = ("sweep", "abort")
_EVIDENCE = 1_000
_PLURALS = {"retry": "retries", "finish": "finishes", "finish abort": "finishes of aborts"}


def slots_matter(scene: Scene) -> frozenset[str]:
    """The workers on which attempts of this job got into each other's way in the slot."""
    return frozenset(
        one.host
        for one in scene.events
        if isinstance(one, e.SlotOverwritten | e.SlotRemoved | e.SlotMissed)
        and scene.first_n <= one.n <= scene.last_n
        and (scene.proves(one) or not isinstance(one, e.SlotRemoved) or one.by != one.attempt)
        and any(name in scene.close for name in attempts_of(one))
    )


def chosen(scene: Scene, words: Words, limit: int = LIMIT) -> tuple[Said, ...]:
    """The events that the story tells, in words and in order."""
    slots = slots_matter(scene)
    concerned = hosts(scene)
    weighed: list[tuple[int, int, Said]] = []
    focus_n = _focus_n(scene)
    for event in scene.events:
        said = words.of(event) if _belongs(event, scene, concerned) else None
        if said is None:
            continue
        weight = _weight(said, scene, slots)
        if weight >= _LEAST:
            weighed.append((-weight, abs(event.n - focus_n), said))
    weighed.sort(key=lambda one: one[:2])
    kept = [said for _, _, said in weighed[:limit]]
    kept += _caught_before_active(scene, words, kept) if len(kept) < limit else []
    return tuple(sorted(kept, key=lambda said: said.event.n))


def left_out(scene: Scene, kept: Sequence[Said]) -> dict[int, str]:
    """Before which kept event (by number) what was left out, in words."""
    told = frozenset(said.event.n for said in kept)
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


# --- what belongs to the story --------------------------------------------------------------------


def hosts(scene: Scene) -> frozenset[str]:
    """The hosts that the story is about: those of its attempts, and whoever made its calls."""
    hosts = {one.host for one in scene.attempts} | {one.host for one in scene.evidence}
    for event in scene.events:
        within = scene.first_n <= event.n <= scene.last_n
        if within and isinstance(event, e.CallInvoked) and event.job and not event.attempt:
            hosts.add(event.host)
    return frozenset(hosts - {e.CONTROLLER})


def _belongs(event: e.Event, scene: Scene, hosts: frozenset[str]) -> bool:
    if scene.proves(event) or _is_its_enqueue(event, scene):
        return True
    if not scene.first_n <= event.n <= scene.last_n:
        return False
    if isinstance(event, e.FaultInjected | e.FaultHealed):
        target = getattr(event, "target", "")
        return event.fault not in _SEEN_BY_ITS_CALLS and (not target or target in hosts)
    if isinstance(event, _OF_HOSTS) and not getattr(event, "job", ""):
        return str(getattr(event, "target", event.host)) in hosts
    if isinstance(event, e.CallReturned):
        return event.outcome in ("fail", "cancelled")
    names = attempts_of(event)
    shown = {one.id for one in scene.attempts}
    return not names or any(name in shown for name in names)


def _is_its_enqueue(event: e.Event, scene: Scene) -> bool:
    """Whether it enqueued what the story is about, however long before."""
    if not isinstance(event, e.CallInvoked) or event.op != "enqueue" or event.n > scene.last_n:
        return False
    enqueues = {one.began.enqueue for one in scene.attempts}
    enqueues |= {getattr(one, "enqueue", 0) for one in scene.evidence}
    return bool(event.enqueue) and event.enqueue in enqueues


def _weight(said: Said, scene: Scene, slots: frozenset[str]) -> int:
    event, weight = said.event, said.weight
    if scene.proves(event):
        return _EVIDENCE
    if isinstance(event, _SLOT) and event.host not in slots:
        return 0
    names = attempts_of(event)
    if names and not any(name in scene.close for name in names):
        weight = weight * 6 // 10
    if scene.breaks is not None and event.n > scene.breaks.n:
        follows = bool(set(names) & set(attempts_of(scene.breaks)))
        decides = isinstance(event, e.CallInvoked) and event.op in ("retry", "finish", "abort")
        if not (follows or (decides and not names)):
            return 0
        weight //= 2
    return weight


def _focus_n(scene: Scene) -> int:
    """Where the story is densest: the break, or what last happened before an inspection."""
    if scene.breaks is None:
        return scene.last_n
    if not isinstance(scene.breaks, e.JobState):
        return scene.breaks.n
    before = [one.n for one in scene.evidence if not isinstance(one, e.JobState)]
    return max(before, default=scene.breaks.n)


def _caught_before_active(scene: Scene, words: Words, kept: Iterable[Said]) -> list[Said]:
    """The updates to ACTIVE that something happened before: a worker had the job, unmarked."""
    aborts = [
        said.event.n
        for said in kept
        if isinstance(said.event, e.CallInvoked) and said.event.op in ("abort", "finish", "retry")
    ]
    began = {one.id: one.began.n for one in scene.attempts}
    found: list[Said] = []
    for event in scene.events:
        if not isinstance(event, e.CallInvoked) or event.attempt not in began:
            continue
        if event.op == "update" and event.status == "active":
            caught = any(began[event.attempt] < n < event.n for n in aborts)
            said = words.of(event) if caught else None
            found += [said] if said is not None else []
    return found[:1]
