"""The names that a story uses: "attempt 2", "worker 1", "the producer".

Attempts are numbered in the order in which they began, within the story; the full names stand in
`Lane.full` and can be looked up in the history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from chaos.event import CONTROLLER

_SHOWN = 48
_HOST = re.compile(r"^(?P<role>[a-z]+)-(?P<slot>\d+)\.(?P<incarnation>\d+)$")


def shortened(text: str, limit: int = _SHOWN) -> str:
    """The text, its middle left out if it is long."""
    if len(text) <= limit:
        return text
    half = (limit - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def quoted(job: str, limit: int = _SHOWN) -> str:
    """A job's key in quotes."""
    return repr(shortened(job, limit))


def duration(time_us: int) -> str:
    """`0 ms`, `25.3 ms`, `1.49 s`, `2 min 5 s`: as exact as a reader needs."""
    if time_us < 100_000:
        return f"{time_us / 1_000:.1f} ms".replace(".0 ms", " ms")
    if time_us < 1_000_000:
        return f"{time_us / 1_000:.0f} ms"
    if time_us < 60_000_000:
        return f"{time_us / 1_000_000:.2f} s"
    minutes, seconds = divmod(round(time_us / 1_000_000), 60)
    return f"{minutes} min {seconds} s"


def stamp(time_us: int) -> str:
    """A step's time, to the millisecond where steps may be close: `1.6 ms`, `1.491 s`."""
    return duration(time_us) if time_us < 1_000_000 else f"{time_us / 1_000_000:,.3f} s"


class Names:
    """What hosts and attempts of one story are called."""

    def __init__(self, attempts: Sequence[str], hosts: Iterable[str]) -> None:
        self._attempts = {one: f"attempt {n}" for n, one in enumerate(attempts, 1)}
        self._hosts: dict[str, str] = {}
        known = sorted(set(hosts))
        for host in known:
            self._hosts[host] = _host_name(host, known)

    def attempt(self, attempt: str) -> str:
        """`attempt 2`; one that the story does not show is `another attempt`."""
        return self._attempts.get(attempt, "another attempt")

    def host(self, host: str) -> str:
        """`worker 1`, `the producer`, `Redis`, `saq-chaos`."""
        return self._hosts.get(host) or _host_name(host, [host])

    def plain(self, text: str) -> str:
        """A finding's message with these names in it instead of the history's."""
        for full, name in self._longest(self._attempts):
            text = text.replace(f"attempt {full}", name).replace(full, name)
        text = re.sub(r" \(enqueue \d+\)", "", text)
        text = re.sub(r"(attempt )?\S+/[a-z]+-\d+\.\d+#\d+", "another attempt", text)
        for full, name in self._longest(self._hosts):
            text = text.replace(full, name)
        return text

    @staticmethod
    def _longest(names: dict[str, str]) -> list[tuple[str, str]]:
        return sorted(names.items(), key=lambda pair: (-len(pair[0]), pair[0]))


def _host_name(host: str, hosts: Sequence[str]) -> str:
    if host == CONTROLLER:
        return "saq-chaos"
    short = host.rpartition("/")[2]
    if short == "redis":
        return "Redis"
    parts = _HOST.match(short)
    if parts is None:
        return shortened(short, 20)
    role, slot, incarnation = parts["role"], parts["slot"], parts["incarnation"]
    prefix = f"{host.rpartition('/')[0]}/{role}-"
    if role == "producer" and sum(one.startswith(prefix) for one in hosts) < 2:
        return "the producer"
    others = [one for one in hosts if one.startswith(f"{prefix}{slot}.")]
    return f"{role} {slot}" if len(others) < 2 else f"{role} {slot}.{incarnation}"
