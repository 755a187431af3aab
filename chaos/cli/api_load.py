"""What `bench api` asks of a service: reads at once, readers of event streams, starts and stops.

idle ──reads──► p99 ─┐
soak ──reads──► p99 ─┴► ratio          soak alone, soak with reads ──► attempts/s, ratio
one run ──200 streams, one that never reads──► events, compared with the run's own count
N × (start, stop) ──► processes, file descriptors, run directories of servers left
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chaos.cli.service_process import ServiceProcess
from chaos.errors import WorldError

if TYPE_CHECKING:
    import httpx

SOAK = {"plan": "same-key", "variants": ["stock@0.26.3"]}
SHORT = {"plan": "one-key", "world": "sim", "variants": ["stock@0.26.4"], "duration": "1s"}
READS = ("/v1/runs", "/v1/runs/{run}", "/v1/plans", "/v1/variants", "/v1/runs/{run}/verdict",
         "/readyz", "/v1/checkers", "/metrics")  # fmt: skip
ANSWER_SECONDS = 120.0
RUN_SECONDS = 900.0
STEP_SECONDS = 0.2
SMALL_BUFFER = 4_096


@dataclass(slots=True)
class Reads:
    """Reads of one round: seconds that each took, and what failed."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def percentile(self, percent: int) -> float:
        """Seconds within which so many percent were answered (nearest rank)."""
        ordered = sorted(self.seconds)
        return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0.0


@dataclass(frozen=True, slots=True)
class Streams:
    """Readers of one run's events: how many saw all `events` of them, in order, once each."""

    subscribers: int
    complete: int
    events: int


@dataclass(frozen=True, slots=True)
class Cycles:
    """Runs started and stopped again, and what is there more than before them."""

    cycles: int
    processes: int
    descriptors: int
    failed: tuple[str, ...]


async def start(client: httpx.AsyncClient, body: dict[str, Any]) -> str:
    """Ask for a run; its id.

    Raises:
        WorldError: the service refuses.
    """
    answer = await client.post("/v1/runs", json=body)
    if answer.status_code != 201:
        raise WorldError(f"the service refuses a run: {answer.status_code} {answer.text[:300]}")
    return str(answer.json()["id"])


async def wait_for(client: httpx.AsyncClient, run: str, *, phase: str = "") -> dict[str, Any]:
    """The run once it has ended, or once it has come to a phase."""
    end = time.monotonic() + RUN_SECONDS
    while time.monotonic() < end:
        found: dict[str, Any] = (await client.get(f"/v1/runs/{run}")).json()
        if found["state"] == "ended" or (phase and found["phase"] == phase):
            return found
        await asyncio.sleep(STEP_SECONDS)
    raise WorldError(f"run {run} has not ended after {RUN_SECONDS:.0f} s")


async def read(client: httpx.AsyncClient, requests: int, concurrency: int, run: str) -> Reads:
    """So many reads of all kinds, `concurrency` of them at once."""
    done, waiting = Reads(), iter(range(requests))

    async def reader() -> None:
        for number in waiting:
            path = READS[number % len(READS)].format(run=run)
            began = time.perf_counter()
            try:
                answer = await client.get(path)
            except Exception as error:  # noqa: BLE001 - whatever it is, the read failed
                done.failed.append(f"{path}: {error!r}")
                continue
            done.seconds.append(time.perf_counter() - began)
            if answer.status_code != 200:
                done.failed.append(f"{path}: {answer.status_code}")

    await asyncio.gather(*(reader() for _ in range(concurrency)))
    return done


