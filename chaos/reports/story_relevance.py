"""How much each event of a scene matters to its story.

    the finding's own events             always told
    the attempts that it is about        their weight in `story_words`
    bystanders of the same job           less
    calls on the key by anybody          if an attempt it is about was alive then, or they put one
                                         of the attempts in the queue; less otherwise
    what happened to a host              if an attempt of the job was alive there
    after the break                      only what follows from it, and less

The same rules for every promise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaos import event as e
from chaos.reports.story_scene import Scene, attempts_of, enqueues_of
from chaos.reports.story_words import Said

EVIDENCE = 1_000
SLOT_EVENTS = (e.SlotSet, e.SlotOverwritten, e.SlotRemoved, e.SlotMissed)
_OF_HOSTS = (
    e.HostStopping, e.HostEnded, e.UpkeepEnded, e.ErrorRaised, e.HostSignalled, e.HostExited,
)  # fmt: skip
_SEEN_OTHERWISE = ("sweep", "abort", "rolling_restart")  # their calls and signals are told
_SOON_US = 2_000_000  # a worker that ends so soon after may have had the job in its hands
_FOREVER = 1 << 62
_Spans = dict[str, list[tuple[int, int]]]


class Relevance:
    """The rules, with what they need to know of one scene.

    Attributes:
        focus_n: the event around which the story is densest.
        enqueue_n: the event that enqueued the job; 0 if the history does not have it.
        slots: the workers on which attempts got into each other's way in the slot.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.focus_n = _focus_n(scene)
        self.slots = _slots_in_dispute(scene)
        self._shown = frozenset(one.id for one in scene.attempts)
        self._enqueues = enqueues_of(scene.evidence) | {
            one.began.enqueue for one in scene.attempts if one.began.enqueue
        }
        self._about = enqueues_of(scene.evidence) | {
            one.began.enqueue for one in scene.attempts if one.id in scene.close
        }
        self._alive = [
            (one.began.n, scene.last_n if one.over is None else one.over.n)
            for one in scene.attempts
            if one.id in scene.close
        ]
        self.enqueue_n = next(
            (
                one.n
                for one in scene.events
                if isinstance(one, e.CallInvoked)
                and one.op == "enqueue"
                and one.enqueue in self._about
            ),
            0,
        )
        self._causes = _causes(scene, self._about)
        self._hosts = _spans(scene, self.focus_n, self._about)

    def forget_slots(self) -> bool:
        """Leave the slots out, if the finding is not about them; whether that changed anything."""
        about_them = (*SLOT_EVENTS, e.ErrorRaised, e.BodyCancelled)
        if not self.slots or any(isinstance(one, about_them) for one in self._scene.evidence):
            return False
        self.slots = frozenset()
        return True

    def weight(self, said: Said) -> int:
        """How much a story needs this event; 0 for one that does not belong to it."""
        event = said.event
        if self._scene.proves(event):
            return EVIDENCE
        if not self._belongs(event):
            return 0
        names = attempts_of(event)
        weight = said.weight
        if names and not any(name in self._scene.close for name in names):
            weight = weight * 6 // 10
        if not names and not self._began_it(event) and not self._concerns(event):
            weight = weight * 3 // 10
        breaks = self._scene.breaks
        if breaks is not None and event.n > breaks.n:
            return weight // 2 if self._follows(event, names, breaks) else 0
        return weight

    def _belongs(self, event: e.Event) -> bool:
        if event.n in self._causes or self._began_it(event):
            return True
        if not self._scene.first_n <= event.n <= self._scene.last_n:
            return False
        if isinstance(event, SLOT_EVENTS) and event.host not in self.slots:
            return False
        if isinstance(event, e.FaultInjected | e.FaultHealed):
            target = str(getattr(event, "target", ""))
            seen = event.fault in _SEEN_OTHERWISE
            return not seen and (not target or target in self._hosts)
        if isinstance(event, _OF_HOSTS) and not getattr(event, "job", ""):
            return self._meets(event, str(getattr(event, "target", event.host)))
        if isinstance(event, e.CallReturned):
            return bool(event.job) and event.outcome in ("fail", "cancelled")
        names = attempts_of(event)
        return not names or any(name in self._shown for name in names)

    def _began_it(self, event: e.Event) -> bool:
        """Whether it enqueued what the story is about, however long before, or began a lane."""
        if isinstance(event, e.AttemptBegan):
            return event.attempt in self._shown
        if not isinstance(event, e.CallInvoked) or event.op != "enqueue":
            return False
        return event.enqueue in self._enqueues and event.n <= self._scene.last_n

    def _concerns(self, event: e.Event) -> bool:
        """Whether it is no call on the key, or has to do with what the story is about."""
        if not isinstance(event, e.CallInvoked):
            return True
        if event.n in self._causes or not (self._alive or self._about):
            return True
        if any(begin <= event.n <= end for begin, end in self._alive):
            return True
        last_n = max((end for _, end in self._alive), default=0)
        return event.n > last_n and event.enqueue in self._about

    def _meets(self, event: e.Event, host: str) -> bool:
        """Whether what happened to a host touched the job."""
        if not self._hosts:
            return True
        anywhere = self._hosts.get("", []) if "/worker-" in host else []
        mine = [*self._hosts.get(host, []), *anywhere]
        return any(begin <= event.n <= end for begin, end in mine)

    def _follows(self, event: e.Event, names: Sequence[str], breaks: e.Event) -> bool:
        """Whether something after the break is told: of the attempt that broke, or a decision."""
        decides = isinstance(event, e.CallInvoked) and event.op in ("retry", "finish", "abort")
        return any(name in attempts_of(breaks) for name in names) or (decides and not names)


