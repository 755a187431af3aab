"""What this server offers: plans, variants, faults and promises, as the API lists them.

    chaos.plan_file, settings.plans_dir ──► Catalogue ──► /v1/plans, /v1/variants, …

A file of the server's own folder is read again when it has changed, so that an operator adds a plan
by putting a file there. A file that is no plan hides none of the others: its name is listed with
what is wrong with it. What a run of a plan would do is `Runs.preview`'s work.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import TypeAdapter

from chaos import plan_file, variants
from chaos.checkers import CHECKERS
from chaos.clock import SECOND_US
from chaos.errors import PlanError, VariantError
from chaos.faults import FAULTS, make
from chaos.plan import Fault, Plan
from chaos.worker.patches import PATCHES, fits
from chaos.world import CAPABILITIES
from service.api.shapes import (
    CheckerList,
    CheckerOffer,
    FaultList,
    FaultOffer,
    PlanDetail,
    PlanList,
    PlanSummary,
    TargetList,
    VariantList,
    VariantOffer,
)
from service.errors import NotFound
from service.runs.resolve import plans
from service.settings import Settings

PLANS_MAX = 500
Source = Literal["shipped", "server"]
World = Literal["live", "sim"]


class Catalogue:
    """Answers what there is to choose from.

    Args:
        settings: which variants requests may name, and where further plans lie.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def plans(self) -> PlanList:
        """Every plan, by name."""
        read = [(name, _read(name, path, source, _stamp(path))) for name, path, source in
                self._files()]  # fmt: skip
        return PlanList(
            plans=[one.summary for _, one in read if isinstance(one, PlanDetail)],
            broken={name: one for name, one in read if isinstance(one, str)},
        )

    def plan(self, name: str) -> PlanDetail:
        """One plan.

        Raises:
            NotFound: there is none of that name, or its file is no plan.
        """
        for known, path, source in self._files():
            if known == name:
                found = _read(name, path, source, _stamp(path))
                if isinstance(found, PlanDetail):
                    return found
                raise NotFound(f"the file of {name!r} is no plan: {found}; its author can check "
                               f"it with `saq-chaos validate`")  # fmt: skip
        names = ", ".join(known for known, _, _ in self._files())
        raise NotFound(f"no plan is called {name!r}; there are: {names}")

    def variants(self) -> VariantList:
        """Every variant that a request may name."""
        return VariantList(variants=[_variant(text) for text in self._settings.variants])

    def targets(self) -> TargetList:
        """Every app, Redis and webhook that a request may name, by its name alone."""
        listed = self._settings
        return TargetList(
            apps=sorted(listed.apps), redis=sorted(listed.redis), webhooks=sorted(listed.webhooks)
        )

    def _files(self) -> list[tuple[str, Path, Source]]:
        """Name, file and source of every plan, by name."""
        shipped = {plan_file.shipped_path(name) for name in plan_file.shipped()}
        found = sorted(plans(self._settings).items())[:PLANS_MAX]
        return [(name, path, "shipped" if path in shipped else "server") for name, path in found]


@cache
def faults() -> FaultList:
    """Every fault, with the schema of what a plan writes for it."""
    shapes = {
        shape["properties"]["fault"]["const"]: shape
        for shape in plan_file.schema()["$defs"].values()
        if "const" in shape.get("properties", {}).get("fault", {})
    }
    return FaultList(
        faults=[
            FaultOffer(
                fault=kind.name,
                description=kind.description,
                worlds=_worlds(kind.name, shapes[kind.name]),
                fields=shapes[kind.name],
            )
            for kind in FAULTS
        ]
    )


@cache
def checkers() -> CheckerList:
    """Every promise."""
    return CheckerList(
        checkers=[
            CheckerOffer(promise=one.name, claim=one.claim, exposure=one.exposure)
            for one in CHECKERS
        ]
    )


def _summary(name: str, plan: Plan, source: Source) -> PlanSummary:
    return PlanSummary(
        name=name,
        description=plan.description,
        source=source,
        variants=list(plan.variants),
        gate=plan.gate,
        duration_s=plan.duration_us / SECOND_US,
        drain_s=plan.drain_us / SECOND_US,
        faults=list(dict.fromkeys(spec.fault for spec in plan.faults)),
        promises=list(plan.promises),
    )


def _stamp(path: Path) -> tuple[int, int]:
    """What changes when the file does; of one that is gone, nothing."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=2 * PLANS_MAX)
def _read(name: str, path: Path, source: Source, _stamp: tuple[int, int]) -> PlanDetail | str:
    """A plan's file, or what is wrong with it; read again when its stamp changes."""
    try:
        plan = plan_file.load(path)
        text = path.read_text("utf-8-sig")
    except PlanError as error:
        return error.problems[0].replace(str(path), path.name)
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror}"
    return PlanDetail(summary=_summary(name, plan, source), yaml=text, plan=_as_data(plan))


def _as_data(plan: Plan) -> dict[str, Any]:
    """The plan in its YAML form, so that a request may send it back, changed or not."""
    data: dict[str, Any] = yaml.safe_load(plan_file.dump(plan))
    return data


def _variant(text: str) -> VariantOffer:
    """What a variant is; a wrong one in the settings is listed with what is wrong."""
    try:
        found = variants.parse(text)
    except VariantError as error:
        patch, _, saq = text.partition("@")
        return VariantOffer(variant=text, patch=patch, saq=saq, description="", problem=str(error))
    problem = fits(found.patch, found.version or "") or None
    said = PATCHES.get(found.patch, "a Worker class of the server's operator")
    return VariantOffer(
        variant=found.text, patch=found.patch, saq=found.saq, description=said, problem=problem
    )


def _worlds(name: str, shape: dict[str, Any]) -> list[World]:
    """Where a fault with its defaults can be injected."""
    required = {key: "1s" for key in shape.get("required", ()) if key != "fault"}
    spec = TypeAdapter[Any](Fault).validate_python({"fault": name, "every": "1s", **required})
    needs = make(spec).needs
    worlds: tuple[World, ...] = get_args(World)
    return [world for world in worlds if all(need in CAPABILITIES[world] for need in needs)]
