"""Failure files: they say all that a run needs, and what is wrong with one is said clearly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaos.errors import UsageError
from chaos.explore import failure
from chaos.explore.failure import Versions
from chaos.version import VERSION
from tests.explore.samples import FAILURE, VERSIONS
from tests.explore.toys import plan


def stored(folder: Path, **changes: object) -> Path:
    """The failure as a file, with some keys replaced (None: left out)."""
    path = folder / "failure.json"
    failure.write(FAILURE, path)
    data = json.loads(path.read_text("utf-8")) | changes
    data = {key: value for key, value in data.items() if value is not None}
    path.write_text(json.dumps(data), "utf-8")
    return path


def test_a_failure_reads_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "failure.json"
    failure.write(FAILURE, path)
    assert failure.read(path) == FAILURE
    assert failure.read(path).plan_of() == plan()
    assert path.read_text("utf-8").startswith('{\n  "format": 1,\n  "versions": {')


def test_a_run_directory_stands_for_the_failure_in_it(tmp_path: Path) -> None:
    stored(tmp_path)
    assert failure.read(tmp_path) == FAILURE


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*nothing/failure\.json: No such file"):
        failure.read(tmp_path / "nothing" / "failure.json")


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "failure.json"
    path.write_text("plan: same-key\n", "utf-8")
    with pytest.raises(UsageError, match="is no failure file: it is no JSON"):
        failure.read(path)


def test_all_missing_keys_are_named_at_once(tmp_path: Path) -> None:
    path = stored(tmp_path, tape=None, digest=None)
    with pytest.raises(UsageError, match="it lacks digest, tape; `saq-chaos explore` writes one"):
        failure.read(path)


def test_a_verdict_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    path.write_text('{"run": "x", "plan": "same-key"}', "utf-8")
    with pytest.raises(UsageError, match="is no failure file: it lacks format, versions"):
        failure.read(path)


def test_another_format_names_the_version_that_wrote_it(tmp_path: Path) -> None:
    path = stored(tmp_path, format=2, versions={"saq_chaos": "9.1.0"})
    with pytest.raises(UsageError, match=r"has format 2, .* reads format 1: use .*\(9\.1\.0\)"):
        failure.read(path)


def test_a_key_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown field `remark`"):
        failure.read(stored(tmp_path, remark="edited"))


def test_a_wrong_value_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`\$\.tape\[\.\.\.\]`"):
        failure.read(stored(tmp_path, tape={"a": "b"}))


def test_a_wrong_plan_is_named_with_its_place(tmp_path: Path) -> None:
    data = failure.as_data(plan()) | {"duration": "soon"}
    with pytest.raises(UsageError, match=r"its plan is wrong at duration: .*'soon' is"):
        failure.read(stored(tmp_path, plan=data))


def test_another_python_and_saq_are_told_and_equal_versions_are_not() -> None:
    here = Versions(saq_chaos=VERSION, saq="0.26.4", redis_py="6.4.0", python="3.12")
    assert failure.differences(VERSIONS, here) == (
        "found on Python 3.11, this is 3.12: the digest may differ",
        "found on saq 0.26.3, this is 0.26.4: the digest may differ",
    )
    assert failure.differences(VERSIONS, VERSIONS) == ()


def test_only_the_minor_version_of_python_counts() -> None:
    assert failure.minor("3.12.4") == "3.12"
