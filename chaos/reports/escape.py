"""Makes text that comes from a run safe for the format it is shown in.

A job key or an error text is chosen by the application under test, or by whoever feeds it. A
terminal obeys escape sequences, XML forbids control characters outright, HTML and Markdown have
markup. Each format has one function here and every report goes through it. Nothing is dropped:
what cannot be shown as it is, is shown as the escape that Python would write.
"""

from __future__ import annotations

import functools
import html as _html
import re
import unicodedata
from collections.abc import Iterable

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&!@])")
_BEGINS_A_BLOCK = re.compile(r"^([-+=]|\d+(?=[.)]))")
# GitHub looks for these after it has made HTML of Markdown, so a backslash does not keep it from
# telling a person or an issue; a space without width behind the sign does.
_MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?=[A-Za-z0-9])|#(?=\d)|\bGH(?=-\d)", re.IGNORECASE)
_SPECIAL = re.compile(r"[^\x20-\x7e]")
_NO_WIDTH = "\u200b"
_MAX = 600


def terminal(text: str, limit: int = _MAX) -> str:
    """One line without control characters, format characters or lone surrogates."""
    shown = _SPECIAL.sub(_escaped, text[:limit])
    return shown if len(text) <= limit else f"{shown}… ({len(text) - limit} more characters)"


def html(text: str, limit: int = _MAX) -> str:
    """Safe between tags and inside quoted attributes."""
    return _html.escape(terminal(text, limit), quote=True)


def xml(text: str) -> str:
    """Only characters that XML 1.0 allows; markup is left to the XML writer."""
    return "\n".join(terminal(line, limit=10_000) for line in text.split("\n"))


def markdown(text: str, limit: int = _MAX) -> str:
    """Shown literally by GitHub, in a table cell too: no markup, no link, nobody is told."""
    shown = _MENTION.sub(rf"\g<0>{_NO_WIDTH}", terminal(text, limit))
    shown = _MARKDOWN.sub(r"\\\1", shown).replace("://", ":\\//").replace("www.", "www\\.")
    begins = _BEGINS_A_BLOCK.match(shown)
    if begins is None:
        return shown
    rest = shown[begins.end() :]
    return f"{begins[0]}\\{rest}" if begins[0].isdecimal() else f"\\{shown}"


def markdown_code(text: str, *, in_table: bool = False, limit: int = _MAX) -> str:
    """A code span, in which nothing is markup, whatever backticks the text has."""
    shown = terminal(text, limit)
    if in_table:
        shown = shown.replace("|", "\\|")
    ticks = "`" * (_longest_run(shown) + 1)
    room = " " if shown[:1] in ("", "`", " ") or shown[-1:] in ("`", " ") else ""
    return f"{ticks}{room}{shown}{room}{ticks}"


def markdown_block(lines: Iterable[str], language: str = "text", limit: int = _MAX) -> str:
    """A fenced block of lines, whatever backticks they have."""
    shown = [terminal(line, limit) for line in lines]
    fence = "`" * max(3, _longest_run("\n".join(shown)) + 1)
    return "\n".join((f"{fence}{language}", *shown, fence))


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _escaped(special: re.Match[str]) -> str:
    return _visible(special[0])


@functools.lru_cache(maxsize=4_096)
def _visible(character: str) -> str:
    if character.isascii():
        return character if character.isprintable() else repr(character)[1:-1]
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return character.encode("unicode_escape").decode("ascii") if hidden else character
