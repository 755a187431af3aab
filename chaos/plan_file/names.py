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
        threshold_problem: what is wrong with a threshold's text; empty if nothing.
    """

    promises: tuple[str, ...]
    exposures: tuple[str, ...]
    threshold_problem: Callable[[str], str]


def known_names() -> KnownNames:
    """The names that this build of saq-chaos knows."""
    return KnownNames(
        promises=tuple(checker.name for checker in CHECKERS),
        exposures=tuple(EXPOSURES),
        threshold_problem=_threshold_problem,
    )


def _threshold_problem(text: str) -> str:
    try:
        thresholds.parse(text)
    except (ValueError, OverflowError) as error:
        return str(error)
    return ""