async def attempts_per_s(client: httpx.AsyncClient, seconds: float, reads: Reads | None,
                         load: tuple[int, int, str]) -> float:  # fmt: skip
    """Attempts a second of a live soak while its load goes on, with reads beside it or not.

    Args:
        seconds: how long the load goes on.
        reads: where the reads go; None: nobody reads.
        load: requests a round, how many at once, and the run that is read of. Rounds follow each
            other without a pause until the soak's load is over.
    """
    run = await start(client, {**SOAK, "duration": f"{seconds:g}s"})
    await wait_for(client, run, phase="safety")
    end = time.monotonic() + seconds
    requests, concurrency, known = load
    while reads is not None and time.monotonic() < end:
        found = await read(client, requests, concurrency, known)
        reads.seconds += found.seconds
        reads.failed += found.failed
    ended = await wait_for(client, run)
    rates = [rate async for rate in _rates(client, run)]
    if not rates:
        raise WorldError(f"the soak had no load: {ended['error'] or ended['outcome']}")
    return rates[-1]


async def _rates(client: httpx.AsyncClient, run: str) -> AsyncIterator[float]:
    """Attempts a second from the begin of the load to each tick in it.

    What a slow service delayed is made up for in the drain, so the figures of the end hide it.
    """
    began_s, kind = 0.0, ""
    async with client.stream("GET", f"/v1/runs/{run}/events") as answer:
        async for line in answer.aiter_lines():
            if line.startswith("event:"):
                kind = line.removeprefix("event:").strip()
            if not line.startswith("data:") or kind not in ("phase", "tick"):
                continue
            data = json.loads(line.removeprefix("data:"))
            if kind == "phase" and data["phase"] == "safety":
                began_s = data["at_s"]
            elif kind == "tick" and data["variants"][0]["phase"] == "safety":
                attempts = data["variants"][0]["counters"].get("attempts", 0)
                yield attempts / max(data["at_s"] - began_s, STEP_SECONDS)


async def stream(client: httpx.AsyncClient, subscribers: int) -> Streams:
    """All subscribers of one run from before it begins, beside one that never reads."""
    run = await start(client, SHORT)
    deaf = _never_reads(str(client.base_url), run)
    try:
        seen = await asyncio.gather(*(_ids(client, run) for _ in range(subscribers)))
    finally:
        deaf.close()
    events = int((await client.get(f"/v1/runs/{run}")).json()["events"])
    complete = sum(ids == list(range(1, events + 1)) for ids in seen)
    return Streams(subscribers, complete, events)


async def cycle(client: httpx.AsyncClient, service: ServiceProcess, cycles: int) -> Cycles:
    """Start a live run and stop it, again and again; then look what is left."""
    await _settled(client)
    before = service.open_files(), len(service.descendants())
    failed: list[str] = []
    for _ in range(cycles):
        run = await start(client, {**SOAK, "duration": "60s"})
        answer = await client.post(f"/v1/runs/{run}/stop")
        ended = await wait_for(client, run)
        if answer.status_code not in (200, 202, 409) or ended["state"] != "ended":
            failed.append(f"{run}: {answer.status_code} {ended['outcome']}")
    await _settled(client)
    descriptors = service.open_files() - before[0]
    return Cycles(cycles, len(service.descendants()) - before[1], descriptors, tuple(failed))


async def _settled(client: httpx.AsyncClient) -> None:
    """Connections of ours that are idle count as the service's descriptors: end them first."""
    await client.get("/readyz")
    await asyncio.sleep(1.0)


async def _ids(client: httpx.AsyncClient, run: str) -> list[int]:
    """The ids of the events of one stream, to its end."""
    ids: list[int] = []
    async with client.stream("GET", f"/v1/runs/{run}/events") as answer:
        async for line in answer.aiter_lines():
            if line.startswith("id:"):
                ids.append(int(line.removeprefix("id:")))
            if line.startswith("event: ended"):
                break
    return ids


def _never_reads(url: str, run: str) -> socket.socket:
    """A subscriber with a small buffer that asks and then reads nothing."""
    parts = urlsplit(url)
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    made.connect((str(parts.hostname), int(parts.port or 80)))
    ask = f"GET /v1/runs/{run}/events HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n"
    made.sendall(ask.encode("ascii"))
    return made


def as_json(fields: dict[str, Any]) -> str:
    """The figures as JSON text."""
    return json.dumps(fields, indent=2) + "\n"
