"""From the environment to the settings, or to every problem of them in plain words.

    SAQCHAOS_PORT=80800                 ──┐
    SAQCHAOS_WEBHOOKS_FILE=/run/s/hooks ──┼──► load() ──► Settings
    SAQCHAOS_SECRETS_DIR=/run/secrets   ──┘           └─► WrongSettings: one line for each

A variable with `_FILE` at its end names a file that holds the value, as Docker's secrets do; the
value is not put into the environment, which child processes would inherit. A problem shows the
variable, the value and the way out; values that may hold a secret are not shown.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_settings import SettingsError

from chaos.errors import UsageError
from service.settings import Settings

PREFIX = "SAQCHAOS_"
SECRETS_DIR = "SAQCHAOS_SECRETS_DIR"
OTHERS = ("CACHE", "REDIS_SERVER", "REDIS_URL", "PROCESS_OF", "SECRETS_DIR")
SECRET = ("redis", "webhooks")
SHOWN_MAX = 80


class WrongSettings(UsageError):
    """The settings are wrong. `problems` holds all of them, each with its variable."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def load(environ: Mapping[str, str]) -> Settings:
    """The settings of this environment.

    Args:
        environ: the process's own; pydantic-settings reads that one whatever stands here.

    Raises:
        WrongSettings: a variable is wrong, or names a file that cannot be read.
    """
    values = _from_files(environ)
    folder = environ.get(SECRETS_DIR)
    if folder is not None and not Path(folder).is_dir():
        raise WrongSettings([f"{SECRETS_DIR}={folder!r} is no directory: name one, or unset it"])
    try:
        return Settings(_secrets_dir=folder, **values)
    except ValidationError as error:
        raise WrongSettings([_said(one) for one in error.errors()]) from error
    except SettingsError as error:
        raise WrongSettings([_no_json(environ, error)]) from error


def unknown(environ: Mapping[str, str]) -> list[str]:
    """A sentence for each variable with our prefix that nothing reads."""
    known = [name.upper() for name in Settings.model_fields]
    found = []
    for variable in sorted(environ):
        name = variable.removeprefix(PREFIX).upper()
        first = name.partition("__")[0]
        if not variable.startswith(PREFIX) or first in (*known, *OTHERS):
            continue
        if first.removesuffix("_FILE") not in known:
            near = difflib.get_close_matches(first, known, n=1)
            guess = f": did you mean {PREFIX}{near[0]}?" if near else ": docs/service.md has them"
            found.append(f"nothing reads {variable}{guess}")
    return found


def variables() -> list[tuple[str, str]]:
    """Every variable with its default, as docs/service.md lists them."""
    return list(_variables(Settings, PREFIX))


def _variables(model: type[BaseModel], prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            found += _variables(type(default), f"{prefix}{name.upper()}__")
        else:
            found.append((f"{prefix}{name.upper()}", _shown_default(default)))
    return found


def _shown_default(default: Any) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return ",".join(default)
    return "" if default in (None, {}, "") else str(default)


def _from_files(environ: Mapping[str, str]) -> dict[str, Any]:
    """The values of variables that name a file."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, field in Settings.model_fields.items():
        variable = f"{PREFIX}{name.upper()}_FILE"
        if variable not in environ:
            continue
        if f"{PREFIX}{name.upper()}" in environ:
            problems.append(f"{variable} and {PREFIX}{name.upper()} are both set: unset one")
            continue
        try:
            text = Path(environ[variable]).read_text("utf-8").strip()
            structured = get_origin(field.annotation) is dict
            values[name] = json.loads(text) if structured else text
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "its content is no JSON"
            problems.append(f"{variable}={environ[variable]!r} cannot be used: {reason}")
    if problems:
        raise WrongSettings(problems)
    return values


def _said(one: Any) -> str:
    location = [str(part) for part in one["loc"]]
    variable = PREFIX + "__".join(part.upper() for part in location)
    value = "" if location[:1] and location[0] in SECRET else f"={str(one['input'])[:SHOWN_MAX]!r}"
    reason = one["msg"][:1].lower() + one["msg"][1:]
    return f"{variable}{value}: {reason}; correct or unset it (docs/service.md)"


def _no_json(environ: Mapping[str, str], error: SettingsError) -> str:
    """pydantic-settings names the field in its message alone."""
    for name in Settings.model_fields:
        if f'"{name}"' in str(error):
            variable = f"{PREFIX}{name.upper()}"
            value = "" if name in SECRET else f"={environ.get(variable, '')[:SHOWN_MAX]!r}"
            return f"{variable}{value}: is no JSON; docs/service.md shows what it looks like"
    return str(error)
