"""YAML as plans use it: text to plain data in which every value knows its place.

    text ──yaml.parse──► events ──► plain data (dict, list, str, int, float, bool, None)
                           │        places: path → line, column
                           └──────► troubles, each with its place

A plan is read by people and by editors, so the subset is the part of YAML that both read alike, and
scalars mean what YAML 1.2 says: `on` is a text, not true, and `1:30` is no number. Anchors, aliases
and merge keys hide what a plan says; tags can build objects; a key that stands twice silently loses
one of its values. All of these are problems. Nothing here knows what a plan is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

DEPTH_MAX = 16
PROBLEMS_MAX = 100

Path = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_HOLE = object()
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a column, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """One problem: where it is, the path of the value if it has one, and what to do about it."""

    place: Place
    path: Path
    message: str


@dataclass(slots=True)
class Document:
    """What a text says.

    Attributes:
        data: plain values; None if the text has no usable document.
        places: where each value stands, by its path; in a mapping, where its key stands.
        troubles: what is wrong with the text as YAML, in order.
        holes: paths of values that could not be read; `data` has None there.
        complete: whether the text was read to its end; if not, keys may be missing from `data`.
    """

    data: Any = None
    places: dict[Path, Place] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)
    holes: set[Path] = field(default_factory=set)
    complete: bool = True


def read(text: str) -> Document:
    """Parse one YAML document. Never raises for what the text says: see `Document.troubles`."""
    document = Document()
    builder = _Builder(document)
    try:
        document.complete = all(builder.feed(event) for event in yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        document.complete = False
        builder.trouble(error.problem_mark or error.context_mark, (), _syntax(error))
    except yaml.YAMLError as error:
        document.complete = False
        place = _place_of_character(text, error)
        document.troubles.append(Trouble(place, (), f"no YAML: {error}".partition("\n")[0]))
    return document


@dataclass(slots=True)
class _Open:
    """A mapping or a sequence that has not ended yet."""

    path: Path
    value: dict[str, Any] | list[Any]
    key: str | None = None
    skipped: bool = False  # the value of the key that comes is dropped


class _Builder:
    """Turns parser events into plain data, without recursion."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._open: list[_Open] = []
        self._documents = 0

    def feed(self, event: yaml.Event) -> bool:
        """Take one event; false once the rest cannot be read sensibly."""
        if isinstance(event, yaml.DocumentStartEvent):
            return self._document_starts(event)
        if isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.ScalarEvent):
            self._check_node(event)
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._check_node(event)
            return self._begin(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._open.pop()
        return len(self._document.troubles) < PROBLEMS_MAX

    def trouble(self, mark: Any, path: Path, message: str) -> None:
        """Note a problem at a mark of PyYAML's (which counts from 0)."""
        place = Place(mark.line + 1, mark.column + 1) if mark is not None else Place(1, 1)
        self._document.troubles.append(Trouble(place, path, message))

    def _document_starts(self, event: yaml.Event) -> bool:
        self._documents += 1
        if self._documents > 1:
            self.trouble(event.start_mark, (), "a second document: a plan is one (remove `---`)")
        return self._documents == 1

    def _check_node(self, event: Any) -> None:
        if event.anchor is not None:
            message = f"`&{event.anchor}` is an anchor: write the value out where it is used"
            self.trouble(event.start_mark, (), message)
        if event.tag is not None:
            self.trouble(
                event.start_mark, (), f"`{event.tag}` is a tag: plans have plain values only"
            )

    def _alias(self, event: Any) -> None:
        message = f"`*{event.anchor}` is an alias: write the value out, so that the plan shows it"
        self.trouble(event.start_mark, (), message)
        if self._expects_key():
            self._take_key("*", event, skipped=True)
        else:
            self._put(_HOLE, event)

    def _scalar(self, event: Any) -> None:
        if self._expects_key():
            self._take_key(event.value, event, merges=event.value == "<<" and event.implicit[0])
        else:
            self._put(self._value_of(event), event)

    def _value_of(self, event: Any) -> Any:
        if any("\ud800" <= character <= "\udfff" for character in event.value):
            self.trouble(event.start_mark, (), "holds half of a character (a lone surrogate)")
            return _HOLE
        if not event.implicit[0]:
            return event.value
        if _INFINITE.fullmatch(event.value):
            self.trouble(event.start_mark, (), f"`{event.value}` is no finite number")
            return _HOLE
        return resolve(event.value)

    def _begin(self, event: Any) -> bool:
        if len(self._open) >= DEPTH_MAX:
            message = f"nested deeper than {DEPTH_MAX} levels: no plan needs that"
            self.trouble(event.start_mark, (), message)
            return False
        if self._expects_key():
            self.trouble(event.start_mark, (), "a key is a plain word, no list and no mapping")
            return False
        value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_Open(self._put(value, event), value))
        return True

    def _expects_key(self) -> bool:
        if not self._open:
            return False
        inner = self._open[-1]
        return isinstance(inner.value, dict) and inner.key is None

    def _take_key(
        self, key: str, event: Any, *, skipped: bool = False, merges: bool = False
    ) -> None:
        inner = self._open[-1]
        path = (*inner.path, key)
        assert isinstance(inner.value, dict)
        if merges:
            skipped = True
            message = "`<<` is a merge key: write the keys out, so that the plan shows them"
            self.trouble(event.start_mark, path, message)
        elif key in inner.value:
            skipped = True
            line = self._document.places[path].line
            message = f"`{key}` stands here twice (first in line {line}): keep one of them"
            self.trouble(event.start_mark, path, message)
        if not skipped:
            mark = event.start_mark
            self._document.places[path] = Place(mark.line + 1, mark.column + 1)
        inner.key, inner.skipped = key, skipped

    def _put(self, value: Any, event: Any) -> Path:
        """Store a value where it belongs; its path."""
        path, kept = self._next_path()
        if kept:
            mark = event.start_mark
            self._document.places.setdefault(path, Place(mark.line + 1, mark.column + 1))
            self._store(path, value)
        return path

    def _next_path(self) -> tuple[Path, bool]:
        """Where the next value belongs, and whether it is kept."""
        if not self._open:
            return (), True
        inner = self._open[-1]
        if isinstance(inner.value, list):
            return (*inner.path, len(inner.value)), True
        assert inner.key is not None
        key, kept = inner.key, not inner.skipped
        inner.key, inner.skipped = None, False
        return (*inner.path, key if kept else f"{key} (dropped)"), kept

    def _store(self, path: Path, value: Any) -> None:
        if value is _HOLE:
            self._document.holes.add(path)
            value = None
        if not self._open:
            self._document.data = value
        elif isinstance(inner := self._open[-1].value, list):
            inner.append(value)
        else:
            inner[str(path[-1])] = value


def resolve(text: str) -> Any:
    """The value of a plain scalar in YAML 1.2's core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) < 40:
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def _syntax(error: yaml.MarkedYAMLError) -> str:
    what = " ".join(part for part in (error.context, error.problem) if part)
    return f"no YAML: {what}"


def _place_of_character(text: str, error: yaml.YAMLError) -> Place:
    """PyYAML gives a forbidden character's position as an offset only."""
    position = getattr(error, "position", None)
    before = text[: position if isinstance(position, int) else 0]
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))


def paths_of(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of plain data with its path, outer before inner, in order."""
    yield path, data
    if isinstance(data, dict):
        for key, value in data.items():
            yield from paths_of(value, (*path, key))
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield from paths_of(value, (*path, place))
