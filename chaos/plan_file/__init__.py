"""Plans as files: `load` reads one, `dump` writes one, `shipped` names those that come along.

loading    a name or a path becomes a Plan, or a PlanError with every problem of it
text       YAML, in which every value knows its place
models     pydantic's errors in the words of a plan
checks     what takes two parts of a plan to see
overrides  what the command line sets
names      the promises, exposures and counters that a plan may name
one_fault  a fault without a plan, to be injected now
writing    a plan as YAML again
schema     the JSON Schema and the reference in docs/plans.md
"""

from __future__ import annotations

from chaos.plan_file.loading import load, loads, shipped, shipped_path
from chaos.plan_file.one_fault import fault
from chaos.plan_file.overrides import Overrides
from chaos.plan_file.reference import faults, schema
from chaos.plan_file.writing import dump

__all__ = [
    "Overrides", "dump", "fault", "faults", "load", "loads", "schema", "shipped", "shipped_path",
]  # fmt: skip
