"""The steps of a failure as a pytest file that a maintainer of saq can read, run and keep.

It needs saq, redis-py, pytest and a Redis whose address stands in REDIS_URL; not saq-chaos. Every
step is forced by an event and none by a sleep: the job's function stands still until the test lets
go of it, `process()` is called by the test, and a sweep is called when its turn has come. Where no
steps can be forced, `replaying_test` gives one that replays the failure file through saq-chaos.
"""

from __future__ import annotations

import json
import textwrap

from chaos.clock import SECOND_US
from chaos.explore import exported_job
from chaos.explore import steps as s
from chaos.explore.exported_job import has
from chaos.explore.failure import Failure
from chaos.explore.steps import Inexpressible, Step
from chaos.variants import parse

NAMES = {
    "no-internal-errors": "saq_raises_nothing_of_its_own_between_attempts_of_one_job",
    "no-orphaned-contexts": "every_running_attempt_of_a_job_can_be_reached_by_abort",
    "one-at-a-time": "attempts_of_one_job_do_not_run_at_the_same_time",
}
_WHAT = {
    "no-internal-errors": "saq has raised nothing of its own; it did: {kind}{at}",
    "no-orphaned-contexts": "every running attempt is in reach of abort(); one was not ({kind})",
    "one-at-a-time": "there was never more than one of them at a time; there was",
}
_WIDTH = 92


def short_test(failure: Failure, steps: tuple[Step, ...]) -> str:
    """The whole file.

    Raises:
        Inexpressible: the promise is none that such a test can check, or the job was scheduled.
    """
    promise = failure.finding.promise
    if promise not in NAMES:
        raise Inexpressible(f"no short test can check {promise}")
    if any(one.command.scheduled_in_us for one in failure.script.timed_enqueues):
        raise Inexpressible("the job is scheduled ahead")
    if failure.app:
        raise Inexpressible("the jobs are those of an application")
    parts = [
        f'"""{_docstring(failure)}"""',
        _imports(failure),
        exported_job.attempts(promise, steps),
        *([_SWEEP] if has(steps, s.Swept) else []),
        _test(promise),
        _schedule(failure, steps),
    ]
    return (
        "\n\n\n".join(part.strip("\n") for part in parts).replace('"""\n\n\n', '"""\n\n', 1) + "\n"
    )


# --- head -----------------------------------------------------------------------------------------


def _docstring(failure: Failure) -> str:
    found, versions = failure.finding, failure.versions
    where = f" at {found.line}" if found.line else ""
    told = (
        f"Found by saq-chaos {versions.saq_chaos} in the simulator, with the plan "
        f"{failure.plan.get('plan', '')} and seed {failure.seed}, on {failure.variant} (saq "
        f"{versions.saq}, redis-py {versions.redis_py}): {found.promise}, {found.kind}{where}. "
        f"Shrunk from {failure.decisions.before} decisions to {failure.decisions.after}."
    )
    how = (
        "Every step is forced by an event, none by a sleep. It needs a Redis whose address stands "
        "in REDIS_URL, and is skipped without one."
    )
    title = "Attempts of one job in one worker, in the order in which a promise came to be broken."
    return "\n\n".join([title, _filled(told), _filled(how)]) + "\n"


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_on_hyphens=False, break_long_words=False)


def _imports(failure: Failure) -> str:
    patch = parse(failure.variant).patch
    if patch == "stock":
        worker = "from saq import Queue, Worker"
    elif ":" in patch:
        module, _, name = patch.partition(":")
        worker = f"from saq import Queue\n\nfrom {module} import {name} as Worker"
    else:
        worker = (
            f"from saq import Queue\nfrom saq_chaos_worker.patches import worker_class\n\n"
            f"Worker = worker_class({_quoted(patch)})"
        )
    return f"""
from __future__ import annotations

import asyncio
import os
import uuid
from collections import defaultdict

import pytest
{worker}

REDIS_URL = os.environ.get("REDIS_URL", "")
SECONDS = 10  # no step takes long: one that never comes fails the test
"""


