"""Wraps what the user wrote, jobs' functions and hooks, so that their part is known.

A sync function stays sync and is recorded in its thread: the thread may outlive its job's task. An
async function is driven step by step, so that each cancel delivered to it is seen, also one that it
swallows. Calling a wrapper calls the function: a wrong argument raises where it did before.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from .failures import is_end, mark
from .state import Attempt, Probe


class Body(Coroutine[Any, Any, Any]):
    """The coroutine of a job's function, stepped on behalf of its task."""

    __slots__ = ("_attempt", "_coroutine", "_state")

    def __init__(self, attempt: Attempt, coroutine: Any) -> None:
        self._attempt = attempt
        self._coroutine = coroutine
        self._state = 0  # 0: not begun; 1: began; 2: ended

    def __next__(self) -> Any:
        if not self._state:
            self._state = 1
            self._attempt.probe.body_began(self._attempt, thread=False)
        try:
            return self._coroutine.send(None)
        except StopIteration:
            self._state = 2
            self._attempt.probe.body_ended(self._attempt)
            raise
        except BaseException as error:
            self._raised(error)
            raise

    def send(self, value: Any) -> Any:
        """One step."""
        if value is None:
            return self.__next__()
        return self._step(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        """One step with an exception: how a task delivers a cancel."""
        if isinstance(error[0], asyncio.CancelledError) or error[0] is asyncio.CancelledError:
            self._attempt.probe.cancelled(self._attempt)
        return self._step(self._coroutine.throw, *error)

    def close(self) -> None:
        """The task was thrown away."""
        if self._state == 1:
            self._raised(GeneratorExit())
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self

    def __iter__(self) -> Body:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)  # cr_frame and the like: stacks of a task

    def _step(self, step: Callable[..., Any], *args: Any) -> Any:
        try:
            return step(*args)
        except StopIteration:
            self._state = 2
            self._attempt.probe.body_ended(self._attempt)
            raise
        except BaseException as error:
            self._raised(error)
            raise

    def _raised(self, error: BaseException) -> None:
        """A body that was cancelled before its first step never began, so it does not end."""
        if not is_end(error):
            mark(error, "body")
        if self._state == 1:
            self._attempt.probe.body_ended(self._attempt, error)
        self._state = 2


def function(probe: Probe, original: Any) -> Any:
    """A job's function, sync or async as it was."""
    if asyncio.iscoroutinefunction(original):
        return _async(probe, original)
    return _sync(probe, original)


def _async(probe: Probe, original: Any) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        attempt = probe.acting()
        if attempt is None:
            return original(*args, **kwargs)
        try:
            return Body(attempt, original(*args, **kwargs))
        except Exception as error:
            mark(error, "body")
            raise

    return as_coroutine_function(functools.update_wrapper(wrapper, original))


def _sync(probe: Probe, original: Any) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        attempt = probe.acting()
        if attempt is None:
            return original(*args, **kwargs)
        probe.body_began(attempt, thread=True)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            if not is_end(error):
                mark(error, "body")
            probe.body_ended(attempt, error)
            raise
        probe.body_ended(attempt)
        return result

    return functools.update_wrapper(wrapper, original)


def as_coroutine_function(wrapper: Any) -> Any:
    """Make saq take a plain function that returns a coroutine for an async one."""
    if hasattr(inspect, "markcoroutinefunction"):
        return inspect.markcoroutinefunction(wrapper)
    wrapper._is_coroutine = asyncio.coroutines._is_coroutine  # type: ignore[attr-defined]
    return wrapper


def hook(original: Any) -> Any:
    """A user's before_process or after_process hook, already async in saq's list."""

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return await original(*args, **kwargs)
        except Exception as error:
            mark(error, "hook")
            raise

    return functools.update_wrapper(wrapper, original)
