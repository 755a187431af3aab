"""One YAML text becomes one Plan, or every problem of it at once.

    name or path ──► text ──yaml_text──► data ──overrides──► data ──┬─► Plan
                                                                    └─► PlanError: all problems

        yaml_text  what is no plain YAML (aliases, duplicate keys, tags, syntax)
        models     unknown keys, wrong types, values out of range
        checks     what takes two parts to see, unknown names, idle keys, passwords

A problem begins with `file:line:column`, or with the flag if the command line set the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import chaos
from chaos.errors import PlanError
from chaos.plan import Plan
from chaos.plan_file import checks, models, yaml_text
from chaos.plan_file.checks import Problem
from chaos.plan_file.names import known_names
from chaos.plan_file.overrides import Overrides, apply
from chaos.plan_file.words import one_of, path_text, show, without_secrets

SIZE_MAX = 1 << 20
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_PLACES = ("plans", "../plans")  # in an installed package; in a checkout
_NOTHING = Overrides()


# --- finding --------------------------------------------------------------------------------------


def shipped() -> tuple[str, ...]:
    """The names of the plans that ship, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yaml")))


def shipped_path(name: str) -> Path:
    """The file of a shipped plan.

    Raises:
        PlanError: there is none of that name; the message lists them.
    """
    if name not in shipped():
        accepted = f"{one_of(name, shipped())}, or the path of a YAML file"
        raise PlanError([f"no plan is called {show(name)}: {accepted}"])
    return _folder() / f"{name}.yaml"


def _folder() -> Path:
    package = Path(chaos.__file__).parent
    for place in _PLACES:
        if (package / place).is_dir():
            return (package / place).resolve()
    raise PlanError([f"the folder of shipped plans is missing beside {package}: install again"])


def _find(name_or_path: str | Path) -> Path:
    """A plain word is a shipped plan's name; anything else is a path."""
    if isinstance(name_or_path, str) and _NAME.fullmatch(name_or_path):
        return shipped_path(name_or_path)
    return Path(name_or_path)


# --- loading --------------------------------------------------------------------------------------


def load(name_or_path: str | Path, overrides: Overrides = _NOTHING) -> Plan:
    """The plan of this name, or in this file, with the overrides in it.

    Raises:
        PlanError: it cannot be read, or is wrong; the error holds every problem.
    """
    path = _find(name_or_path)
    return loads(_text(path), str(name_or_path if path.stem == name_or_path else path), overrides)


def loads(text: str, source: str = "plan", overrides: Overrides = _NOTHING) -> Plan:
    """The plan that a YAML text describes; `source` names the text in problems.

    Raises:
        PlanError: it is wrong; the error holds every problem.
    """
    document = yaml_text.read(text)
    if not (document.complete and isinstance(document.data, dict)):
        what = "empty" if document.data is None else show(document.data)
        no_plan = f"{source}: a plan is a mapping that begins with `plan: its-name`; this is {what}"
        raise PlanError([_told(source, trouble) for trouble in document.troubles] or [no_plan])
    flags = apply(document, overrides)
    plan, found = _judge(document.data, document.holes)
    if found or document.troubles:
        raise PlanError(_in_order(source, document, flags, found))
    assert plan is not None
    return plan


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(SIZE_MAX + 1)
    except OSError as error:
        raise PlanError([f"cannot read the plan {str(path)!r}: {error.strerror}"]) from error
    except ValueError as error:
        raise PlanError([f"cannot read the plan {str(path)!r}: {error}"]) from error
    if len(content) > SIZE_MAX:
        raise PlanError([f"{path}: larger than {SIZE_MAX} bytes: this is no plan"])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"byte {content[error.start]:#04x} is no UTF-8: save the file as UTF-8"
        raise PlanError([f"{path}:{line}: {message}"]) from error


def _judge(data: Any, holes: set[yaml_text.Path]) -> tuple[Plan | None, list[Problem]]:
    """The plan if it is right, and what is wrong with it."""
    told, touched = [*checks.passwords(data), *checks.untimed(data)], set(holes)
    plan: Plan | None = None
    try:
        plan = models.validate(data)
    except ValidationError as error:
        told += models.problems(error, data)
        plan, _, replaced = models.repair(data, error)
        touched |= replaced
    echoes = list(checks.idle_keys(data))
    if plan is not None:
        echoes += checks.of_plan(plan, known_names())
    told = [problem for problem in told if not _rests_on(problem, holes)]
    told += [problem for problem in echoes if not _rests_on(problem, touched)]
    return plan, told


def _rests_on(problem: Problem, wrong: set[yaml_text.Path]) -> bool:
    return any(
        path[: len(other)] == other[: len(path)]
        for path in (problem.path, *problem.needs)
        for other in wrong
    )


# --- telling --------------------------------------------------------------------------------------


def _in_order(
    source: str,
    document: yaml_text.Document,
    flags: dict[yaml_text.Path, str],
    found: Iterable[Problem],
) -> list[str]:
    """All problems as text: the file's by their place, then the command line's."""
    in_file, in_flags = list(document.troubles), []
    for problem in found:
        flag = _nearest(problem.path, flags)
        if flag is not None:
            in_flags.append(f"{flag}: {without_secrets(problem.message)}")
        else:
            place = _nearest(problem.path, document.places) or yaml_text.Place(1, 1)
            in_file.append(yaml_text.Trouble(place, problem.path, problem.message))
    in_file.sort(key=lambda trouble: (trouble.place.line, trouble.place.column))
    return list(dict.fromkeys([*(_told(source, trouble) for trouble in in_file), *in_flags]))


def _nearest(path: yaml_text.Path, known: dict[yaml_text.Path, Any]) -> Any:
    """What is known of the path, or of the nearest part of the plan around it."""
    for length in range(len(path), -1, -1):
        if path[:length] in known:
            return known[path[:length]]
    return None


def _told(source: str, trouble: yaml_text.Trouble) -> str:
    place = f"{source}:{trouble.place.line}:{trouble.place.column}"
    path = path_text(trouble.path)
    message = without_secrets(trouble.message)
    return f"{place}: {path}: {message}" if path else f"{place}: {message}"