_SWEEP = '''
async def sweep(queue, key):
    """Sweep now, and find the job stuck: its last sign of life is made to lie long ago."""
    job = await queue.job(key)
    job.touched = 1
    await queue.redis.set(job.id, queue.serialize(job))
    await queue.redis.delete(queue.namespace("sweep"))  # the lock of an earlier sweep
    await queue.sweep(abort=0.01)
'''


def _test(promise: str) -> str:
    return f"""
@pytest.mark.skipif(not REDIS_URL, reason="REDIS_URL names no Redis")
def test_{NAMES[promise]}():
    asyncio.run(asyncio.wait_for(schedule(), SECONDS))
"""


# --- the schedule ---------------------------------------------------------------------------------


def _schedule(failure: Failure, steps: tuple[Step, ...]) -> str:
    body: list[str] = []
    seen: list[Step] = []
    for number, step in enumerate(steps, 1):
        body += _comment(f"{number}. {_said(step, seen)}")
        body += [*_done(step, failure, steps), ""]
        seen.append(step)
    what = _WHAT[failure.finding.promise].format(kind=failure.finding.kind, at=_at(failure))
    body += _comment(f"By then {what}.")
    body += _asserted(failure.finding.promise)
    errors = failure.finding.promise == "no-internal-errors"
    hook = _HOOKED if errors else 'queue, functions=[("function", attempts.function)]'
    inner = textwrap.indent("\n".join(body), " " * 8, lambda line: bool(line.strip()))
    return f"""
async def schedule():
    queue = Queue.from_url(REDIS_URL, name=f"regression-{{uuid.uuid4().hex}}")
    key = uuid.uuid4().hex
    attempts = Attempts()
    worker = Worker({hook})
    processes = {{}}  # the test calls process() itself, once for each attempt
    try:
{inner}
    finally:
        for number in range(1, attempts.count + 1):
            attempts.let_go[number].set()
        for task in processes.values():
            task.cancel()
        await asyncio.gather(*processes.values(), return_exceptions=True)
        async for name in queue.redis.scan_iter(f"*{{queue.name}}*"):
            await queue.redis.delete(name)
        await queue.disconnect()
"""


_HOOKED = """
        queue,
        functions=[("function", attempts.function)],
        after_process=attempts.after_process,
    """


def _at(failure: Failure) -> str:
    return f" at {failure.finding.line}" if failure.finding.line else ""


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, _WIDTH - 10, break_on_hyphens=False)]


def _said(step: Step, before: list[Step]) -> str:
    """What happens, for the reader."""
    match step:
        case s.Enqueued():
            again = " again" if any(isinstance(one, s.Enqueued) for one in before) else ""
            return f"The job is enqueued{again}."
        case s.Begins(number, pushed_out):
            place = f", in the place of attempt {pushed_out}'s" if pushed_out else ""
            return f"Attempt {number} registers its context{place}, and begins."
        case s.Swept(given_up):
            then = "gives it up" if given_up else "puts it back in the queue"
            return f"A sweep takes the job for stuck, aborts it and {then}{_meanwhile(before)}."
        case s.Aborted(_, by_sweep):
            who = "A sweep takes the job for stuck and aborts it" if by_sweep else "It is aborted"
            return f"{who}{_meanwhile(before)}."
        case s.Requeued(_, given_up):
            then = "gives the job up" if given_up else "puts the job back in the queue"
            return f"The sweep, which has waited in vain, {then}{_meanwhile(before)}."
        case s.Cancelled(number):
            return f"The worker sees that in the job's record and cancels attempt {number}."
        case s.Ends(number, outcome, removed):
            how = {"ok": "ends well", "raised": "fails by itself"}.get(outcome, "ends, cancelled")
            took = f"; its clean-up removes attempt {removed}'s context" if removed else ""
            return f"Attempt {number} {how}{took}."
    raise AssertionError(step)


