"""Makes text that comes from a run safe for the format it is shown in.

A job key or an error text is chosen by the application under test, or by whoever feeds it. A
terminal obeys escape sequences, XML forbids control characters outright, HTML and Markdown have
markup. Each format has one function here and every report goes through it. Nothing is dropped:
what cannot be shown as it is, is shown as the escape that Python would write.
"""

from __future__ import annotations

import html as _html
import re
import unicodedata

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&!@])")
_MAX = 600


def terminal(text: str, limit: int = _MAX) -> str:
    """One line without control characters, format characters or lone surrogates."""
    shown = "".join(_visible(character) for character in text[:limit])
    return shown if len(text) <= limit else f"{shown}… ({len(text) - limit} more characters)"


def html(text: str, limit: int = _MAX) -> str:
    """Safe between tags and inside quoted attributes."""
    return _html.escape(terminal(text, limit), quote=True)


def xml(text: str) -> str:
    """Only characters that XML 1.0 allows; markup is left to the XML writer."""
    return "\n".join(terminal(line, limit=10_000) for line in text.split("\n"))


def markdown(text: str, limit: int = _MAX) -> str:
    """Shown literally by GitHub, in a table cell too: no markup, no mention, no link."""
    return _MARKDOWN.sub(r"\\\1", terminal(text, limit)).replace("://", ":\\//")


def _visible(character: str) -> str:
    if character.isascii():
        return character if character.isprintable() else repr(character)[1:-1]
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return character.encode("unicode_escape").decode("ascii") if hidden else character
