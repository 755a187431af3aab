"""The job's function of an exported test: attempts that begin, stand still, and end when let go.

A class as text, with no more in it than the steps of that test need: cancels, errors of its own,
and what is counted for its promise.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.explore import steps as s
from chaos.explore.steps import Step


def attempts(promise: str, steps: tuple[Step, ...]) -> str:
    """The class whose method is the job's function, with no more in it than this test needs."""
    cancels, raises = has(steps, s.Cancelled), any(_raising(steps))
    errors = promise == "no-internal-errors"
    lines = [
        *([_OWN_ERROR] if raises else []),
        "class Attempts:",
        f'    """{_ATTEMPTS}"""',
        "",
        "    def __init__(self):",
        "        self.count = 0",
        "        self.begun = defaultdict(asyncio.Event)",
        *(["        self.cancelled = defaultdict(asyncio.Event)"] if cancels else []),
        "        self.let_go = defaultdict(asyncio.Event)",
        *_INITS[promise],
        "",
        "    async def function(self, ctx):",
        "        self.count += 1",
        "        number = self.count",
        *_COUNTS[promise],
        "        self.begun[number].set()",
        *_waiting(steps, counted=not errors),
        *_raising(steps),
        "        return number",
        *(_noting(raises) if errors else []),
    ]
    return "\n".join(lines)


_ATTEMPTS = "The job's function: an attempt says when it begins, and ends when it is let go."
_OWN_ERROR = """class OwnError(Exception):
    \"\"\"What the job's function raises itself: no error of saq's.\"\"\"

"""
_INITS = {
    "no-internal-errors": ["        self.errors = []"],
    "no-orphaned-contexts": ["        self.running = {}"],
    "one-at-a-time": ["        self.running = {}", "        self.most_running = 0"],
}
_COUNTS = {
    "no-internal-errors": [],
    "no-orphaned-contexts": ["        self.running[number] = asyncio.current_task()"],
    "one-at-a-time": [
        "        self.running[number] = asyncio.current_task()",
        "        self.most_running = max(self.most_running, len(self.running))",
    ],
}


def _waiting(steps: tuple[Step, ...], *, counted: bool) -> Iterator[str]:
    """How an attempt stands still until it is let go; `counted`: it runs no more after that."""
    if not counted and not has(steps, s.Cancelled):
        yield "        await self.let_go[number].wait()"
        return
    yield "        try:"
    yield "            await self.let_go[number].wait()"
    if has(steps, s.Cancelled):
        yield from _on_cancel(steps)
    if counted:
        yield "        finally:"
        yield "            del self.running[number]"


def _noting(raises: bool) -> Iterator[str]:
    """The hook that takes down what saq caught."""
    yield ""
    yield "    async def after_process(self, ctx):"
    yield '        """saq leaves in `ctx` what it caught, its own errors too."""'
    if raises:
        yield '        if not isinstance(ctx.get("exception", OwnError()), OwnError):'
    else:
        yield '        if "exception" in ctx:'
    yield '            self.errors.append(type(ctx["exception"]).__name__)'


def _on_cancel(steps: tuple[Step, ...]) -> Iterator[str]:
    """What a cancelled attempt does: it winds down until it is let go, and ends as it did then."""
    ends = [one for one in steps if isinstance(one, s.Ends)]
    cancelled = [one.number for one in steps if isinstance(one, s.Cancelled)]
    swallow = [one.number for one in ends if one.number in cancelled and one.outcome == "ok"]
    yield "        except asyncio.CancelledError:"
    yield "            self.cancelled[number].set()"
    yield "            await self.let_go[number].wait()  # it winds down"
    if swallow:
        yield f"            if number not in {swallow}:"
        yield "                raise"
    else:
        yield "            raise"


def _raising(steps: tuple[Step, ...]) -> Iterator[str]:
    raising = [one.number for one in steps if isinstance(one, s.Ends) and one.outcome == "raised"]
    if raising:
        yield f"        if number in {raising}:"
        yield "            raise OwnError(number)"


def has(steps: tuple[Step, ...], *kinds: type[Step]) -> bool:
    """Whether there is a step of one of these kinds."""
    return any(isinstance(step, kinds) for step in steps)