def _meanwhile(before: list[Step]) -> str:
    """Which attempts still run then."""
    running = [one.number for one in before if isinstance(one, s.Begins)]
    for one in before:
        if isinstance(one, s.Ends):
            running.remove(one.number)
    if not running:
        return ""
    names = " and ".join(str(number) for number in running)
    return f", while attempt {names} goes on" if len(running) == 1 else f", while {names} go on"


def _done(step: Step, failure: Failure, steps: tuple[Step, ...]) -> list[str]:
    """What the test does for it."""
    match step:
        case s.Enqueued():
            options = _options(failure)
            return [f'assert await queue.enqueue("function", key=key, {options})']
        case s.Begins(number):
            return [
                f"processes[{number}] = asyncio.create_task(worker.process())",
                f"await attempts.begun[{number}].wait()",
            ]
        case s.Swept():
            return ["await sweep(queue, key)"]
        case s.Aborted(error):
            return [f"await queue.abort(await queue.job(key), {_quoted(error)})"]
        case s.Requeued(error, given_up):
            call = (
                f'finish(job, "aborted", error={_quoted(error)})'
                if given_up
                else f"retry(job, {_quoted(error)})"
            )
            return ["job = await queue.job(key)", f"await queue.{call}"]
        case s.Cancelled(number):
            return [
                f"processes[-{number}] = asyncio.create_task(worker.abort(0))",
                f"await attempts.cancelled[{number}].wait()",
            ]
        case s.Ends(number):
            cancelled = any(one == s.Cancelled(number) for one in steps)
            return [
                f"attempts.let_go[{number}].set()",
                f"await processes[{number}]",
                *([f"await processes[-{number}]"] if cancelled else []),
            ]
    raise AssertionError(step)


def _options(failure: Failure) -> str:
    """The job's options that matter here. Only a sweep that the test calls finds it stuck."""
    options = (
        failure.script.timed_enqueues[0].command.options if failure.script.timed_enqueues else {}
    )
    retries = max(int(options.get("retries", 1)), 1)
    return f"retries={retries}, timeout=0, heartbeat=1"


def _quoted(text: str) -> str:
    """A text as Python, in double quotes."""
    return json.dumps(text)


def _asserted(promise: str) -> list[str]:
    if promise == "no-internal-errors":
        return ["assert attempts.errors == [], attempts.errors"]
    if promise == "one-at-a-time":
        return ["assert attempts.most_running == 1, attempts.most_running"]
    return [
        'reach = [context["task"] for context in worker.job_task_contexts.values()]',
        "lost = [n for n, task in attempts.running.items() if task not in reach]",
        "assert lost == [], lost",
    ]


# --- where no steps can be forced -----------------------------------------------------------------


def replaying_test(failure: Failure, file_name: str, why: str) -> str:
    """A test that replays the failure file through saq-chaos, for schedules finer than events."""
    found = failure.finding
    promise = found.promise.replace("-", "_")
    told = (
        f"Found by saq-chaos {failure.versions.saq_chaos} in the simulator on {failure.variant}: "
        f"{found.promise}, {found.kind}{_at(failure)}, at {found.at_us / SECOND_US:.3f} s of a run "
        f"of {failure.decisions.after} decisions."
    )
    how = (
        f"The schedule cannot be forced with events alone ({why}), so this replays it in the "
        f"simulator. It needs saq-chaos and the file {file_name} beside it. SAQ_VARIANT names the "
        f"build to try: PATCH@SAQ, a version or the path of a checkout."
    )
    return f'''"""A schedule that broke {found.promise}, replayed.

{_filled(told)}

{_filled(how)}
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FAILURE = Path(__file__).with_name({_quoted(file_name)})
VARIANT = os.environ.get("SAQ_VARIANT", "")


@pytest.mark.skipif(shutil.which("saq-chaos") is None, reason="saq-chaos is not installed")
@pytest.mark.skipif(not VARIANT, reason="SAQ_VARIANT names no build, such as stock@./saq")
def test_{promise}_holds_in_this_schedule():
    replay = ["saq-chaos", "replay", str(FAILURE), "--variant", VARIANT, "--quiet"]
    done = subprocess.run(replay, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
'''
