"""What faults do to the simulated server and to the way to it: a part of the simulated world.

It has Server, Rewind, Links, Cuts and Scripts of `chaos.world`. The rest, the hosts, is in
`chaos.sim.world`.
"""

from __future__ import annotations

from random import Random

from chaos.links import Rule, Selection
from chaos.sim.network import Network
from chaos.sim.server import SimServer


class LinksAndServer:
    """The server of a world and the links to it.

    Args:
        server: the simulated Redis.
        network: the links to it.
    """

    def __init__(self, server: SimServer, network: Network) -> None:
        self._server = server
        self._network = network

    async def stop_server(self, *, keep_data: bool) -> None:
        """Shut the server down, its data saved or thrown away. Nothing happens if it is down."""
        if keep_data:
            self._server.stop("SHUTDOWN SAVE", "kept")
        else:
            self._server.stop("SHUTDOWN NOSAVE", "lost")

    async def crash_server(self) -> None:
        """It dies at once; `start_server` brings back what it held at the last full second."""
        self._server.stop("SIGKILL", "last_writes_lost")

    async def start_server(self) -> None:
        """Start it again on the same address. No harm if it runs."""
        self._server.start()

    async def flush_scripts(self) -> None:
        """SCRIPT FLUSH: the next EVALSHA of any script is answered with NOSCRIPT."""
        self._server.flush_scripts()

    def add_rule(self, rule: Rule) -> int:
        """Let a rule stand for every message that is sent from now on; its handle."""
        return self._network.add_rule(rule)

    def remove_rule(self, handle: int) -> None:
        """End a rule. No error if it does not stand."""
        self._network.remove_rule(handle)

    def cut(self, which: Selection, stream: Random) -> int:
        """Break the open connections of `which`; how many."""
        return self._network.cut(which, stream)
