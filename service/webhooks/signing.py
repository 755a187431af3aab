"""The signature of a webhook: HMAC-SHA256 over the time and the body, as Stripe's and GitHub's are.

    X-Saqchaos-Signature: t=1767225600,v1=5257a8…     v1 = HMAC-SHA256(key, "1767225600." + body)
    X-Saqchaos-Delivery:  9f2c…                       the same for every attempt of one delivery
    X-Saqchaos-Event:     run.ended

The time is part of what is signed, so a recorded request cannot be sent again later: a receiver
refuses a time that is more than `WINDOW_S` away from its own, and a delivery that it has seen.
`verify` does that; it needs the standard library alone, so a receiver may copy it.
"""

from __future__ import annotations

import hashlib
import hmac

WINDOW_S = 300
SIGNATURE = "X-Saqchaos-Signature"
DELIVERY = "X-Saqchaos-Delivery"
EVENT = "X-Saqchaos-Event"


def sign(key: bytes, body: bytes, at_s: int) -> str:
    """The header's value for a body that is sent at `at_s` (seconds since 1970)."""
    return f"t={at_s},v1={_digest(key, body, at_s)}"


def verify(key: bytes, body: bytes, signature: str, now_s: int) -> bool:
    """Whether this body came from who has the key, within the window."""
    parts = dict(part.partition("=")[::2] for part in signature.split(","))
    at_text = parts.get("t", "")
    if not (at_text.isascii() and at_text.isdigit() and len(at_text) <= 15):
        return False
    given = parts.get("v1", "").encode()
    genuine = hmac.compare_digest(given, _digest(key, body, int(at_text)).encode())
    return genuine and abs(now_s - int(at_text)) <= WINDOW_S


def _digest(key: bytes, body: bytes, at_s: int) -> str:
    return hmac.new(key, f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
