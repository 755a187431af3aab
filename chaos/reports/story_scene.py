"""Sets the scene of a story: which events, which attempts, from when to when, and where it breaks.

    Finding + History ──► the variant's events about this job and its hosts
                      ──► the attempts that the finding names, those that met them in the slot,
                          and a few that were alive meanwhile
                      ──► the event at which the promise breaks

General rules over kinds of events: nothing here knows one bug. What it does not do: choose among
the events of the scene (`story_items`) and word them (`story_words`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from chaos import event as e
from chaos.history import History, concerns
from chaos.timeline import Timeline
from chaos.timeline.attempts import Attempt
from chaos.verdict import Finding

ATTEMPTS_SHOWN = 4
CLOSE_MAX = 12
FIRST, LAST = 4, 8  # of a finding with very many events
AFTERMATH_US = 2_000_000
_STAGE = (
    e.HostBegan, e.HostStopping, e.HostEnded, e.UpkeepEnded, e.ErrorRaised, e.FaultInjected,
    e.FaultHealed, e.HostSignalled, e.HostExited, e.LimitReached,
)  # fmt: skip
_BROKEN_BY: dict[str, tuple[type[e.Event], ...]] = {
    "late": (e.BodyCancelled,),
    "misdirected": (e.BodyCancelled,),
    "stray": (e.BodyCancelled,),
    "ignored": (e.CallInvoked,),
    "lost": (e.JobState, e.BodyEnded, e.HostEnded, e.HostExited),
}
_FIRST_OF = (e.ErrorRaised, e.UpkeepEnded, e.SlotOverwritten, e.SlotRemoved)


class Scene(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a story is told from.

    Attributes:
        events: of the variant, about this job or its hosts, in order.
        evidence: the events that prove the finding, or the first and the last few of very many.
        attempts: those that the story shows, in the order in which they began.
        close: those among them that the finding is about, by id.
        hidden: how many more attempts of the job were alive meanwhile.
        earlier: how many attempts of the same enqueue came before the first one shown.
        breaks: the event at which the promise breaks, if the history has it.
        first_n, last_n: the events that the story may tell of.
    """

    finding: Finding
    variant: str
    job: str
    events: tuple[e.Event, ...]
    evidence: tuple[e.Event, ...]
    attempts: tuple[Attempt, ...]
    close: frozenset[str]
    hidden: int
    earlier: int
    breaks: e.Event | None
    first_n: int
    last_n: int

    def proves(self, event: e.Event) -> bool:
        """Whether the finding points at this event."""
        return any(event.n == one.n for one in self.evidence)


def set_up(history: History, finding: Finding, variant: str = "") -> Scene:
    """The scene of a finding. `variant` is needed only if its events do not say."""
    evidence = _few(history[n - 1] for n in sorted(finding.events) if 0 < n <= len(history))
    variant = _variant(evidence, variant, history)
    job = finding.job or next(filter(None, (_job(one) for one in evidence)), "")
    kept = frozenset(one.n for one in evidence)
    events = tuple(
        one for one in history if one.n in kept or (_is_about(one, job) and concerns(one, variant))
    )
    timeline = Timeline(variant, 0)
    for one in events:
        timeline.feed(one)
    breaks = breaking_point(finding, evidence)
    attempts = [one for one in timeline.attempts.by_id.values() if one.job == job]
    close = _close(attempts, evidence, breaks, events)
    first_n = _first_n(attempts, close, evidence)
    last_n = _last_n(evidence, breaks, timeline, events)
    shown, hidden = _shown(attempts, close, first_n, breaks)
    return Scene(
        finding=finding, variant=variant, job=job, events=events, evidence=evidence,
        attempts=shown, close=close, hidden=hidden, earlier=_earlier(attempts, shown),
        breaks=breaks, first_n=first_n, last_n=last_n,
    )  # fmt: skip


def breaking_point(finding: Finding, evidence: Sequence[e.Event]) -> e.Event | None:
    """The event at which the promise breaks: by the finding's kind, else by kinds of events."""
    for kind in _BROKEN_BY.get(finding.kind, ()):
        found = [one for one in evidence if isinstance(one, kind)]
        if found:
            return found[-1]
    if finding.kind == "leaked" and len(evidence) > 1:
        return evidence[1]
    for kind in _FIRST_OF:
        found = [one for one in evidence if isinstance(one, kind)]
        if found:
            return found[0]
    bodies = [one for one in evidence if isinstance(one, e.BodyBegan)]
    if len(bodies) > 1:
        return bodies[-1]
    return evidence[-1] if evidence else None


def _few(evidence: Iterable[e.Event]) -> tuple[e.Event, ...]:
    """All of it, or where it began and where it ended."""
    known = tuple(evidence)
    return known if len(known) <= FIRST + LAST else (*known[:FIRST], *known[-LAST:])


