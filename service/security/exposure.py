"""Where the service may listen: beyond loopback only when it knows who is asking.

Without tokens everybody who can connect is an administrator. On loopback those are the users of
this machine; anywhere else it would be everybody.
"""

from __future__ import annotations

import ipaddress

from chaos.errors import UsageError
from service.security import tokens
from service.settings import Settings

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Whether a server that listens there can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a name may mean any address, and another one tomorrow


def check_exposure(settings: Settings) -> None:
    """Refuse to listen where strangers would be administrators, or with a bad tokens file.

    Raises:
        UsageError: there is no tokens file, or it is wrong.
    """
    if settings.tokens_file is not None:
        tokens.read(settings.tokens_file)
        return
    if not is_loopback(settings.host):
        raise UsageError(
            f"the service would listen on {settings.host!r}, where others can reach it, and has no "
            f"tokens: make one with `python -m service token NAME admin --append FILE` and set "
            f"SAQCHAOS_TOKENS_FILE to that file, or set SAQCHAOS_HOST to 127.0.0.1"
        )
