"""What every answer tells a browser: guess no types, leak no addresses, load nothing foreign.

A route that sends a Content-Security-Policy or Cache-Control of its own (reports are served under
`sandbox`) keeps it.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders

CONSOLE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"
_ALWAYS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


def add_security_headers(headers: MutableHeaders, path: str, status: int) -> None:
    """Add them to an answer's headers."""
    for name, value in _ALWAYS:
        headers[name] = value
    is_page = headers.get("content-type", "").startswith("text/html")
    headers.setdefault("Content-Security-Policy", CONSOLE_POLICY if is_page else DATA_POLICY)
    if path == "/v1" or path.startswith("/v1/"):
        headers.setdefault("Cache-Control", "no-store")
    if status == 401:
        headers.setdefault("WWW-Authenticate", 'Bearer realm="saq-chaos"')
