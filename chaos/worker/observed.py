"""The observing mapping that stands in for `Worker.job_task_contexts`.

It delegates to whatever mapping is there (saq's dict, a patch's, a user's), stores saq's own
context object (0.26.4 compares identity), and records which attempt's context came, went, was
pushed out or was missed. The common path compares lengths only; what a set or a removal did beside
its own slot is found by comparing all contexts that are still reachable.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from .events import Kind
from .functions import Cancel
from .joined import ACTIVE, COMPLETE, REGISTERED, REMOVED, settle
from .state import ATTEMPT, Attempt, Probe

_SET = int(Kind.SLOT_SET)
_REMOVED = int(Kind.SLOT_REMOVED)


class ObservedContexts(MutableMapping[Any, Any]):
    """A mapping that says what happens to it. Attributes it does not have are the inner one's."""

    def __init__(self, probe: Probe, inner: Any) -> None:
        self._probe = probe
        self._inner = inner
        self._asked: Any = None  # the job that get() was last asked for, and what it found
        self._found: Any = None

    def __setitem__(self, job: Any, context: Any) -> None:
        inner = self._inner
        before = len(inner)
        inner[job] = context
        attempt = ATTEMPT.get()
        probe = self._probe
        if attempt is None or not attempt.number:
            return
        attempt.context = context
        attempt.reachable = True
        probe.live[attempt.number] = attempt
        if attempt.place == ACTIVE and job.function not in probe.in_threads:
            attempt.place = REGISTERED
        else:
            if attempt.place:
                settle(attempt)
            probe.record(_SET, attempt.job, attempt.number)
        if len(inner) == before:
            self._find_lost(Kind.SLOT_OVERWRITTEN, attempt.number)
        try:
            context["task"].cancel = Cancel(attempt)
        except Exception as error:
            probe.blind("bodies", f"the task of an attempt cannot be watched: {error!r}")

    def __getitem__(self, job: Any) -> Any:
        try:
            return self._inner[job]
        except KeyError:
            self._missed(job)
            raise

    def get(self, job: Any, default: Any = None) -> Any:
        """As the inner mapping's; saq 0.26.4 asks for its own context before it deletes it."""
        found = self._inner.get(job, default)
        self._asked, self._found = job, found
        return found

    def pop(self, job: Any, *default: Any) -> Any:
        """As the inner mapping's."""
        before = len(self._inner)
        try:
            context = self._inner.pop(job, *default)
        except KeyError:
            self._missed(job)
            raise
        if len(self._inner) != before:
            self._removed(context)
        return context

    def __delitem__(self, job: Any) -> None:
        inner = self._inner
        context = self._found if self._asked is job else inner.get(job)
        self._asked = self._found = None
        before = len(inner)
        try:
            del inner[job]
        except KeyError:
            self._missed(job)
            raise
        if len(inner) != before:
            self._removed(context)

    def __contains__(self, job: object) -> bool:
        return job in self._inner

    def __iter__(self) -> Iterator[Any]:
        return iter(self._inner)

    def __len__(self) -> int:
        return len(self._inner)

    def values(self) -> Any:
        """The inner mapping's."""
        return self._inner.values()

    def items(self) -> Any:
        """The inner mapping's."""
        return self._inner.items()

    def __repr__(self) -> str:
        return repr(self._inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _missed(self, job: Any) -> None:
        attempt = ATTEMPT.get()
        if attempt is not None and attempt.probe is self._probe:
            if attempt.place:
                settle(attempt)
            self._probe.record(Kind.SLOT_MISSED, job.key, attempt.number)

    def _removed(self, context: Any) -> None:
        """One context has left; usually the caller's own."""
        attempt = ATTEMPT.get()
        if attempt is not None and attempt.context is context and attempt.reachable:
            attempt.reachable = False
            if attempt.place == COMPLETE:
                attempt.place = REMOVED
                return
            if attempt.place:
                settle(attempt)
            number = attempt.number
            self._probe.record(_REMOVED, attempt.job, number, 0, number)
        else:
            self._find_lost(Kind.SLOT_REMOVED, attempt.number if attempt is not None else 0)

    def _find_lost(self, kind: Kind, by: int) -> None:
        """Record each live attempt whose context can no longer be reached, and who did that."""
        self._settle(self._probe.live.get(by))
        reachable = {id(context) for context in self._inner.values()}
        for number, attempt in self._probe.live.items():
            if attempt.reachable and id(attempt.context) not in reachable:
                attempt.reachable = False
                self._settle(attempt)
                self._probe.record(kind, attempt.job, number, number=by)

    def _settle(self, attempt: Attempt | None) -> None:
        if attempt is not None and attempt.place:
            settle(attempt)
