"""What a plan may hold, for editors and readers: the JSON Schema, and the tables of docs/plans.md.

Both are made from the models of `chaos.plan`, so that neither can be stale; a test compares the
committed files with what is made here. `python -m chaos.plan_file.reference` writes them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from chaos.plan import Plan, Spec
from chaos.plan_file.models import chosen_by, keys_of, models_in
from chaos.plan_file.names import known_names

SCHEMA_FILE = Path("docs/plan.schema.json")
PAGE_FILE = Path("docs/plans.md")
BEGIN = "<!-- keys: made from chaos/plan.py; `make plan-docs` writes them again -->"
END = "<!-- end of keys -->"


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a plan in its YAML form, without what takes two keys to see."""
    made = Plan.model_json_schema(by_alias=True, mode="validation")
    names = known_names()
    made["properties"]["promises"]["items"]["enum"] = list(names.promises)
    made["properties"]["exposures"]["propertyNames"] = {"enum": list(names.exposures)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **made,
        "title": "A plan of saq-chaos",
    }


def schema_text() -> str:
    """The schema as it is committed."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def faults() -> list[tuple[str, str]]:
    """The faults by name, with the sentence of each."""
    found = models_in(Plan.model_fields["faults"].annotation)
    return [(chosen_by(model)[1], _first_line(model)) for model in found]


def tables() -> str:
    """One Markdown table for each mapping of a plan, outer before inner."""
    return "\n".join(_table(title, model) for title, model in _sections(Plan, ""))


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


def _table(title: str, model: type[Spec]) -> str:
    rows = [
        f"| `{key}` | {_default(field)} | {_accepts(model, key)} | {field.description} |"
        for key, field in keys_of(model)
    ]
    lines = (
        f"### {title}\n",
        f"{_first_line(model)}\n",
        "| key | default | accepted | what it is |",
        "| --- | --- | --- | --- |",
        *rows,
        "",
    )
    return "\n".join(lines)


def _first_line(model: type[Spec]) -> str:
    return (model.__doc__ or "").partition("\n")[0]


def _default(field: FieldInfo) -> str:
    """The default as YAML writes it; of a mapping of its own, the table that follows shows it."""
    if field.is_required():
        return "required"
    if models_in(field.annotation):
        return ""
    form = _yaml_form(field)
    return "" if form in (None, "") else f"`{form}`"


def _yaml_form(field: FieldInfo) -> Any:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, *field.metadata])
    form = adapter.dump_python(field.default, mode="json")
    return str(form).lower() if isinstance(form, bool) else form


def _accepts(model: type[Spec], key: str) -> str:
    """What the schema of the key accepts, in a few words."""
    shape = _schema_of(model)["properties"][key]
    options = [part for part in shape.get("anyOf", [shape]) if part.get("type") != "null"]
    return " or ".join(_shape(part) for part in options)


def _schema_of(model: type[Spec]) -> dict[str, Any]:
    return model.model_json_schema(by_alias=True, mode="validation")


def _shape(part: dict[str, Any]) -> str:
    if "enum" in part or "const" in part:
        return ", ".join(f"`{word}`" for word in part.get("enum", [part.get("const")]))
    kind = _KINDS.get(part.get("type", ""), "see below")
    if "pattern" in part and part.get("examples"):
        kind = "rate" if "/s" in part["examples"][0] else "duration"
        kind += " above 0" if "[1-9]" in part["pattern"] and kind == "duration" else ""
    if part.get("type") == "array" and "items" in part and "$ref" not in part["items"]:
        kind = f"list of {_shape(part['items'])}s" if "type" in part["items"] else "list"
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


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), "utf-8")
    PAGE_FILE.write_text(page(PAGE_FILE.read_text("utf-8")), "utf-8")
