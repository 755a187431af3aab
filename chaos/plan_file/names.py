"""The names that a plan may use and that live with those who act on them: promises and counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chaos import thresholds
from chaos.checkers import CHECKERS
from chaos.counters import EXPOSURES


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What a plan can require.

    Attributes:
        promises: names of checkers, in the order in which reports show them.
        exposures: names of dangers that are counted.
        threshold_problem: what is wrong with a threshold; empty if nothing. Takes its text and
            whether it shall end the run.
    """

    promises: tuple[str, ...]
    exposures: tuple[str, ...]
    threshold_problem: Callable[[str, bool], str]


def known_names() -> KnownNames:
    """The names that this build of saq-chaos knows."""
    return KnownNames(
        promises=tuple(checker.name for checker in CHECKERS),
        exposures=tuple(EXPOSURES),
        threshold_problem=_threshold_problem,
    )


def _threshold_problem(text: str, abort_on_fail: bool) -> str:
    try:
        threshold = thresholds.parse(text)
    except (ValueError, OverflowError) as error:
        return str(error)
    if abort_on_fail and threshold.op in (">", ">="):
        return f"{text!r} can only fail at the end of a run: nothing acts on `abort_on_fail` here"
    return ""
