"""The simulated Redis as a host of the world: up, paused, away, and what is recorded of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chaos.sim.network import Network
from chaos.sim.redis_model import Data, RedisModel
from chaos.worker.events import Kind

if TYPE_CHECKING:
    from chaos.sim.kernel import Kernel
    from chaos.sim.log import HostSink


class SimServer:
    """The server of a run.

    Args:
        host: its full name.
        kernel: virtual time.
        model: its data.
        network: the way to it.
        journal: the controller's events.

    Attributes:
        up: whether it listens.
        paused: whether it stands still.
        back_us: when it last came back; -1: it was never away.
    """

    def __init__(
        self, host: str, kernel: Kernel, model: RedisModel, network: Network, journal: HostSink
    ) -> None:
        self.host = host
        self.up = True
        self.paused = False
        self.back_us = -1
        self._kernel = kernel
        self._model = model
        self._network = network
        self._journal = journal
        self._data: Data = "kept"

    @property
    def away(self) -> bool:
        """Whether nobody would answer."""
        return self.paused or not self.up

    def started(self) -> None:
        """Record that it runs."""
        self._record(Kind.HOST_STARTED, role="redis", pid=1)

    def stop(self, word: str, data: Data) -> None:
        """It ends; `start` brings this data back."""
        if not self.up:
            return
        self._record(Kind.HOST_SIGNALLED, signal=word)
        self.up = self.paused = False
        self._data = data
        self._network.stop_server()
        if data == "last_writes_lost":
            self._model.restart(data)  # what is lost counts back from now
        self._record(Kind.HOST_EXITED, code=0, expected=True)

    def start(self) -> None:
        """It listens again; no harm if it does."""
        if self.up:
            return
        if self._data != "last_writes_lost":
            self._model.restart(self._data)
        self.up = True
        self._network.start_server()
        self.back_us = self._kernel.time_us
        self.started()

    def pause(self) -> None:
        """It stands still."""
        if self.up and not self.paused:
            self.paused = True
            self._record(Kind.HOST_SIGNALLED, signal="SIGSTOP")
            self._network.pause_server()

    def resume(self) -> None:
        """It goes on; no error if it was not paused."""
        if self.paused:
            self.paused = False
            self._record(Kind.HOST_SIGNALLED, signal="SIGCONT")
            self._network.resume_server()
            self.back_us = self._kernel.time_us

    def flush_scripts(self) -> None:
        """Every script is forgotten."""
        self._model.script_flush()

    def _record(self, kind: Kind, **fields: Any) -> None:
        self._journal.record_fields(kind, target=self.host, **fields)
