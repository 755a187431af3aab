"""What the command line sets over a plan: written into its data before anything is judged.

So a value from a flag is checked like one from the file, and a problem with it names the flag.
Where a flag changes one of gate, baseline and variants, the others are made to fit: `Overrides`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from chaos.clock import parse_duration_us
from chaos.plan import Plan
from chaos.plan_file.yaml_text import Document, Path


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line sets over a plan, as a plan would write it. None: the plan's own.

    A baseline that is not among the variants joins them; a plan's own baseline that `variants`
    leaves out, or leaves alone, gives way to the strict gate. A shorter `duration` leaves out the
    faults, and the times of `at`, that would come after it.
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


def apply(document: Document, overrides: Overrides) -> dict[Path, str]:
    """Write the overrides into a plan's data.

    Returns:
        Which flag set which path.
    """
    data: dict[str, Any] = document.data
    flags: dict[Path, str] = {}
    for field in fields(overrides):
        value = getattr(overrides, field.name)
        path = _OVERRIDDEN[field.name]
        if value is None or (field.name == "app" and not _takes_app(data)):
            continue
        if _write(data, path, list(value) if isinstance(value, tuple) else value):
            flags[path] = f"--{'variant' if field.name == 'variants' else field.name}"
    _settle_gate(document, overrides, flags)
    if overrides.duration is not None:
        _leave_out_later(document, overrides.duration)
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


def _settle_gate(document: Document, over: Overrides, flags: dict[Path, str]) -> None:
    """Make gate, baseline and variants fit each other where a flag changed one of them."""
    data = document.data
    if over.gate == "strict":
        if over.baseline is None:
            data.pop("baseline", None)
    elif over.gate is not None or over.baseline is not None:
        data["gate"] = over.gate or "baseline"
        _join(document, flags)
    elif over.variants is not None and data.get("gate") == "baseline":
        others = set(over.variants) - {data.get("baseline")}
        if data.get("baseline") not in over.variants or not others:
            data["gate"] = "strict"
            data.pop("baseline", None)


def _join(document: Document, flags: dict[Path, str]) -> None:
    """Put the baseline before the variants if it is none of them."""
    default = list(Plan.model_fields["variants"].default)
    baseline, given = document.data.get("baseline"), document.data.setdefault("variants", default)
    if isinstance(baseline, str) and isinstance(given, list) and baseline not in given:
        _renumber(document, "variants", {old: old + 1 for old in range(len(given))})
        given.insert(0, baseline)
        flags.setdefault(("variants", 0), flags.get(("baseline",), "--gate"))


def _leave_out_later(document: Document, duration: str) -> None:
    """Drop what a shorter run does not come to; whatever is no duration is left to the checks."""
    end_us, faults = _read(duration), document.data.get("faults")
    if end_us is None or not isinstance(faults, list):
        return
    kept = [place for place, fault in enumerate(faults) if _comes(fault, end_us)]
    _renumber(document, "faults", {old: new for new, old in enumerate(kept)})
    document.data["faults"] = [faults[place] for place in kept]


def _renumber(document: Document, key: str, moved: dict[int, int]) -> None:
    """Let the places of a list's items follow the items; those not in `moved` are gone."""

    def new(path: Path) -> Path | None:
        if path[:1] != (key,) or len(path) == 1:
            return path
        at = moved.get(path[1]) if isinstance(path[1], int) else None
        return None if at is None else (key, at, *path[2:])

    places = ((new(path), place) for path, place in document.places.items())
    document.places = {path: place for path, place in places if path is not None}
    document.holes = {path for path in map(new, sorted(document.holes, key=str)) if path}


def _comes(fault: Any, end_us: int) -> bool:
    """Whether a fault comes before the end; times of `at` that do not are taken out of it."""
    if not isinstance(fault, dict):
        return True
    if isinstance(fault.get("at"), list) and fault["at"]:
        fault["at"] = [at for at in fault["at"] if _sum(at) < end_us]
        return bool(fault["at"])
    return _sum(fault.get("every"), fault.get("after", "0s")) < end_us


def _sum(*durations: Any) -> int:
    """The sum of durations; -1 if one of them is none."""
    read = [_read(duration) for duration in durations]
    return -1 if None in read else sum(part for part in read if part is not None)


def _read(duration: Any) -> int | None:
    try:
        return parse_duration_us(duration) if isinstance(duration, str) else None
    except (ValueError, OverflowError):
        return None
