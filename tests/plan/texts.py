"""Plan texts that tests of several files begin with."""

from __future__ import annotations

import pytest

from chaos import plan_file
from chaos.errors import PlanError
from chaos.plan_file import Overrides

SMALL = """\
plan: small
duration: 10s
workload:
  kind: same_key
promises: [no-internal-errors]
"""


def problems(text: str, overrides: Overrides | None = None) -> list[str]:
    """The problems of a text, each from its place on: `3:1: workload: …`."""
    with pytest.raises(PlanError) as caught:
        plan_file.loads(text, "p", overrides or Overrides())
    return [problem.removeprefix("p:") for problem in caught.value.problems]
