"""The probe with the flight recorder: `recorded.py PATCH URL` prints where each file is."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import stage
from stage import make_stage, watch


async def recorded(patch: str, url: str, folder: Path, **options: Any) -> str:
    """Two attempts of one key, the first overwritten and ending first; then a job that is alone."""
    from saq_chaos_worker.recorder import Recorder

    path = folder / f"{len(options)}.events"
    s = await make_stage(patch, url, "recorded", **options)
    recorder = Recorder(str(path))
    watch(s, recorder)
    await s.queue.enqueue("hold", key="k", timeout=0, retries=5)
    first = await s.begin()
    await s.stale_retry("k")
    second = await s.begin()
    s.bodies[0].go.set()
    await first
    s.bodies[1].go.set()
    await second
    await s.queue.enqueue("hold", key="alone", timeout=0)
    third = await s.begin()
    s.bodies[2].go.set()
    await third
    s.probe.close()
    recorder.close()
    return str(path)


async def main(patch: str, url: str) -> None:
    """On the ordinary path, and with a hook on it."""
    folder = Path(tempfile.mkdtemp(prefix="saqchaos-recorded-"))
    paths = {
        "ordinary": await recorded(patch, url, folder),
        "with a hook": await recorded(patch, url, folder, before_process=lambda ctx: None),
    }
    sys.stdout.write(json.dumps(paths) + "\n")


if __name__ == "__main__":
    stage.load_package()
    asyncio.run(main(sys.argv[1], sys.argv[2]))
