"""What stands between `saq-chaos gate` and a service in its tests, on real sockets.

`Cutter` hands bytes on and breaks event streams off; `scripted` is a server that says what it is
told to, as a proxy, a log-in page or an attacker would.
"""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

Reply = tuple[int, dict[str, str], bytes]


class Cutter(socketserver.ThreadingTCPServer):
    """A proxy that closes each of the first `cuts` event streams after `after` bytes of it."""

    daemon_threads = True

    def __init__(self, target: str, cuts: int, after: int) -> None:
        super().__init__(("127.0.0.1", 0), _Through)
        self.target = ("127.0.0.1", urlsplit(target).port or 0)
        self.cuts = cuts
        self.after = after
        self.heads: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Through(socketserver.BaseRequestHandler):
    """One connection: requests one way, answers the other."""

    server: Cutter

    def handle(self) -> None:
        with socket.create_connection(self.server.target) as behind:
            own, theirs = (f"Host: 127.0.0.1:{one}\r\n".encode() for one in self._ports())
            self.streams = False
            answers = threading.Thread(target=self._answers, args=(behind,), daemon=True)
            answers.start()
            with suppress(OSError):
                while data := self.request.recv(65_536):
                    if b"/events " in data:
                        self.streams = True
                        self.server.heads.append(data.decode("latin-1"))
                    behind.sendall(data.replace(own, theirs))
            with suppress(OSError):
                behind.shutdown(socket.SHUT_RDWR)
            answers.join()

    def _ports(self) -> tuple[int, int]:
        return self.server.server_address[1], self.server.target[1]

    def _answers(self, behind: socket.socket) -> None:
        passed = 0
        with suppress(OSError):
            while data := behind.recv(65_536):
                if self.streams and self.server.cuts:
                    begins = data.find(b"\r\n\r\n") + 4 if not passed else 0
                    data = data[: begins + self.server.after - passed]
                    passed += len(data) - begins
                self.request.sendall(data)
                if self.streams and self.server.cuts and passed >= self.server.after:
                    self.server.cuts -= 1
                    self.request.shutdown(socket.SHUT_RDWR)
                    return


@contextmanager
def cutting(target: str, cuts: int, after: int) -> Iterator[Cutter]:
    """A `Cutter` before the service at `target`."""
    with Cutter(target, cuts, after) as proxy, _serving(proxy):
        yield proxy


@contextmanager
def scripted(replies: dict[str, Reply], after_s: float = 0.0) -> Iterator[str]:
    """A server that answers `METHOD /path` as `replies` says, and 404 to the rest, each late."""

    class Scripted(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            self.rfile.read(length)
            nothing: Reply = (404, {}, b"")
            status, headers, body = replies.get(f"{self.command} {self.path}", nothing)
            time.sleep(after_s)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    with server, _serving(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


@contextmanager
def _serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
