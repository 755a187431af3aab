"""`saq-chaos bench conformance`: whether the simulated Redis answers as a real one.

It runs here, not in a variant's environment: the model needs no saq. Only the texts of saq's
scripts are read out of the variant's saq. The real server is one of our own, for everything on it
is deleted.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaos.cli import output
from chaos.errors import EnvironmentFailed, UsageError

if TYPE_CHECKING:
    from chaos.environments import Environment
    from chaos.sim.conformance import ConformanceReport

FIND_SOURCE = "import importlib.util as u; print(u.find_spec('saq.queue.redis').origin)"
FIND_SECONDS_MAX = 60


@click.command("conformance", short_help="The simulated Redis against a real one.")
@click.option("--programs", type=click.IntRange(1, 10_000_000), default=1_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--variant", default="stock@0.26.4", show_default=True, metavar="PATCH@SAQ")
@click.option("--json", "as_json", is_flag=True, help="Write the report as JSON to stdout.")
def conformance(programs: int, seed: int, variant: str, as_json: bool) -> int:
    """Run random command programs on the model and on a real server of our own.

    Replies, errors, pushes, which clients are blocked and the data at the end must agree; the
    scripts of the variant's saq are among what runs. Exit code 1 if anything differs.
    """
    from chaos import variants

    if importlib.util.find_spec("lupa") is None:
        raise UsageError("bench conformance needs lupa (Lua 5.1): pip install 'saq-chaos[sim]'")
    parsed = variants.parse(variant)
    variants.check([parsed])
    source = saq_source(variants.prepare(parsed, output.say))
    report = asyncio.run(_compared(programs, seed, source))
    output.answer(_as_json(report) if as_json else as_text(report))
    return 0 if report.agrees else 1


def saq_source(environment: Environment) -> str:
    """The text of the module that holds saq's scripts, in a variant's environment.

    Raises:
        EnvironmentFailed: there is no such module.
    """
    found = subprocess.run(
        [str(environment.python), "-c", FIND_SOURCE], capture_output=True, text=True, check=False,
        env={**os.environ, **environment.env}, timeout=FIND_SECONDS_MAX,
    )  # fmt: skip
    if found.returncode:
        raise EnvironmentFailed(f"{environment.python} has no saq.queue.redis:\n{found.stderr}")
    return Path(found.stdout.strip()).read_text("utf-8")


async def _compared(programs: int, seed: int, source: str) -> ConformanceReport:
    from chaos.live.processes import Processes
    from chaos.live.server import OwnServer
    from chaos.sim.conformance import run_conformance, scripts_in

    folder = Path(tempfile.mkdtemp(prefix="saqchaos-bench-"))
    processes = Processes.open()
    processes.forget_folder_at_end(folder)
    try:
        server = OwnServer(processes, "redis", folder / "redis.log")
        await server.start()
        scripts = scripts_in(source)
        return run_conformance(programs, seed, server.url, scripts=scripts, progress=output.say)
    finally:
        await processes.close()
        shutil.rmtree(folder, ignore_errors=True)


def as_text(report: ConformanceReport) -> str:
    """The report in words."""
    lines = [
        f"{report.programs} programs of seed {report.seed} against {report.server}",
        f"compared  {report.replies} replies to {report.steps} commands, {report.errors} errors",
        f"blocked   {report.blocked} times a client; {report.pauses} pauses; {report.seconds} s",
        f"commands  {len(report.commands)} different; {report.scripts} scripts of saq",
        f"repeated  {report.repeated} for being too slow, {report.given_up} given up",
        f"differ    {len(report.differences)}",
    ]
    for one in report.differences:
        lines += ["", f"program {one.number}: {one.where}", *(f"    {step}" for step in one.steps)]
        lines += [f"  real  {one.real}", f"  model {one.model}"]
    return "\n".join([*lines, ""])


def _as_json(report: ConformanceReport) -> str:
    """The same for machines; `agrees` is said too, since it is what counts."""
    import json

    import msgspec

    return json.dumps({**msgspec.to_builtins(report), "agrees": report.agrees}, indent=2) + "\n"
