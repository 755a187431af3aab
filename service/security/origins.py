"""Which names the service answers to, and which pages may use it.

A browser on this machine reaches a service on loopback on behalf of every page that it shows. Two
checks stop that: the Host header must be a name of ours (a page whose own name was re-bound to
127.0.0.1 still sends its own), and what a browser says about where a request comes from
(`Sec-Fetch-Site`, `Origin`) must be this very origin. There is no CORS: no other origin is let in.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from service.errors import BadRequest, Forbidden
from service.security.exposure import LOOPBACK_NAMES
from service.settings import Settings

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST_MAX = 300


def check_host(host: str, settings: Settings, listening: int) -> None:
    """Refuse a Host header that is none of our names.

    Args:
        host: the header, empty if there is none.
        settings: `hosts` are allowed with any port where they name none.
        listening: the port of the socket that the request came in on.
    """
    name, port = split_host(host)
    own = (*LOOPBACK_NAMES, settings.host.lower())
    ports = (settings.port or listening, listening)
    if name in own and name not in ("", "0.0.0.0", "::") and (port or 80) in ports:  # noqa: S104 - it is refused here
        return
    for allowed in settings.hosts:
        allowed_name, allowed_port = split_host(allowed.lower())
        if name and name == allowed_name and allowed_port in (None, port):
            return
    raise BadRequest(
        f"the Host header {host[:_HOST_MAX]!r} is no name of this service: the operator lists "
        f"further names in SAQCHAOS_HOSTS"
    )


def check_page(method: str, headers: Mapping[str, str], host: str, *, secure: bool) -> None:
    """Refuse what a page of another origin makes a browser send.

    Reads are refused too, unless a person follows a link: a foreign page could not see the answer,
    but it could use up event streams.
    """
    site = headers.get("sec-fetch-site", "")
    if site not in ("", "same-origin", "none"):
        follows_link = (
            method in SAFE_METHODS
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        if not follows_link:
            raise Forbidden(
                f"the request comes from a page of another origin (Sec-Fetch-Site: {site[:20]!r}): "
                f"only this service's own pages may use it"
            )
    origin = headers.get("origin")
    if origin is not None and method not in SAFE_METHODS and not same_origin(origin, host, secure):
        raise Forbidden(
            f"the request comes from {origin[:_HOST_MAX]!r}, another origin: only this service's "
            f"own pages may use it. A reverse proxy must pass the Host header on"
        )


def same_origin(origin: str, host: str, secure: bool) -> bool:
    """Whether an Origin header is that of the page that was asked for under this Host."""
    try:
        parts = urlsplit(origin.lower())
        origin_port = parts.port
    except ValueError:
        return False
    if parts.scheme not in (("https",) if secure else ("http", "https")) or not parts.hostname:
        return False
    default = _DEFAULT_PORTS[parts.scheme]
    name, port = split_host(host)
    return (parts.hostname, origin_port or default) == (name, port or default)


def split_host(host: str) -> tuple[str, int | None]:
    """Name and port of a Host header; the name is empty where the header is none."""
    try:
        parts = urlsplit(f"//{host.lower()}")
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return "", None
    if parts.path or parts.query or parts.fragment or "@" in host:
        return "", None
    return name.removesuffix("."), port
