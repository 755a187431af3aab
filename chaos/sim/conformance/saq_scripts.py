"""saq's own Lua, read out of its source: the texts that it registers as scripts.

Nothing of saq is imported, so the scripts of any version can be compared from any environment. What
type each key must have is read off the first command that the script uses it with.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from .vocabulary import LISTS, STRINGS, ZSETS

_USE = re.compile(r"redis\.call\(\s*'(\w+)'\s*,\s*KEYS\[(\d+)\]")
_KEY, _ARG = re.compile(r"KEYS\[(\d+)\]"), re.compile(r"ARGV\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class KnownScript:
    """A script, the keys that fit each of its places, and how many arguments it takes."""

    source: bytes
    keys: tuple[tuple[bytes, ...], ...]
    arguments: int


def scripts_in(source: str) -> tuple[KnownScript, ...]:
    """The scripts that a Python source registers (`….register_script("…")`), in their order."""
    found: list[KnownScript] = []
    for node in ast.walk(ast.parse(source)):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if is_call and node.func.attr == "register_script" and node.args:  # type: ignore[attr-defined]
            text = node.args[0]  # type: ignore[attr-defined]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found.append(_known(text.value))
    return tuple(found)


def _known(text: str) -> KnownScript:
    kinds: dict[int, tuple[bytes, ...]] = {}
    for name, place in _USE.findall(text):
        kinds.setdefault(int(place), _fitting(name))
    keys = max((int(place) for place in _KEY.findall(text)), default=0)
    arguments = max((int(place) for place in _ARG.findall(text)), default=0)
    fitting = tuple(kinds.get(place, STRINGS) for place in range(1, keys + 1))
    return KnownScript(text.encode(), fitting, arguments)


def _fitting(name: str) -> tuple[bytes, ...]:
    if name.startswith("Z"):
        return ZSETS
    return LISTS if name.startswith(("L", "R")) else STRINGS
