"""From plain data to a Plan: pydantic's errors in the words of a plan, and a repair that looks on.

    data ──validate──► Plan, or problems ──repair──► a Plan in which the wrong values are replaced

The repaired plan is never run. It lets `checks` see the rest of a plan that has a wrong
value somewhere, so that all problems are told at once. Whatever was replaced is named, and a
problem that rests on it is not told.
"""

from __future__ import annotations

import copy
import json
import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import annotated_types
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from chaos.plan import Plan, Spec
from chaos.plan_file.checks import Problem
from chaos.plan_file.words import one_of, show
from chaos.plan_file.yaml_text import Path

ROUNDS_MAX = 5
PROBLEMS_MAX = 100  # a text with more is no plan with a few slips: the first are told, and how many

# What stands in for a value that must be there; any other wrong value is left out for its default.
STAND_INS: dict[str, Any] = {
    "plan": "stand-in",
    "workload": {"kind": "same_key"},
    "kind": "same_key",
    "duration": "8000h",
    "promises": ["no-internal-errors"],
    "profile": "quick",
    "calls": [{"function": "stand_in"}],
    "function": "stand_in",
    "fault": "sweep",
    "for": "1s",
    "by": "1s",
    "max": "1s",
    "that": "key_errors == 0",
}
_ITEM_STAND_INS: dict[str, Any] = {
    "variants": "stock@0.26.4",
    "promises": "no-internal-errors",
    "bodies": {"profile": "quick"},
    "calls": {"function": "stand_in"},
    "faults": {"fault": "sweep", "every": "1s"},
    "at": "0s",
    "thresholds": {"that": "key_errors == 0"},
}
_WANTED = {
    "int_type": "whole number",
    "int_from_float": "whole number",
    "float_type": "number",
    "bool_type": "`true` or `false`",
    "string_type": "text",
    "tuple_type": "list",
    "dict_type": "mapping (`key: value`)",
    "model_type": "mapping (`key: value`)",
    "model_attributes_type": "mapping (`key: value`)",
}
_RANGE = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


def validate(data: Any) -> Plan:
    """The plan that `data` is.

    Raises:
        ValidationError: it is none; see `problems`.
    """
    return Plan.model_validate_json(json.dumps(data))


def problems(error: ValidationError, data: Any) -> list[Problem]:
    """Pydantic's errors, once each and in a plan's words; of very many the first."""
    found = list(_errors(error))
    told = [Problem(path, _message(one, path, data)) for one, path in found[:PROBLEMS_MAX]]
    if len(found) > PROBLEMS_MAX:
        told.append(Problem((), f"{len(found) - PROBLEMS_MAX} more problems are not shown"))
    return told


def _errors(error: ValidationError) -> Iterator[tuple[Any, Path]]:
    """Pydantic's errors with their paths; it leaves wrong items out before it counts a list."""
    raw = error.errors(include_url=False)
    paths = [_path(one["loc"]) for one in raw]
    around = {path[:length] for path in paths for length in range(len(path))}
    for one, path in zip(raw, paths, strict=True):
        if one["type"] != "too_short" or path not in around:
            yield one, path


def repair(data: Any, error: ValidationError) -> tuple[Plan | None, dict[str, Any], set[Path]]:
    """Replace what is wrong until the rest is a plan.

    Returns:
        The plan (None if it cannot be repaired, or too much is wrong with it), its data, and the
        paths that were replaced.
    """
    data = copy.deepcopy(data)
    touched: set[Path] = set()
    if error.error_count() > PROBLEMS_MAX:
        return None, data, touched
    for _ in range(ROUNDS_MAX):
        for one, path in _errors(error):
            if path:
                touched.add(path)
                _replace(data, path, one["type"])
        try:
            return validate(data), data, touched
        except ValidationError as next_error:
            error = next_error
    return None, data, touched


def _replace(data: Any, path: Path, kind: str) -> None:
    parent, last = value_at(data, path[:-1]), path[-1]
    if isinstance(last, int):
        if isinstance(parent, list) and last < len(parent):
            parent[last] = copy.deepcopy(_ITEM_STAND_INS.get(str(path[-2])))
    elif isinstance(parent, dict):
        if last in STAND_INS and kind != "extra_forbidden":
            parent[last] = copy.deepcopy(STAND_INS[last])
        else:
            parent.pop(last, None)


# --- where an error is, and which part of the model stands there ----------------------------------


def value_at(data: Any, path: Path) -> Any:
    """The value at a path; None if there is none."""
    for part in path:
        in_mapping = isinstance(data, dict) and part in data
        in_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if not (in_mapping or in_list):
            return None
        data = data[part]
    return data


def _path(loc: tuple[str | int, ...]) -> Path:
    """Pydantic's location without the names of union members, which are no keys of a plan."""
    if loc[:1] == ("workload",):
        return (*loc[:1], *loc[2:])
    if loc[:1] == ("faults",):
        return (*loc[:2], *loc[3:])
    return loc


