"""Processes of a run die with the controller, however it dies, and with all that they started.

The controller is a process of its own here (`controller.py`), so that it can be killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from chaos.errors import HostFailed
from chaos.live.processes import LAUNCHER, Process, Processes
from chaos.live.watchdog import Charge, process

CONTROLLER = Path(__file__).parent / "controller.py"
PYTHON = [sys.executable, "-I", "-S", "-c"]
SECONDS = 30.0


def alive(pids: list[int]) -> list[int]:
    """Which of these processes still run (a zombie does not)."""
    found = {pid: process(pid) for pid in pids}
    return [pid for pid, seen in found.items() if seen is not None and seen.state != "Z"]


def wait_until_gone(pids: list[int]) -> list[int]:
    """Wait for their end; the pids that are left after `SECONDS`."""
    deadline = time.monotonic() + SECONDS
    while alive(pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return alive(pids)


@pytest.fixture
def pids() -> Iterator[list[int]]:
    """Processes that a test started through another one; a failed test leaves none of them."""
    found: list[int] = []
    yield found
    for pid in alive(found):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def start_controller(folder: Path, pids: list[int]) -> subprocess.Popen[str]:
    """A controller with processes, their children, and a grandchild in a session of its own."""
    controller = subprocess.Popen(
        [sys.executable, str(CONTROLLER), str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert controller.stdout is not None
    pids += json.loads(controller.stdout.readline())
    return controller


def test_a_killed_controller_leaves_no_process_and_no_folder(
    tmp_path: Path, pids: list[int]
) -> None:
    with start_controller(tmp_path, pids) as controller:
        assert len(pids) == 5
        assert alive(pids) == pids
        folder = Path((tmp_path / "folder").read_text())
        assert folder.is_dir()
        controller.kill()
    assert wait_until_gone(pids) == []
    deadline = time.monotonic() + SECONDS
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not folder.exists()


def test_a_controller_that_ends_by_itself_leaves_no_process(
    tmp_path: Path, pids: list[int]
) -> None:
    with start_controller(tmp_path, pids) as controller:
        controller.terminate()
    assert wait_until_gone(pids) == []


def test_the_launcher_starts_nothing_for_a_parent_that_is_not_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", LAUNCHER, "1", "/bin/echo", "started"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (125, "")


def test_the_launcher_names_a_command_that_is_not_there() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", LAUNCHER, str(os.getpid()), "/no/such/command"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 127
    assert done.stderr == "cannot start /no/such/command: No such file or directory\n"


def test_the_watchdog_leaves_a_process_alone_that_got_a_dead_ones_pid() -> None:
    with subprocess.Popen([*PYTHON, "input()"], stdin=subprocess.PIPE, start_new_session=True) as p:
        seen = process(p.pid)
        assert seen is not None
        charge = Charge()
        charge.told(f"+ {p.pid} {seen.started - 1}\n")
        assert charge.left() == []
        charge.told(f"+ {p.pid} {seen.started}\n")
        assert [left.pid for left in charge.left()] == [p.pid]
        charge.told(f"- {p.pid}\n")
        assert charge.left() == []
        p.kill()


def test_the_watchdog_removes_only_folders_of_ours(tmp_path: Path) -> None:
    charge = Charge()
    charge.told(f"dir {tmp_path}\n")
    charge.end_all()
    assert tmp_path.is_dir()


def test_the_watchdog_deletes_the_configs_that_hold_secrets_and_nothing_else(
    tmp_path: Path,
) -> None:
    config, history = tmp_path / "worker-1.1.json", tmp_path / "history.jsonl"
    for path in (config, history):
        path.write_text("{}")
    charge = Charge()
    charge.told(f"config {config}\n")
    charge.told(f"config {history}\n")
    charge.end_all()
    assert sorted(tmp_path.iterdir()) == [history]


async def test_output_exit_code_and_the_end_are_noticed(tmp_path: Path) -> None:
    processes = Processes.open()
    try:
        code = "import sys; print('said', flush=True); print('wrong', file=sys.stderr); sys.exit(7)"
        one = await processes.start("v/worker-1.1", [*PYTHON, code], tmp_path / "v" / "one.log")
        assert await one.exited() == 7
        assert not one.running
        assert (tmp_path / "v" / "one.log").read_text() == "said\nwrong\n"
        assert one.log_tail() == "  said\n  wrong"
        assert one.signal(signal.SIGTERM) is False
    finally:
        await processes.close()


async def test_lines_reach_stdin_and_its_end_ends_the_reader(tmp_path: Path) -> None:
    processes = Processes.open()
    try:
        code = "import sys; [print(line.strip()[::-1], flush=True) for line in sys.stdin]"
        log = tmp_path / "log"
        one = await processes.start("v/producer-1.1", [*PYTHON, code], log, stdin=True)
        assert await one.write(b"abc\n")
        assert await one.write(b"def\n")
        one.close_stdin()
        assert await one.exited() == 0
        assert log.read_text() == "cba\nfed\n"
        assert await one.write(b"late\n") is False
    finally:
        await processes.close()


async def test_a_process_that_ends_takes_what_it_started_with_it(
    tmp_path: Path, pids: list[int]
) -> None:
    processes = Processes.open()
    try:
        one = await processes.start("v/worker-1.1", forking("sys.exit(0)"), tmp_path / "log")
        assert await one.exited() == 0
        pids.append(int((tmp_path / "log").read_text()))
        assert await asyncio.to_thread(wait_until_gone, pids) == []
    finally:
        await processes.close()


async def test_closing_ends_a_stopped_process_and_its_child(
    tmp_path: Path, pids: list[int]
) -> None:
    processes = Processes.open()
    log = tmp_path / "log"
    one = await processes.start("v/worker-1.1", forking("time.sleep(60)"), log)
    pids += [one.pid, int(await asyncio.to_thread(said, log))]
    one.signal(signal.SIGSTOP, group=True)
    await processes.close()
    assert await one.exited() == -signal.SIGKILL
    assert await asyncio.to_thread(wait_until_gone, pids) == []
    with pytest.raises(HostFailed, match=r"^cannot start v/late: its world is closed$"):
        await processes.start("v/late", [*PYTHON, ""], log)


async def test_a_command_that_does_not_exist_says_so_in_its_log(tmp_path: Path) -> None:
    processes = Processes.open()
    try:
        one = await processes.start("v/worker-1.1", ["/no/such/python"], tmp_path / "log")
        assert await one.exited() == 127
        assert one.log_tail() == "  cannot start /no/such/python: No such file or directory"
    finally:
        await processes.close()


async def test_another_thread_may_not_start_processes(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def start() -> None:
        try:
            Processes.open()
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    await asyncio.to_thread(thread.join)
    assert [str(error) for error in errors] == [
        "processes are started from the main thread only (see launcher.py)"
    ]


async def test_a_process_is_not_gone_before_it_is(tmp_path: Path) -> None:
    processes = Processes.open()
    try:
        one: Process = await processes.start("v/worker-1.1", [*PYTHON, "input()"], tmp_path / "log",
                                             stdin=True)  # fmt: skip
        assert await one.exited(10_000) is None
        assert one.running
        assert one.signal(signal.SIGKILL, group=True)
        assert await one.exited() == -signal.SIGKILL
    finally:
        await processes.close()


def said(log: Path) -> str:
    """The first whole line in a log, waited for up to `SECONDS`."""
    deadline = time.monotonic() + SECONDS
    while "\n" not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    return log.read_text()


def forking(then: str) -> list[str]:
    """A command whose process starts a child, prints the child's pid, and goes on with `then`."""
    code = (
        "import os, sys, time\n"
        "pid = os.fork()\n"
        "if not pid:\n    time.sleep(60)\n    sys.exit()\n"
        "print(pid, flush=True)\n" + then
    )
    return [*PYTHON, code]
