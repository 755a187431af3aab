"""verdict.json: the verdict for machines, and back."""

from __future__ import annotations

from pathlib import Path

import msgspec

from chaos.errors import HistoryError
from chaos.verdict import Verdict


def render(verdict: Verdict) -> str:
    """Indented JSON that ends with a newline. The fields stand in docs/results.md."""
    return msgspec.json.format(msgspec.json.encode(verdict), indent=2).decode() + "\n"


def read(path: Path) -> Verdict:
    """A stored verdict.

    Raises:
        HistoryError: the file is missing or is no verdict; the message names the field.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HistoryError(f"cannot read the verdict {path}: {error.strerror}") from error
    return loads(content, str(path))


def loads(content: bytes, name: str) -> Verdict:
    """A stored verdict, from its content; `name` is what a message calls it.

    Raises:
        HistoryError: it is no verdict; the message names the field.
    """
    try:
        return msgspec.json.decode(content, type=Verdict)
    except msgspec.DecodeError as error:
        raise HistoryError(f"{name} is no verdict: {error}") from error
