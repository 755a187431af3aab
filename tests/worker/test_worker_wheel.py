"""The second wheel: built from its own pyproject, imported where only saq is installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.environments import Environment

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "packaging" / "worker"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without an index: the build backend is one of the development tools."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("the build backend is not installed here: pip install -e '.[dev]'")
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_it_holds_the_worker_folder_alone_and_needs_saq_alone(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    names = {name for name in archive.namelist() if ".dist-info/" not in name}
    folder = {f"saq_chaos_worker/{path.name}" for path in (ROOT / "chaos" / "worker").glob("*.py")}
    assert names == folder | {"saq_chaos_worker/py.typed"}
    (metadata,) = [name for name in archive.namelist() if name.endswith("METADATA")]
    lines = archive.read(metadata).decode().splitlines()
    needed = [line for line in lines if line.startswith("Requires-Dist")]
    extra = "Requires-Dist: prometheus-client<1,>=0.22; extra == 'metrics'"
    assert needed == ["Requires-Dist: saq>=0.22", extra]


def test_it_carries_the_licence_of_the_project() -> None:
    assert (PROJECT / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_production_imports_the_guarded_worker_from_it(
    wheel: Path, environment: Callable[[str], Environment], tmp_path: Path
) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import saq, saq_chaos_worker, sys\n"
        "from saq_chaos_worker import ByIdWorker, ByKeyWorker, GuardedWorker\n"
        "print(saq_chaos_worker.__file__, issubclass(GuardedWorker, saq.Worker))\n"
        "print('chaos' in sys.modules)"
    )
    variant = environment("stock@0.26.4")
    done = subprocess.run(
        [str(variant.python), "-W", "error", "-c", code],
        cwd=tmp_path,
        env={**os.environ, **variant.env, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    where = tmp_path / "saq_chaos_worker" / "__init__.py"
    assert (done.stdout, done.stderr) == (f"{where} True\nFalse\n", "")
