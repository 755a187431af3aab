"""Wraps what the user wrote, jobs' functions and hooks, so that their part is known.

An async function stays async and a sync one sync: that one is recorded in its thread, which may
outlive its job's task. A cancel is seen where the task is asked for it (`Cancel`): so one that the
body swallows counts, one that ends in saq's wrapper around a thread counts as well, and the body
itself runs at full speed; stepping each body by hand would show the same at ten times the cost.
"""

from __future__ import annotations

import asyncio
import functools
from typing import Any

from .failures import is_end, mark
from .state import Attempt, Probe


class Cancel:
    """Stands in for `cancel` on the task of one attempt's body.

    Asked twice before the event loop goes on (saq does, after a timeout), the body gets one cancel.
    """

    __slots__ = ("_attempt", "_delivered")

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._delivered = True

    def __call__(self, msg: Any = None) -> bool:
        """Note that a cancel reaches the body, and cancel the task."""
        context = self._attempt.context
        task = None if context is None else context["task"]
        if task is None or task.done():
            return False
        if self._delivered:
            self._delivered = False
            self._attempt.probe.cancelled(self._attempt)
            task.get_loop().call_soon(self._on_delivery)
        return bool(type(task).cancel(task, msg))

    def _on_delivery(self) -> None:
        self._delivered = True


def function(probe: Probe, original: Any) -> Any:
    """A job's function, sync or async as it was."""
    wrap = _async if asyncio.iscoroutinefunction(original) else _sync
    return functools.update_wrapper(wrap(probe, original), original)


def _async(probe: Probe, original: Any) -> Any:
    acting, began, ended = probe.acting, probe.body_began, probe.body_ended

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        attempt = acting()
        if attempt is None:
            return await original(*args, **kwargs)
        try:
            coroutine = original(*args, **kwargs)  # arguments that do not fit raise here
            began(attempt, 0)
            result = await coroutine
        except BaseException as error:
            _raised(probe, attempt, error)
            raise
        ended(attempt)
        return result

    return wrapper


def _sync(probe: Probe, original: Any) -> Any:
    acting, began, ended = probe.acting, probe.body_began, probe.body_ended

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        attempt = acting()
        if attempt is None:
            return original(*args, **kwargs)
        began(attempt, 1)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            _raised(probe, attempt, error)
            raise
        ended(attempt)
        return result

    return wrapper


def _raised(probe: Probe, attempt: Attempt, error: BaseException) -> None:
    if not is_end(error):
        mark(error, "body")
    if attempt.body_began:
        probe.body_raised(attempt, error)


def hook(original: Any) -> Any:
    """A user's before_process or after_process hook, already async in saq's list."""

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return await original(*args, **kwargs)
        except Exception as error:
            mark(error, "hook")
            raise

    return functools.update_wrapper(wrapper, original)
