"""What the command line sets over a plan: written into its data before anything is judged.

So a value from a flag is checked like one from the file, and a problem with it names the flag.
Where a flag changes one of gate, baseline and variants, the others are made to fit: `Overrides`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from chaos.plan_file.yaml_text import Path


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line sets over a plan, as a plan would write it. None: the plan's own.

    A baseline that is not among the variants joins them; a plan's own baseline that `variants`
    leaves out, or leaves alone, gives way to the strict gate.
    """

    variants: tuple[str, ...] | None = None
    seed: int | None = None
    duration: str | None = None
    drain: str | None = None
    gate: str | None = None
    baseline: str | None = None
    order: str | None = None
    workers: int | None = None
    concurrency: int | None = None
    app: str | None = None


def apply(data: dict[str, Any], overrides: Overrides) -> dict[Path, str]:
    """Write the overrides into a plan's data.

    Returns:
        Which flag set which path.
    """
    flags: dict[Path, str] = {}
    for field in fields(overrides):
        value = getattr(overrides, field.name)
        path = _OVERRIDDEN[field.name]
        if value is None or (field.name == "app" and not _takes_app(data)):
            continue
        if _write(data, path, list(value) if isinstance(value, tuple) else value):
            flags[path] = f"--{'variant' if field.name == 'variants' else field.name}"
    _settle_gate(data, overrides, flags)
    return flags


_OVERRIDDEN: dict[str, Path] = {
    **{field.name: (field.name,) for field in fields(Overrides)},
    "workers": ("workers", "count"),
    "concurrency": ("workers", "concurrency"),
    "app": ("workload", "app"),
}


def _takes_app(data: dict[str, Any]) -> bool:
    """`--app` also gives an app to a plan whose jobs are ours; that plan has no key for it."""
    workload = data.get("workload")
    return isinstance(workload, dict) and workload.get("kind") == "app"


def _write(data: dict[str, Any], path: Path, value: Any) -> bool:
    for part in path[:-1]:
        inner = data.setdefault(str(part), {})
        if not isinstance(inner, dict):
            return False
        data = inner
    data[str(path[-1])] = value
    return True


def _settle_gate(data: dict[str, Any], over: Overrides, flags: dict[Path, str]) -> None:
    """Make gate, baseline and variants fit each other where a flag changed one of them."""
    if over.gate == "strict":
        if over.baseline is None:
            data.pop("baseline", None)
    elif over.gate is not None or over.baseline is not None:
        data["gate"] = over.gate or "baseline"
        _join(data, flags)
    elif over.variants is not None and data.get("gate") == "baseline":
        others = set(over.variants) - {data.get("baseline")}
        if data.get("baseline") not in over.variants or not others:
            data["gate"] = "strict"
            data.pop("baseline", None)


def _join(data: dict[str, Any], flags: dict[Path, str]) -> None:
    """Add the baseline to the variants if it is none of them."""
    baseline, variants = data.get("baseline"), data.get("variants")
    if isinstance(baseline, str) and isinstance(variants, list) and baseline not in variants:
        variants.insert(0, baseline)
        flags.setdefault(("variants", 0), flags.get(("baseline",), "--gate"))
