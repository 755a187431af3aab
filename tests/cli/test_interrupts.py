"""^C and SIGTERM before a verb has begun its work: one line and exit 130, wherever they come."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

# The signal is sent to the process by itself, at the moment when a module is looked for.
SIGNALLED = """
import os, sys

class Signals:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), NUMBER)
        return None

sys.meta_path.insert(0, Signals())
from chaos.cli.main import main
sys.argv = ["saq-chaos", "soak", "smoke"]
main()
"""


def interrupted_at(module: str, number: int, folder: Path) -> subprocess.CompletedProcess[str]:
    code = SIGNALLED.replace("MODULE", repr(module)).replace("NUMBER", str(int(number)))
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "module",
    ["chaos.cli.command_line", "click", "chaos.cli.soak_verb", "chaos.cli.soaking", "msgspec",
     "pydantic", "pydantic_core", "redis", "chaos.plan", "chaos.live.world", "chaos.soak"],
)  # fmt: skip
def test_an_interrupt_while_modules_are_imported_is_one_line_and_130(
    module: str, number: int, tmp_path: Path
) -> None:
    done = interrupted_at(module, number, tmp_path)
    assert (done.returncode, done.stderr.strip()) == (130, "saq-chaos: interrupted")
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []
