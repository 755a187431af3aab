"""What `Worker.job_task_contexts` can be instead of a dict: one mapping per repair.

saq keys its dict by `Job`, whose hash is its key, so two attempts of one key in one worker share a
slot. Each `process()` call runs in a task of its own, so a mapping that knows the current task can
give each attempt its own view, with no copy of saq's code:

    ByKeyContexts     one slot a key; the newest attempt takes it over (and so does its removal)
    ByIdContexts      one slot an attempt
    GuardedContexts   one slot a key, as in saq 0.26.4: an attempt reads what it has registered
                      itself, and removes the slot only if the slot still holds that

Iteration, `len`, `values` and `items` are the shared view that `Worker.abort` has; so is `[job]`
from outside a `process()` call, where the job may be a fresh copy of it. These mappings import no
saq and hold an attempt's context no longer than saq does.
"""

from __future__ import annotations

import asyncio
from collections.abc import ItemsView, Iterator, MutableMapping, ValuesView
from contextlib import contextmanager
from typing import Any, Protocol, TypedDict


class Keyed(Protocol):
    """A saq Job, as far as these mappings need one: hashable, equal by its key."""

    key: str

    def __hash__(self) -> int:
        """The hash of the key."""


class TaskContext(TypedDict):
    """saq's JobTaskContext: the body's task, and why it was aborted (None: it was not)."""

    task: asyncio.Task[Any]
    aborted: str | None


class ByKeyContexts(MutableMapping[Keyed, TaskContext]):
    """One slot a key. Unlike saq's dict it also takes the newest attempt's Job."""

    def __init__(self) -> None:
        self._slots: dict[str, tuple[Keyed, TaskContext]] = {}

    def __getitem__(self, job: Keyed) -> TaskContext:
        return self._slots[job.key][1]

    def __setitem__(self, job: Keyed, context: TaskContext) -> None:
        self._slots[job.key] = (job, context)

    def __delitem__(self, job: Keyed) -> None:
        del self._slots[job.key]

    def __iter__(self) -> Iterator[Keyed]:
        return iter([job for job, _ in self._slots.values()])

    def __len__(self) -> int:
        return len(self._slots)


class _AttemptContexts(MutableMapping[Keyed, TaskContext]):
    """Base of the mappings that tell an attempt of this worker from everybody else."""

    def __init__(self) -> None:
        self._own: dict[asyncio.Task[Any], TaskContext | None] = {}

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """The current task is one `process()` call until the block ends."""
        task = asyncio.current_task()
        assert task is not None, "process() runs in a task"
        nested = task in self._own
        self._own.setdefault(task, None)
        try:
            yield
        finally:
            if not nested:
                del self._own[task]

    def inside(self) -> bool:
        """Whether the caller is a `process()` call, not abort(), a body or another thread."""
        return _current_task() in self._own

    def own(self) -> TaskContext | None:
        """What the calling attempt has registered and not removed yet."""
        task = _current_task()
        return None if task is None else self._own.get(task)

    def _take(self, context: TaskContext | None) -> None:
        task = _current_task()
        if task in self._own:
            self._own[task] = context


class ByIdContexts(_AttemptContexts):
    """One slot an attempt: keyed by the identity of its Job, which is kept."""

    def __init__(self) -> None:
        super().__init__()
        self._slots: dict[int, tuple[Keyed, TaskContext]] = {}

    def of(self, key: str) -> list[TaskContext]:
        """The contexts of all local attempts of a key, oldest first."""
        return [context for job, context in self._slots.values() if job.key == key]

    def __getitem__(self, job: Keyed) -> TaskContext:
        return self._slots[self._find(job)][1]

    def __setitem__(self, job: Keyed, context: TaskContext) -> None:
        self._slots[id(job)] = (job, context)
        self._take(context)

    def __delitem__(self, job: Keyed) -> None:
        del self._slots[self._find(job)]
        self._take(None)

    def __iter__(self) -> Iterator[Keyed]:
        return iter([job for job, _ in self._slots.values()])

    def __len__(self) -> int:
        return len(self._slots)

    def _find(self, job: Keyed) -> int:
        """The slot of this very Job; for a copy of it, the newest attempt's of that key."""
        if id(job) in self._slots:
            return id(job)
        if not self.inside():
            for place, (kept, _) in reversed(self._slots.items()):
                if kept.key == job.key:
                    return place
        raise KeyError(job)


class GuardedContexts(_AttemptContexts):
    """saq's dict, keyed by Job, behind a guard: no attempt reads or removes another's context.

    An overwritten attempt is out of abort()'s reach, and the slot keeps the first attempt's Job,
    both as in saq 0.26.4.
    """

    def __init__(self) -> None:
        super().__init__()
        self._slots: dict[Keyed, TaskContext] = {}

    def __getitem__(self, job: Keyed) -> TaskContext:
        if not self.inside():
            return self._slots[job]
        own = self.own()
        if own is None:
            raise KeyError(job)
        return own

    def __setitem__(self, job: Keyed, context: TaskContext) -> None:
        self._slots[job] = context
        self._take(context)

    def __delitem__(self, job: Keyed) -> None:
        if not self.inside():
            del self._slots[job]
            return
        own = self[job]
        self._take(None)
        if self._slots.get(job) is own:
            del self._slots[job]

    def __iter__(self) -> Iterator[Keyed]:
        return iter(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    def values(self) -> ValuesView[TaskContext]:
        """The slots' contexts, whoever asks."""
        return self._slots.values()

    def items(self) -> ItemsView[Keyed, TaskContext]:
        """The slots, whoever asks."""
        return self._slots.items()


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # a thread without an event loop
        return None
