"""What a checker is: a pure function over a plan and one variant's history, for one claim."""

from __future__ import annotations

from typing import Protocol

from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.verdict import Judgement


class Checker(Protocol):
    """Judges one promise of one variant.

    Attributes:
        name: the promise's fixed name (`one-at-a-time`).
        claim: the promise in one sentence, as a report shows it.
        exposure: the name of the counter that says how often the claim was put at risk.
    """

    name: str
    claim: str
    exposure: str

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        """Judge. Pure: the same plan and timeline give the same judgement."""
