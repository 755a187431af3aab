"""A process that runs a RunManager, for tests that kill it: `python service_process.py DATA PLANS`.

It asks for one live run of a minute and one simulated one, says the ids, and goes on until its end.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from service.models import RunRequest
from service.ports import Trigger
from service.runs.manager import RunManager
from service.settings import Settings


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(data: str, plans: str) -> None:
    """Make the runs; say `begun` once the first one has enqueued something."""
    runs = RunManager(Settings(data_dir=Path(data), plans_dir=Path(plans)))
    await runs.start()
    trigger = Trigger("api", "ann")
    first = runs.submit(RunRequest(plan="live", duration="60s"), trigger)
    second = runs.submit(RunRequest(plan="sim", world="sim"), trigger)
    say(f"{first.id} {second.id}")
    async for event in runs.events(first.id, 0):
        ticks = event.data.variants or []
        if any(tick.counters.get("attempts", 0) > 3 for tick in ticks):
            say("begun")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
