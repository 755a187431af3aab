"""Token buckets: how much each caller may ask, sustained and at once.

A bucket holds up to `burst` and fills by `per_second`. The number of buckets is bounded: when there
are too many, the one that was used longest ago goes, and comes back full.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from chaos.clock import SECOND_US, MonotonicClock

BUCKETS_MAX = 10_000

NowUs = Callable[[], int]


@dataclass(slots=True)
class _Bucket:
    level: float
    at_us: int


class Rate:
    """One limit, a bucket for each key."""

    def __init__(self, per_second: float, burst: int, now_us: NowUs | None = None) -> None:
        self._per_us = per_second / SECOND_US
        self._burst = burst
        self._now_us = now_us or MonotonicClock().now_us
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, key: str) -> int:
        """Take one. 0 if there was one; else in how many whole seconds there will be."""
        now_us = self._now_us()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(self._burst, now_us)
            if len(self._buckets) > BUCKETS_MAX:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        filled = bucket.level + (now_us - bucket.at_us) * self._per_us
        bucket.level, bucket.at_us = min(self._burst, filled), now_us
        if bucket.level >= 1:
            bucket.level -= 1
            return 0
        return 1 + int((1 - bucket.level) / self._per_us / SECOND_US)


def peer_key(peer: str) -> str:
    """Whom a peer counts as: its address, or its /64 in IPv6, where one host has them all."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return peer
    if address.version == 6:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
