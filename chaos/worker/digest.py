"""A short fingerprint of a job's kwargs: the history says whether two are equal, not what they are.

It is a hash keyed by the run's salt over JSON with sorted keys. A producer hashes what will arrive:
the kwargs after a round trip through the queue's own dump and load, since JSON turns tuples into
lists and integer keys into texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import blake2s
from typing import Any

DIGEST_BYTES = 8

Digest = Callable[[Any], str]


def keyed(salt: str) -> Digest:
    """The digest function of one run. The digest of no kwargs is a constant."""
    key = blake2s(salt.encode()).digest()
    encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_foreign).encode

    def digest(kwargs: Any) -> str:
        if not kwargs:
            return empty
        try:
            text = encode(kwargs)
        except (TypeError, ValueError, RecursionError):
            text = encode(_sortable(kwargs, 0))
        return blake2s(text.encode(), digest_size=DIGEST_BYTES, key=key).hexdigest()

    empty = blake2s(b"{}", digest_size=DIGEST_BYTES, key=key).hexdigest()
    return digest


def arriving(queue: Any, job: Any) -> Any:
    """The kwargs of `job` as a worker will find them; None if the queue cannot say."""
    if not job.kwargs:
        return job.kwargs
    try:
        return queue.deserialize(queue.serialize(job)).kwargs
    except Exception:  # a queue without them, or a custom dump that cannot be loaded here
        return job.kwargs


def _foreign(value: Any) -> str:
    """Stands for what JSON does not know: its type, since a repr may hold an address."""
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def _sortable(value: Any, depth: int) -> Any:
    """The same value with keys that sort: a custom dump may allow mixed or foreign keys."""
    if depth > 100:
        return "<deeper>"
    if isinstance(value, Mapping):
        pairs = [
            (str(key) if isinstance(key, (str, int, float)) else _foreign(key), item)
            for key, item in value.items()
        ]
        return {key: _sortable(item, depth + 1) for key, item in sorted(pairs, key=_first)}
    if isinstance(value, (list, tuple)):
        return [_sortable(item, depth + 1) for item in value]
    return value


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]
