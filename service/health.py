"""`python -m service.health`: asks the service on this machine whether it is alive. For images.

Exit code 0 if `/healthz` answers 200, else 1 with the reason. The address is loopback with the port
of `SAQCHAOS_PORT`, whatever the service listens on beside it. An image asks every few seconds, so
nothing is imported that takes long: not even the settings.
"""

from __future__ import annotations

import http.client
import os
import sys

DEFAULT_PORT = "8080"
ANSWER_SECONDS = 4


def problem(port: int) -> str:
    """Empty if the service on loopback's `port` answers 200, else why not."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    except OSError as error:
        return f"nothing answers on port {port}: {error}"
    except http.client.HTTPException as error:
        return f"what answers on port {port} speaks no HTTP: {error!r}"
    finally:
        connection.close()
    return "" if status == 200 else f"/healthz on port {port} answered {status}"


def main() -> int:
    """Say the problem on stderr, if there is one."""
    port = os.environ.get("SAQCHAOS_PORT") or DEFAULT_PORT
    if port.isdigit() and 0 < int(port) < 65_536:
        found = problem(int(port))
    else:
        found = f"SAQCHAOS_PORT={port!r} is no port to ask: give a number from 1 to 65535"
    if found:
        sys.stderr.write(f"saq-chaos service: {found}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