def _slots_in_dispute(scene: Scene) -> frozenset[str]:
    """The workers on which attempts of this job got into each other's way in the slot."""
    return frozenset(
        one.host
        for one in scene.events
        if isinstance(one, SLOT_EVENTS)
        and scene.first_n <= one.n <= scene.last_n
        and (scene.proves(one) or not _is_its_own(one))
        and any(name in scene.close for name in attempts_of(one))
    )


def _is_its_own(event: e.Event) -> bool:
    """Whether an attempt does to the slot what every attempt does."""
    if isinstance(event, e.SlotRemoved):
        return event.by == event.attempt
    return isinstance(event, e.SlotSet)


def _focus_n(scene: Scene) -> int:
    """Where the story is densest: the break, or what last happened before an inspection."""
    if scene.breaks is None:
        return scene.last_n
    if not isinstance(scene.breaks, e.JobState):
        return scene.breaks.n
    before = [one.n for one in scene.evidence if not isinstance(one, e.JobState)]
    return max(before, default=scene.breaks.n)


def _causes(scene: Scene, about: frozenset[int]) -> frozenset[int]:
    """The calls that put the shown attempts in the queue, with the abort that came before."""
    causes: set[int] = set()
    aborts: dict[tuple[str, int], int] = {}
    began = frozenset(one.began.n for one in scene.attempts)
    waiting: e.CallInvoked | None = None
    for event in scene.events:
        if isinstance(event, e.CallInvoked) and event.op == "abort":
            aborts[event.host, event.parent] = event.n
        elif isinstance(event, e.CallInvoked) and event.op in ("enqueue", "retry"):
            waiting = event
        elif event.n in began and waiting is not None:
            causes.add(waiting.n)
            if waiting.parent and event.n >= scene.first_n:
                causes.add(aborts.get((waiting.host, waiting.parent), 0))
    if isinstance(scene.breaks, e.JobState):
        causes.update(_successor(scene.events, about))
    return frozenset(causes)


def _successor(events: Sequence[e.Event], about: frozenset[int]) -> Iterator[int]:
    """The enqueue of the same key that came next, after the last that is known of this one."""
    last_n = max((one.n for one in events if getattr(one, "enqueue", 0) in about), default=0)
    after = (one for one in events if isinstance(one, e.CallReturned) and one.n > last_n)
    accepted = next((one for one in after if one.op == "enqueue" and one.outcome == "ok"), None)
    if accepted is not None:
        called = (accepted.host, accepted.call)
        calls = (one for one in events if isinstance(one, e.CallInvoked))
        yield from (one.n for one in calls if (one.host, one.call) == called)


def _spans(scene: Scene, focus_n: int, about: frozenset[int]) -> _Spans:
    """When each host had a hand in the job: an attempt alive there, a call on it not decided.

    If the job never ran, any worker that ended soon after the last call on it may have had it: that
    is kept under the empty name.
    """
    spans: _Spans = {}
    for attempt in scene.attempts:
        over_n = _FOREVER if attempt.over is None else attempt.over.n
        spans.setdefault(attempt.host, []).append((attempt.began.n, over_n))
    calls = [one for one in scene.events if isinstance(one, e.CallReturned)]
    returned = {(one.host, one.call): one.n for one in calls}
    for one in scene.events:
        if not isinstance(one, e.CallInvoked) or one.op not in ("abort", "finish_abort"):
            continue
        if one.job and one.enqueue in (0, *sorted(about)):
            over_n = returned.get((one.host, one.parent or one.call), _FOREVER)
            spans.setdefault(one.host, []).append((one.n, over_n))
    if not scene.attempts and scene.job:
        spans[""] = [_soon_after(focus_n, scene.events)]
    return spans


def _soon_after(n: int, events: Sequence[e.Event]) -> tuple[int, int]:
    start_us = next((one.t_us for one in events if one.n >= n), 0)
    soon = [one.n for one in events if start_us <= one.t_us <= start_us + _SOON_US]
    return n, max(soon, default=n)
