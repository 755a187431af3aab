"""doctor says what is missing and the way out; clean removes what is ours and old, no more."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from chaos.cli import doctor_verb
from chaos.cli.doctor_verb import Line
from chaos.cli.main import run

GIB = 1 << 30


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of our own, so that no real environment is touched."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SAQCHAOS_CACHE", str(folder))
    return folder


def make_run(runs: Path, name: str, age: int, *, verdict: bool = True) -> Path:
    """A run directory that wrote its last byte `age` seconds after an arbitrary old time."""
    folder = runs / name
    (folder / "hosts").mkdir(parents=True)
    (folder / "plan.yaml").write_text("plan: x\n")
    if verdict:
        (folder / "verdict.json").write_text("{}")
    os.utime(folder, (1_000_000_000 - age, 1_000_000_000 - age))
    return folder


def make_environment(cache: Path, name: str, age: int) -> Path:
    folder = cache / "environments" / name
    folder.mkdir(parents=True)
    marker = folder / "saq-chaos.json"
    marker.write_text(json.dumps({"title": f"saq {name}"}))
    os.utime(marker, (1_000_000_000 - age, 1_000_000_000 - age))
    return folder


def test_doctor_is_content_with_this_machine(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "--json", "--run-dir", str(tmp_path)]) == 0
    lines = json.loads(capsys.readouterr().out)
    assert [line["what"] for line in lines] == [
        "Python",
        "platform",
        "cores",
        "Redis server",
        "installer",
        "environments",
        "loopback",
        "disk",
    ]
    assert [line for line in lines if line["state"] == "fail"] == []


def test_doctor_exits_4_and_names_the_variable_if_the_server_is_no_program(
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SAQCHAOS_REDIS_SERVER", str(tmp_path / "none"))
    assert run(["doctor", "--run-dir", str(tmp_path)]) == 4
    shown = capsys.readouterr().out
    assert (
        f"fail  Redis server: SAQCHAOS_REDIS_SERVER={tmp_path / 'none'} is no executable" in shown
    )


def test_doctor_counts_the_environments_that_work_offline(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_environment(cache, "a", age=1)
    make_environment(cache, "b", age=2)
    run(["doctor", "--run-dir", str(tmp_path)])
    assert "environments: 2 are ready, also offline: saq a, saq b\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (doctor_verb.python_line((3, 10, 1)).state, "fail"),
        (doctor_verb.python_line((3, 11, 0)).state, "ok"),
        (doctor_verb.platform_line("Darwin").state, "fail"),
        (doctor_verb.cores_line(1).state, "warn"),
        (doctor_verb.room_line(100 << 20, Path("x")).state, "fail"),
        (doctor_verb.room_line(1 * GIB, Path("x")).state, "warn"),
        (doctor_verb.room_line(9 * GIB, Path("x")), Line("ok", "disk", "9.0 GiB free in x")),
    ],
)
def test_each_check_knows_good_from_bad(line: object, expected: object) -> None:
    assert line == expected


def test_clean_keeps_the_newest_and_removes_the_rest(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    new, old = make_run(runs, "new", age=1), make_run(runs, "old", age=9)
    kept, gone = make_environment(cache, "kept", age=1), make_environment(cache, "gone", age=9)
    assert run(["clean", "--keep", "1", "--run-dir", str(runs)]) == 0
    assert [path.exists() for path in (new, old, kept, gone)] == [True, False, True, False]
    assert capsys.readouterr().out == f"removed {old} (old)\nremoved {gone} (saq gone)\n"


def test_clean_never_touches_what_does_not_carry_our_marker(cache: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    photos = runs / "photos"
    photos.mkdir(parents=True)
    (photos / "plan.yaml").write_text("a plan, but no run")
    elsewhere = make_run(tmp_path / "elsewhere", "linked", age=9)
    (runs / "link").symlink_to(elsewhere)
    foreign = cache / "environments" / "foreign"
    foreign.mkdir(parents=True)
    assert run(["clean", "--keep", "0", "--run-dir", str(runs)]) == 0
    assert photos.exists()
    assert elsewhere.exists()
    assert foreign.exists()


def test_clean_leaves_a_run_alone_that_may_still_go_on(cache: Path, tmp_path: Path) -> None:
    going = make_run(tmp_path, "going", age=0, verdict=False)
    os.utime(going)
    crashed = make_run(tmp_path, "crashed", age=0, verdict=False)
    assert run(["clean", "--keep", "0", "--run-dir", str(tmp_path)]) == 0
    assert (going.exists(), crashed.exists()) == (True, False)


def test_a_dry_run_removes_nothing(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path, "a", age=9)
    assert run(["clean", "--keep", "0", "--dry-run", "--run-dir", str(tmp_path)]) == 0
    assert folder.exists()
    assert capsys.readouterr().out == f"would remove {folder} (a)\n"


def test_clean_removes_only_what_is_older_than_asked(cache: Path, tmp_path: Path) -> None:
    old, young = make_run(tmp_path, "old", age=9), make_run(tmp_path, "young", age=9)
    os.utime(young)
    command = ["clean", "--keep", "0", "--older-than", "1h", "--run-dir", str(tmp_path)]
    assert run(command) == 0
    assert (old.exists(), young.exists()) == (False, True)


def test_clean_takes_the_link_to_a_removed_run_away(cache: Path, tmp_path: Path) -> None:
    make_run(tmp_path, "a", age=9)
    (tmp_path / "latest").symlink_to("a")
    assert run(["clean", "--runs", "--keep", "0", "--run-dir", str(tmp_path)]) == 0
    assert not (tmp_path / "latest").is_symlink()
