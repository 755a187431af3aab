"""What is wrong with a value of a request, in words: the value, and what is accepted.

pydantic's own messages name types and patterns of Python; a caller of an API wants to see what they
sent and what would have been right. A kind that has no words here keeps pydantic's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from chaos.plan_file.words import one_of, show
from service import models

# The ways out of the shapes that text must have.
_WAYS = {
    models.DURATION: "a number and its unit, such as 500ms, 30s, 10m or 2h",
    models.NAME: "1 to 100 letters, digits, @ . _ + -, beginning with a letter or a digit",
    models.LABEL: "at most 200 letters, digits, blanks, @ . _ / + : -",
}


def in_words(error: Any) -> str:
    """One of pydantic's errors (`type`, `input`, `ctx`, `msg`) as a sentence."""
    words = _WORDINGS.get(error["type"])
    if words is None:
        return str(error["msg"])
    return words(error.get("input"), error.get("ctx", {}))


def _unknown_word(value: Any, context: Mapping[str, Any]) -> str:
    accepted = re.findall(r"'([^']*)'", context["expected"])
    return f"{show(value)} is not known: {one_of(value, accepted)}"


def _no_match(value: Any, context: Mapping[str, Any]) -> str:
    way = _WAYS.get(context["pattern"], f"text that matches {context['pattern']}")
    return f"{show(value)} is not what belongs here: write {way}"


def _unknown_key(_value: Any, _context: Mapping[str, Any]) -> str:
    return "no such field: /openapi.json names those that there are"


def _low(value: Any, context: Mapping[str, Any]) -> str:
    return f"{show(value)} is out of range: at least {context['ge']}"


def _high(value: Any, context: Mapping[str, Any]) -> str:
    return f"{show(value)} is out of range: at most {context['le']}"


def _long(value: Any, context: Mapping[str, Any]) -> str:
    unit = "characters" if isinstance(value, str) else "items"
    given = f"{len(value)} {unit}: " if isinstance(value, str | list | dict) else ""
    return f"is too long: {given}at most {context['max_length']}"


_WORDINGS: dict[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "literal_error": _unknown_word,
    "string_pattern_mismatch": _no_match,
    "extra_forbidden": _unknown_key,
    "greater_than_equal": _low,
    "less_than_equal": _high,
    "too_long": _long,
    "string_too_long": _long,
}
