r"""The server's patterns: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before a character meant as itself.

They differ from the shell's: `]` ends a class even as its first character, a class that is not
closed ends with the pattern, and a range may stand either way round.
"""

from __future__ import annotations

import re
from functools import lru_cache


def matches(pattern: bytes, text: bytes) -> bool:
    """Whether the whole text is as the pattern says."""
    return pattern == b"*" or _compiled(pattern).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    parts: list[bytes] = []
    place = 0
    while place < len(pattern):
        part, place = _part(pattern, place)
        parts.append(part)
    return re.compile(b"".join(parts), re.DOTALL)


def _part(pattern: bytes, place: int) -> tuple[bytes, int]:
    """The regular expression of what stands at a place, and the place after it."""
    char = pattern[place : place + 1]
    if char == b"*":
        return b".*", place + 1
    if char == b"?":
        return b".", place + 1
    if char == b"[":
        return _class(pattern, place + 1)
    if char == b"\\" and place + 1 < len(pattern):
        return re.escape(pattern[place + 1 : place + 2]), place + 2
    return re.escape(char), place + 1


def _class(pattern: bytes, place: int) -> tuple[bytes, int]:
    negated = pattern[place : place + 1] == b"^"
    place += negated
    members: list[bytes] = []
    while place < len(pattern) and pattern[place : place + 1] != b"]":
        if pattern[place : place + 1] == b"\\" and place + 1 < len(pattern):
            members.append(re.escape(pattern[place + 1 : place + 2]))
            place += 2
        elif pattern[place + 1 : place + 2] == b"-" and place + 2 < len(pattern):
            low, high = sorted((pattern[place], pattern[place + 2]))
            members.append(b"%s-%s" % (re.escape(bytes([low])), re.escape(bytes([high]))))
            place += 3
        else:
            members.append(re.escape(pattern[place : place + 1]))
            place += 1
    if not members:
        return (b"." if negated else b"(?!)"), place + 1
    return b"[%s%s]" % (b"^" if negated else b"", b"".join(members)), place + 1
