"""The promises, one file each, and the registry that finds them by name.

A checker is a pure function over a plan and a timeline. It reports every violation of its claim
with the numbers of the events that prove it, and how often the claim was put at risk. What it could
not see makes it UNKNOWN; what a verdict makes of that is `chaos.judge`'s work.
"""

from __future__ import annotations

from chaos.checkers.aborts_honoured import AbortsHonoured
from chaos.checkers.bounded_attempts import BoundedAttempts
from chaos.checkers.checker import Checker
from chaos.checkers.no_internal_errors import NoInternalErrors
from chaos.checkers.no_lost_jobs import NoLostJobs
from chaos.checkers.no_orphaned_contexts import NoOrphanedContexts
from chaos.checkers.no_phantom_runs import NoPhantomRuns
from chaos.checkers.one_at_a_time import OneAtATime
from chaos.checkers.terminal_is_final import TerminalIsFinal
from chaos.errors import UsageError

CHECKERS: tuple[Checker, ...] = (
    NoInternalErrors(),
    NoOrphanedContexts(),
    AbortsHonoured(),
    NoLostJobs(),
    NoPhantomRuns(),
    OneAtATime(),
    TerminalIsFinal(),
    BoundedAttempts(),
)


def by_name(name: str) -> Checker:
    """The checker of a promise.

    Raises:
        UsageError: there is no such promise; the message names those that there are.
    """
    for checker in CHECKERS:
        if checker.name == name:
            return checker
    known = ", ".join(checker.name for checker in CHECKERS)
    raise UsageError(f"no promise is called {name!r}; there are: {known}")