def attempts_of(event: e.Event) -> tuple[str, ...]:
    """The attempts that an event names."""
    named = (getattr(event, "attempt", ""), getattr(event, "by", ""))
    return tuple(dict.fromkeys(filter(None, named)))


def _variant(evidence: Sequence[e.Event], variant: str, history: History) -> str:
    for one in evidence:
        if one.variant:
            return one.variant
    if variant:
        return variant
    return next((str(getattr(one, "of", "")) for one in evidence if getattr(one, "of", "")),
                next(iter(history.variants()), ""))  # fmt: skip


def _job(event: e.Event) -> str:
    return str(getattr(event, "job", ""))


def _is_about(event: e.Event, job: str) -> bool:
    key = _job(event)
    if key:
        return key == job
    if isinstance(event, e.CallInvoked | e.CallReturned):
        return event.op == "sweep"
    return isinstance(event, _STAGE)


# --- which attempts -------------------------------------------------------------------------------


def _close(
    attempts: Sequence[Attempt],
    evidence: Sequence[e.Event],
    breaks: e.Event | None,
    events: Sequence[e.Event],
) -> frozenset[str]:
    """The attempts that the finding names, and those that met them in the slot before it broke."""
    known = [one.id for one in attempts]
    named = [one for each in evidence for one in attempts_of(each) if one in known]
    close = list(dict.fromkeys(named)) or _last_of_its_enqueue(attempts, evidence)
    last_n = breaks.n if breaks is not None else 0
    links = [
        (one.attempt, one.by)
        for one in events
        if isinstance(one, e.SlotOverwritten | e.SlotRemoved) and one.n <= last_n
    ]
    for _ in range(2):  # who met them, and who met those
        for pair in reversed(links):
            if len(close) < CLOSE_MAX and sum(one in close for one in pair) == 1:
                close += [one for one in pair if one in known and one not in close]
    return frozenset(close)


def _last_of_its_enqueue(attempts: Sequence[Attempt], evidence: Sequence[e.Event]) -> list[str]:
    enqueues = enqueues_of(evidence)
    same = [one.id for one in attempts if one.began.enqueue in enqueues]
    return same[-2:]


def enqueues_of(evidence: Sequence[e.Event]) -> frozenset[int]:
    """Which enqueues of the key a finding is about; an inspection may have found another one."""
    told = [one for one in evidence if not isinstance(one, e.JobState)] or evidence
    return frozenset(filter(None, (getattr(one, "enqueue", 0) for one in told)))


def _first_n(
    attempts: Sequence[Attempt], close: frozenset[str], evidence: Sequence[e.Event]
) -> int:
    """Where the story begins: the enqueue itself may lie long before and is told anyway."""
    began = [one.began.n for one in attempts if one.id in close]
    proof = [
        one.n
        for one in evidence
        if not (began and isinstance(one, e.CallInvoked | e.CallReturned) and one.op == "enqueue")
    ]
    return min([*began, *proof], default=1)


def _shown(
    attempts: Sequence[Attempt], close: frozenset[str], first_n: int, breaks: e.Event | None
) -> tuple[tuple[Attempt, ...], int]:
    """The close ones, and as many as there is room for of those alive meanwhile."""
    last_n = breaks.n if breaks is not None else first_n
    meanwhile = [
        one
        for one in attempts
        if one.id not in close and one.began.n < last_n and _ended_n(one) > first_n
    ]
    meanwhile.sort(key=lambda one: last_n - one.began.n)
    if not close and breaks is not None:  # it never ran: what ran meanwhile is not its story
        return (), 0
    room = max(0, ATTEMPTS_SHOWN - len(close))
    chosen = close | {one.id for one in meanwhile[:room]}
    return tuple(one for one in attempts if one.id in chosen), max(0, len(meanwhile) - room)


def _ended_n(attempt: Attempt) -> float:
    return float("inf") if attempt.over is None else attempt.over.n


def _earlier(attempts: Sequence[Attempt], shown: Sequence[Attempt]) -> int:
    if not shown:
        return 0
    first = shown[0].began
    before = [one for one in attempts if one.began.n < first.n]
    return sum(one.began.enqueue == first.enqueue for one in before)


def _last_n(
    evidence: Iterable[e.Event],
    breaks: e.Event | None,
    timeline: Timeline,
    events: Sequence[e.Event],
) -> int:
    """The last of the evidence, or the end of the attempt that broke if that came soon after."""
    last_n = max((one.n for one in evidence), default=0)
    if breaks is None:
        return last_n or (events[-1].n if events else 0)
    for name in attempts_of(breaks):
        attempt = timeline.attempts.by_id.get(name)
        ends = [attempt.process_over, attempt.body_over] if attempt is not None else []
        for end in filter(None, ends):
            if end.t_us <= breaks.t_us + AFTERMATH_US:
                last_n = max(last_n, end.n)
    return last_n