def model_at(path: Path, data: Any) -> type[Spec] | None:
    """The model of the mapping at a path, chosen by its discriminator where there are several."""
    models: list[type[Spec]] = [Plan]
    for depth, part in enumerate(path):
        if isinstance(part, int):
            continue
        field = field_of(_chosen(models, value_at(data, path[:depth])), part)
        models = models_in(field.annotation) if field is not None else []
    return _chosen(models, value_at(data, path))


def field_of(model: type[Spec] | None, key: str) -> FieldInfo | None:
    """The field that a YAML key stands for."""
    return dict(keys_of(model)).get(key) if model is not None else None


def keys_of(model: type[Spec]) -> Iterator[tuple[str, FieldInfo]]:
    """A model's YAML keys with their fields, the one that chooses the model first."""
    fields = [(field.alias or name, field) for name, field in model.model_fields.items()]
    yield from sorted(fields, key=lambda pair: pair[0] not in ("fault", "kind"))


def models_in(annotation: Any) -> list[type[Spec]]:
    """The models that a type is made of, in order."""
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in models_in(part)]


def chosen_by(model: type[Spec]) -> tuple[str, str]:
    """The key and the value that choose this model (`fault: sweep`); empty if nothing does."""
    for key in ("fault", "kind"):
        if key in model.model_fields:
            return key, str(typing.get_args(model.model_fields[key].annotation)[0])
    return "", ""


def _chosen(models: list[type[Spec]], value: Any) -> type[Spec] | None:
    if len(models) <= 1:
        return models[0] if models else None
    given = value if isinstance(value, dict) else {}
    for model in models:
        key, choice = chosen_by(model)
        if given.get(key) == choice:
            return model
    return None


# --- words ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Case:
    """One of pydantic's errors with what stands around it."""

    kind: str
    context: dict[str, Any]
    path: Path
    value: Any
    field: FieldInfo | None
    parent: type[Spec] | None

    @property
    def about(self) -> str:
        """The sentence that the model has for this key."""
        return self.field.description or "" if self.field is not None else "see docs/plans.md"


def _message(one: Any, path: Path, data: Any) -> str:
    parent = model_at(path[:-1], data)
    field = field_of(parent, str(path[-1])) if path else None
    context = one.get("ctx", {})
    case = _Case(one["type"], context, path, value_at(data, path), field, parent)
    word = _WORDINGS.get(case.kind)
    return word(case) if word is not None else f"{show(case.value)}: {one['msg']}"


def _missing(case: _Case) -> str:
    return f"`{case.path[-1]}` is missing: {case.about}"


def _wrong_type(case: _Case) -> str:
    return f"{show(case.value)} is no {_WANTED[case.kind]}: {case.about}"


def _unknown_key(case: _Case) -> str:
    accepted = [key for key, _ in keys_of(case.parent)] if case.parent is not None else []
    return f"no such key: {one_of(case.path[-1], accepted)}"


def _unknown_choice(case: _Case) -> str:
    key = "kind" if case.path == ("workload",) else "fault"
    field = Plan.model_fields["workload" if key == "kind" else "faults"]
    accepted = [choice for _, choice in map(chosen_by, models_in(field.annotation))]
    given = case.value.get(key) if isinstance(case.value, dict) else None
    if given is None:
        return f"`{key}` is missing: {one_of('', accepted)}"
    what = "workload" if key == "kind" else "fault"
    return f"{show(given)} is no {what}: {one_of(given, accepted)}"


def _unknown_word(case: _Case) -> str:
    accepted = re.findall(r"'([^']*)'", case.context["expected"])
    return f"{show(case.value)} is not known: {one_of(case.value, accepted)}"


def _out_of_range(case: _Case) -> str:
    return f"{show(case.value)} is out of range: {_range(case.field)}"


def _empty(case: _Case) -> str:
    return f"is empty: {case.about}"


def _too_long(case: _Case) -> str:
    return f"has {case.context['actual_length']} items: at most {case.context['max_length']}"


def _no_match(case: _Case) -> str:
    return f"{show(case.value)} is not what belongs here: {case.about}"


def _own_words(case: _Case) -> str:
    return str(case.context["error"])


_WORDINGS: dict[str, Callable[[_Case], str]] = {
    "missing": _missing,
    "extra_forbidden": _unknown_key,
    "union_tag_invalid": _unknown_choice,
    "union_tag_not_found": _unknown_choice,
    "literal_error": _unknown_word,
    "value_error": _own_words,
    "too_short": _empty,
    "string_too_short": _empty,
    "too_long": _too_long,
    "string_pattern_mismatch": _no_match,
    **dict.fromkeys(_WANTED, _wrong_type),
    **dict.fromkeys(_RANGE, _out_of_range),
}


def _range(field: FieldInfo | None) -> str:
    """`from 1 to 64`, out of the field's own bounds."""
    low, high = "", ""
    for bound in field.metadata if field is not None else ():
        if isinstance(bound, annotated_types.Ge):
            low = f"{bound.ge}"
        elif isinstance(bound, annotated_types.Le):
            high = f"{bound.le}"
        elif isinstance(bound, annotated_types.Lt):
            high = f"below {bound.lt}"
    if low and high:
        return f"from {low} to {high}"
    return f"at least {low}" if low else f"at most {high}" if high else "a whole number above 0"
