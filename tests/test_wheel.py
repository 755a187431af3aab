"""The wheel that users install: what is in it, and that its plans are found from there."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from chaos.plan_file import shipped

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    (built,) = folder.glob("saq_chaos-*.whl")
    return built


def test_it_holds_the_package_the_worker_folder_the_plans_and_the_mark_of_types(
    wheel: Path,
) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {"chaos/py.typed", "chaos/worker/main.py", "chaos/worker/recorder.py"}
    wanted |= {"service/console/templates/runs.html", "service/openapi.json"}
    wanted |= {f"chaos/plans/{name}.yaml" for name in shipped()}
    assert wanted - names == set()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {
        "chaos", "service",
    }  # fmt: skip


def test_the_shipped_plans_are_found_in_an_installed_package(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import chaos; "
        "from chaos.plan_file import load, shipped; "
        "print(chaos.__file__, *(load(name).plan for name in shipped()))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    where, *plans = done.stdout.split()
    assert Path(where) == tmp_path / "chaos" / "__init__.py"
    assert tuple(plans) == shipped()
