"""The pytest plugin, as a project uses it: a pytest of its own over a file of tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROMISED = 'promises=["no-internal-errors"], duration="4s"'
WITHOUT = ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER")


def pytest_of(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run pytest over `text` as the only test file of a project."""
    (folder / "test_project.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    env = {name: value for name, value in os.environ.items() if name not in WITHOUT}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_project.py"],
        cwd=folder, env=env, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


def test_a_broken_promise_fails_the_test_with_its_story_and_the_way_to_repeat_it(
    tmp_path: Path,
) -> None:
    done = pytest_of(
        tmp_path,
        "import pytest\n"
        f'@pytest.mark.saq_chaos(plan="same-key", variant="stock@0.26.3", seeds=1, {PROMISED})\n'
        "def test_it(saq_chaos):\n    saq_chaos.explore()\n",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "INVALID no-internal-errors KeyError" in done.stdout
    assert "HERE IT BREAKS" in done.stdout
    assert "saq-chaos explore" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_promise_that_holds_passes_and_the_result_can_be_looked_at(tmp_path: Path) -> None:
    done = pytest_of(
        tmp_path,
        "def test_it(saq_chaos):\n"
        '    result = saq_chaos.explore(plan="same-key", variant="stock@0.26.4", seeds=2,\n'
        f"                               allow_unknown=True, {PROMISED})\n"
        "    assert result.explored.seeds == 2\n"
        '    assert [one.variant for one in result.verdict.variants] == ["stock@0.26.4"]\n'
        '    assert (result.folder / "verdict.json").is_file()\n',
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_danger_that_was_not_met_is_no_pass(tmp_path: Path) -> None:
    done = pytest_of(
        tmp_path,
        "def test_it(saq_chaos):\n"
        '    saq_chaos.explore(plan="same-key", variant="stock@0.26.4", seeds=1,\n'
        '                      promises=["no-internal-errors"], duration="1s")\n',
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "UNKNOWN" in done.stdout


def test_wrong_arguments_are_named_with_those_that_there_are(tmp_path: Path) -> None:
    done = pytest_of(
        tmp_path,
        "import pytest\n"
        '@pytest.mark.saq_chaos(plan="same-key", seed_count=2)\n'
        "def test_marker(saq_chaos):\n    saq_chaos.explore()\n"
        "def test_call(saq_chaos):\n    saq_chaos.explore(planet='x')\n"
        "def test_no_plan(saq_chaos):\n    saq_chaos.explore()\n"
        "def test_unknown_plan(saq_chaos):\n    saq_chaos.explore(plan='same-kay')\n",
    )
    assert "does not know seed_count; accepted are plan, variant, seeds" in done.stdout
    assert "does not know planet" in done.stdout
    assert "needs a plan" in done.stdout
    assert "no plan is called 'same-kay'" in done.stdout
