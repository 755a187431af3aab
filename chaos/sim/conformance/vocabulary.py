"""Words that conformance programs are made of: few, so that programs meet their own keys again."""

from __future__ import annotations

from random import Random

STRINGS = (b"s1", b"s2", b"s3")
LISTS = (b"l1", b"l2", b"l3")
ZSETS = (b"z1", b"z2")
KEYS = STRINGS + LISTS + ZSETS
ITEMS = (b"a", b"a", b"b", b"c", b"")
MEMBERS = (b"a", b"b", b"c", b"d", b"e", b"f")
VALUES = (
    b"v",
    b"w",
    b"1",
    b"10",
    b"-3",
    b"",
    b"9223372036854775807",
    b"1.5",
    b"07",
    b"x\r\ny\x00\xff",
)
INDEXES = (b"0", b"1", b"2", b"-1", b"-2", b"5", b"-9", b"100")
COUNTS = (b"0", b"1", b"2", b"-1", b"-2", b"7")
SCORES = (
    b"0", b"1", b"2", b"3", b"2.5", b"-1", b"inf", b"-inf", b"+inf", b"1e3", b"0.1", b"-0", b"1e20",
    b"1712345678.123456", b"1e-7", b"0.00001234", b"3.0", b"9007199254740993",
    b"12345678901234567000",
)  # fmt: skip
BOUNDS = (
    b"-inf",
    b"+inf",
    b"inf",
    b"0",
    b"1",
    b"2",
    b"(1",
    b"(2",
    b"(0",
    b"3",
    b"2.5",
    b"(inf",
    b"(-inf",
)
NO_NUMBERS = (
    b"a",
    b"",
    b"1.5",
    b" 1",
    b"01",
    b"99999999999999999999",
    b"nan",
    b"1e400",
    b"0x1",
    b"(",
)
CHANNELS = (b"c1", b"c2", b"d1")
PATTERNS = (b"c*", b"c?", b"[cd]1", b"d1", b"*", b"c[^1]", b"\\c1", b"[", b"c[2-1]")
LONG_S = (b"100", b"5000", b"99999999")
LONG_MS = (b"100000", b"123456789")
MESSAGES = (b"hi", b"", b"complete", b"\x00\xff")


def pick(draw: Random, usual: tuple[bytes, ...], odd: tuple[bytes, ...] = NO_NUMBERS) -> bytes:
    """One of the usual words, seldom one that does not belong there."""
    return draw.choice(odd) if draw.randrange(24) == 0 else draw.choice(usual)


def key(draw: Random, usual: tuple[bytes, ...]) -> bytes:
    """A key that usually has the right type."""
    return draw.choice(KEYS) if draw.randrange(12) == 0 else draw.choice(usual)


def some(draw: Random, words: tuple[bytes, ...], at_most: int = 3) -> tuple[bytes, ...]:
    """One to `at_most` of the words, with repetition."""
    return tuple(draw.choice(words) for _ in range(1 + draw.randrange(at_most)))


def spelled(draw: Random, word: bytes) -> bytes:
    """A word, seldom in small letters."""
    return word.lower() if draw.randrange(10) == 0 else word
