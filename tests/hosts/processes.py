"""Real worker and producer processes for tests, and a way to wait for what they record."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from chaos import event as e
from chaos.environments import Environment
from chaos.tail import EventFile

MAIN = Path(__file__).parents[2] / "chaos" / "worker" / "main.py"
SECONDS_MAX = 60
QUICK = {"profile": "quick", "takes_us": 1_000}

AnEvent = TypeVar("AnEvent", bound=e.Event)


class Host:
    """One process of the worker package, its recorded events and what it prints."""

    def __init__(self, process: subprocess.Popen[str], name: str, folder: Path) -> None:
        self.process = process
        self.name = name
        self.seen: list[e.Event] = []
        self._file = EventFile(folder / f"{name}.events", name, 0)
        self._log = folder / f"{name}.log"
        self._calls = 0

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8")

    def of(self, kind: type[AnEvent]) -> list[AnEvent]:
        """Every event of a kind recorded so far."""
        self.seen += self._file.read()
        return [event for event in self.seen if isinstance(event, kind)]

    def wait_for(
        self, kind: type[AnEvent], count: int = 1, that: Callable[[AnEvent], bool] = lambda _: True
    ) -> list[AnEvent]:
        """The first `count` events of a kind `that` holds for; fails with all that was seen."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline:
            found = [event for event in self.of(kind) if that(event)]
            if len(found) >= count:
                return found[:count]
            time.sleep(0.01)
        raise AssertionError(
            f"{self.name} recorded no {count} {kind.__name__}; it recorded {self.seen}"
            f" and printed {self.log}"
        )

    def tell(self, do: str, **fields: Any) -> int:
        """Give a producer a command; the number of its call."""
        self._calls += 1
        self.write(json.dumps({"do": do, "call": self._calls, **fields}))
        return self._calls

    def write(self, line: str) -> None:
        """Give a producer a line of any kind."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self, call: int) -> str:
        """Wait for a call's answer: its error, empty if it went well."""
        return self.wait_for(e.Answered, that=lambda event: event.call == call)[0].error

    def ask(self, do: str, **fields: Any) -> str:
        """Give a command and wait for its answer."""
        return self.answer(self.tell(do, **fields))

    def end(self, signal_number: int | None = None) -> int:
        """Close its stdin, or send it a signal, and wait for its exit code."""
        if signal_number is not None:
            self.process.send_signal(signal_number)
        elif self.process.stdin is not None:
            self.process.stdin.close()
        return self.process.wait(SECONDS_MAX)


class Hosts:
    """Starts processes of one variant on one Redis, and ends those that are left."""

    def __init__(self, folder: Path, environment: Environment, redis_url: str) -> None:
        self.folder = folder
        self._environment = environment
        self._redis_url = redis_url
        self._hosts: list[Host] = []

    def config(self, name: str, **fields: Any) -> Path:
        """A config file as the launcher writes it, with `fields` changed."""
        config = {
            "role": "worker",
            "host": name,
            "events": str(self.folder / f"{name}.events"),
            "redis_url": self._redis_url,
            "queue": "soak",
            "salt": "00ff",
            "patch": "stock",
            "concurrency": 4,
            "timers": {"schedule": 1.0, "worker_info": 10.0, "sweep": 60.0, "abort": 0.1},
            "grace_s": 1.0,
            "deadline_s": 0.5,
            "app": None,
            "app_path": None,
            "workload": "app" if fields.get("app") else "same_key",
            "mark": "",
        }
        path = self.folder / f"{name}.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps({**config, **fields}))
        return path

    def command(self, *arguments: str) -> list[str]:
        """The command line of a process."""
        return [str(self._environment.python), str(MAIN), *arguments]

    def start(self, name: str, arguments: Sequence[str] | None = None, **fields: Any) -> Host:
        """Start a process; without `arguments` it gets a config with `fields`."""
        if arguments is None:
            arguments = [str(self.config(name, **fields))]
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                self.command(*arguments),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, **self._environment.env},
                cwd=self.folder,
            )
        host = Host(process, name, self.folder)
        self._hosts.append(host)
        return host

    def worker(self, **fields: Any) -> Host:
        """A worker that has come up."""
        host = self.start("worker-1.1", **fields)
        host.wait_for(e.HostBegan)
        return host

    def producer(self, **fields: Any) -> Host:
        """A producer that has come up."""
        host = self.start("producer-1.1", role="producer", **fields)
        host.wait_for(e.HostBegan)
        return host

    def stop(self) -> None:
        """End whatever still runs."""
        for host in self._hosts:
            host.process.kill()
            host.process.wait()
            if host.process.stdin is not None:
                host.process.stdin.close()


@contextmanager
def hosts_of(folder: Path, environment: Environment, redis_url: str) -> Iterator[Hosts]:
    """Processes of one variant that are gone at the end."""
    hosts = Hosts(folder, environment, redis_url)
    try:
        yield hosts
    finally:
        hosts.stop()


def write_app(folder: Path, **files: str) -> str:
    """Write an application: `tasks="…"` becomes tasks.py; the folder to put on the path."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return str(folder)
