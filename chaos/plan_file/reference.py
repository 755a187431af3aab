"""What a plan may hold, for editors and readers: the JSON Schema, and the tables of docs/plans.md.

Both are made from the models of `chaos.plan`, so that neither can be stale; a test compares the
committed files with what is made here. `python -m chaos.plan_file` writes them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from chaos.plan import FaultSpec, Plan, Spec
from chaos.plan_file.models import chosen_by, keys_of, models_in
from chaos.plan_file.names import known_names

BEGIN = "<!-- keys: written by `python -m chaos.plan_file` -->"
END = "<!-- end of keys -->"


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a plan in its YAML form, without what takes two keys to see."""
    made = Plan.model_json_schema(by_alias=True, mode="validation")
    names = known_names()
    for model in all_models():
        _write_defaults(made if model is Plan else made["$defs"][model.__name__], model)
    made["properties"]["promises"]["items"]["enum"] = list(names.promises)
    made["properties"]["exposures"]["propertyNames"] = {"enum": list(names.exposures)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **made,
        "title": "A plan of saq-chaos",
        "description": "See docs/plans.md.",
    }


def _write_defaults(made: dict[str, Any], model: type[Spec]) -> None:
    """Pydantic writes a default as the field holds it (microseconds): write it as YAML does."""
    forms = _defaults(model)
    for key, shape in made["properties"].items():
        shape.pop("default", None)
        if forms.get(key) not in (None, "", []) and not isinstance(forms[key], dict):
            shape["default"] = forms[key]


def _defaults(model: type[Spec]) -> dict[str, Any]:
    """The defaults of a model's keys, in their YAML form; lists of mappings are left out."""
    forms = model.model_construct().model_dump(mode="json", by_alias=True, warnings=False)
    return {key: form for key, form in forms.items() if not _holds_mappings(form)}


def _holds_mappings(form: Any) -> bool:
    return isinstance(form, list) and any(isinstance(item, dict) for item in form)


def all_models() -> list[type[Spec]]:
    """Every model of a plan, once."""
    return list(dict.fromkeys(model for _, model in _sections(Plan, "")))


def schema_text() -> str:
    """The schema as it is committed."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def faults() -> list[tuple[str, str]]:
    """The faults by name, with the sentence of each."""
    found = models_in(Plan.model_fields["faults"].annotation)
    return [(chosen_by(model)[1], _first_line(model)) for model in found]


def tables() -> str:
    """One Markdown table for each mapping of a plan; what all faults share has one of its own."""
    sections = list(_sections(Plan, ""))
    made: list[str] = []
    for title, model in sections:
        if issubclass(model, FaultSpec) and not any("every fault" in table for table in made):
            made.append(_table("`faults[]`: every fault", FaultSpec, frozenset()))
        shared = frozenset(FaultSpec.model_fields) if issubclass(model, FaultSpec) else frozenset()
        made.append(_table(title, model, shared))
    return "\n".join(made)


def page(text: str) -> str:
    """docs/plans.md with its tables made again."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{rest.partition(END)[2]}"


def _sections(model: type[Spec], path: str) -> Iterator[tuple[str, type[Spec]]]:
    yield path or "The plan", model
    for key, field in keys_of(model):
        inner = models_in(field.annotation)
        for each in inner:
            name = f"{path}.{key}".removeprefix(".")
            name += "[]" if "tuple" in str(field.annotation) else ""
            chooser, choice = chosen_by(each)
            suffix = f" with `{chooser}: {choice}`" if choice else ""
            yield from ((f"`{name}`{suffix}", each), *list(_sections(each, name))[1:])


def _table(title: str, model: type[Spec], left_out: frozenset[str]) -> str:
    shapes = model.model_json_schema(by_alias=True, mode="validation")["properties"]
    defaults = _defaults(model)
    names = {(field.alias or name): name for name, field in model.model_fields.items()}
    rows = [
        f"| `{key}` | {_default(field, defaults.get(key))} | {_accepted(shapes[key])} "
        f"| {field.description} |"
        for key, field in keys_of(model)
        if names[key] not in left_out
    ]
    head = ("| key | default | accepted | what it is |", "| --- | --- | --- | --- |")
    return "\n".join((f"### {title}\n", f"{_first_line(model)}\n", *head, *rows, ""))


def _first_line(model: type[Spec]) -> str:
    return (model.__doc__ or "").partition("\n")[0]


def _default(field: FieldInfo, form: Any) -> str:
    """The default as YAML writes it; that of a mapping stands in the mapping's own table."""
    if field.is_required():
        return "required"
    if form in (None, "", []) or isinstance(form, dict):
        return ""
    return f"`{json.dumps(form).strip(chr(34))}`"


def _accepted(shape: dict[str, Any]) -> str:
    """What the schema of a key accepts, in a few words."""
    options = [part for part in shape.get("anyOf", [shape]) if part.get("type") != "null"]
    return " or ".join(_in_words(part) for part in options)


def _in_words(part: dict[str, Any]) -> str:
    if "enum" in part or "const" in part:
        return ", ".join(f"`{word}`" for word in part.get("enum", [part.get("const")]))
    if "examples" in part:
        return str(part["title"])
    if part.get("type") == "array" and part["items"].get("type") == "string":
        return f"list of {part['items'].get('title', 'text')}s"
    kind = _KINDS.get(part.get("type", "object"), "")
    return f"{kind}{_bounds(part)}"


def _bounds(part: dict[str, Any]) -> str:
    low, high = part.get("minimum"), part.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f" ≥ {low}" if low is not None else ""


_KINDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "`true`, `false`",
    "array": "list",
    "object": "mapping",
}
