"""A controller to be killed: starts processes as a run does, prints their pids, and waits.

One process has a child and a grandchild in a session of its own; another one is stopped (SIGSTOP)
together with its child. On SIGTERM it closes as a run does.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile
from pathlib import Path

from chaos.live.processes import Process, Processes

FAMILY = """
import os, sys, time
child = os.fork()
if not child:
    if {depth} > 1:
        grandchild = os.fork()
        if not grandchild:
            os.setsid()
        else:
            print(grandchild, flush=True)
    time.sleep(60)
    sys.exit()
print(child, flush=True)
time.sleep(60)
"""


async def pids_of(process: Process, count: int) -> list[int]:
    """The process and the descendants that it printed."""
    for _ in range(6_000):
        said = process.log.read_text().split()
        if len(said) == count:
            return [process.pid, *(int(pid) for pid in said)]
        await asyncio.sleep(0.01)
    raise SystemExit(f"saw {process.log.read_text()!r}")


async def main(folder: Path) -> None:
    processes = Processes.open()
    temporary = Path(tempfile.mkdtemp(prefix="saqchaos-test-"))
    processes.forget_folder_at_end(temporary)
    (folder / "folder").write_text(str(temporary))
    python = [sys.executable, "-I", "-S", "-c"]
    one = await processes.start("one", [*python, FAMILY.format(depth=2)], folder / "one.log")
    two = await processes.start("two", [*python, FAMILY.format(depth=1)], folder / "two.log")
    pids = [*await pids_of(one, 2), *await pids_of(two, 1)]
    two.signal(signal.SIGSTOP, group=True)
    told_to_end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told_to_end.set)
    sys.stdout.write(json.dumps(pids) + "\n")
    sys.stdout.flush()
    await told_to_end.wait()
    await processes.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
