"""A controller to be killed: opens a real world, freezes a worker and Redis, and waits.

Started with the environment's interpreter, its saq version and the run directory; prints the pids
of all processes of the world as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from chaos import variants
from chaos.environments import Environment
from chaos.event import CONTROLLER, HostStarted
from chaos.live.setting import Setting
from chaos.live.world import open_world
from chaos.tail import EventFile
from chaos.worker.recorder import Recorder
from chaos.world import Pause
from tests.live.conftest import VARIANT, plan


async def main(python: Path, run_dir: Path) -> None:
    (run_dir / "hosts").mkdir(parents=True)
    path = run_dir / "hosts" / "controller.events"
    setting = Setting(
        plan=plan(), variant=variants.parse(VARIANT), environment=Environment(python),
        run_dir=run_dir, run="r1", origin_ns=time.monotonic_ns(), salt="00",
    )  # fmt: skip
    async with open_world(setting, Recorder(str(path)), lambda events: None) as world:
        assert isinstance(world, Pause)
        await world.pause(world.hosts("worker")[0])
        await world.pause(world.hosts("redis")[0])
        events = EventFile(path, CONTROLLER, 0).read()
        pids = [event.pid for event in events if isinstance(event, HostStarted)]
        sys.stdout.write(json.dumps(pids) + "\n")
        sys.stdout.flush()
        await asyncio.sleep(60)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
