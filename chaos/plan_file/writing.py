"""A plan as YAML: the plan.yaml of a run directory, with every default written out.

It loads back to an equal plan, also after defaults have changed, and it holds no key that nothing
acts on, since the loader would refuse that. Of an app's workers only what the plan says is written:
the rest is the app's own, and a default that is written out would take its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from chaos.plan import App, Plan, Spec
from chaos.plan_file import checks, models
from chaos.plan_file.yaml_text import resolve


def dump(plan: Plan) -> str:
    """YAML that loads back to an equal plan, with every default written out."""
    data = plan.model_dump(mode="json", by_alias=True)
    _tidy(data, plan)
    if isinstance(plan.workload, App):
        data["workers"] = plan.workers.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for problem in list(checks.idle_keys(data)):
        del models.value_at(data, problem.path[:-1])[problem.path[-1]]
    written: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return written


def _tidy(data: dict[str, Any], spec: Spec) -> None:
    """Leave out what is not set, and put first what says which kind it is."""
    for key, field_name, value in _values(spec):
        if value is None or (key == "at" and value == ()):
            del data[key]
            continue
        written = data.pop(key)
        data[key] = written
        inner = value if isinstance(value, tuple) else (value,)
        for one, form in zip(inner, written if field_name in _LISTS else [written], strict=False):
            if isinstance(one, Spec):
                _tidy(form, one)


def _values(spec: Spec) -> Iterator[tuple[str, str, Any]]:
    for key, field in models.keys_of(type(spec)):
        name = next(name for name, other in type(spec).model_fields.items() if other is field)
        yield key, name, getattr(spec, name)


_LISTS = ("bodies", "calls", "faults", "thresholds")


class _Dumper(yaml.SafeDumper):
    """Writes no aliases, and quotes what `yaml_text` would not read as a text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    plain = resolve(text) is text
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else "'")


_Dumper.add_representer(str, _write_text)
