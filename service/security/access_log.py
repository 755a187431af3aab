"""One line in the log for each request, without what a URL may hold by accident.

Values of query keys that the API knows are shown; any other key stands as `…`, since people paste
secrets into URLs. Everything is escaped to printable ASCII, so no request can write a line of its
own into the log or send escape sequences to whoever reads it on a terminal.
"""

from __future__ import annotations

import logging
from urllib.parse import parse_qsl, quote, unquote

from service.errors import BadRequest

KNOWN_KEYS = ("limit", "cursor", "state", "outcome", "plan", "trigger", "label", "after", "variant")
SECRET_KEYS = ("token", "access_token", "authorization")
_TEXT_MAX = 300

logger = logging.getLogger("service.access")


def log(method: str, path: bytes, query: bytes, status: int, took_us: int, who: str) -> None:
    """Write the line. `path` and `query` are as they came."""
    logger.info(
        "%s %s%s %d %d.%03dms %s",
        printable(method),
        printable(path.decode("latin-1")),
        shown_query(query),
        status,
        *divmod(took_us, 1_000),
        printable(who),
    )


def shown_query(query: bytes) -> str:
    """The query with the values of known keys only."""
    if not query:
        return ""
    shown = [
        f"{key}={printable(quote(value, safe=''))}" if key in KNOWN_KEYS else "…"
        for key, value in _pairs(query)
    ]
    return "?" + "&".join(shown[:20])


def check_no_secret(query: bytes) -> None:
    """Refuse a token in a URL, which proxies, histories and logs would keep."""
    for key, _ in _pairs(query):
        if unquote(key).strip().lower() in SECRET_KEYS:
            raise BadRequest(
                f"a secret must not stand in a URL ({key[:30]!r}): send the header "
                f"`Authorization: Bearer TOKEN`, or log in with POST /v1/session where a browser "
                f"cannot set headers. Make a new token: this one may be in a log now"
            )


def printable(text: str) -> str:
    """Printable ASCII without quotes' meaning: anything else as `%XX`."""
    return quote(text[:_TEXT_MAX], safe="!#$%&'()*+,/:;<=>?@[]^_`{|}~-. \"")


def _pairs(query: bytes) -> list[tuple[str, str]]:
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True)
