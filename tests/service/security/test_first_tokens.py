"""The first tokens of a container: made once, readable by whom they are for."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from chaos.errors import UsageError
from service.security import first_tokens
from service.security.tokens import TokensFile
from service.settings import Settings


def settings(folder: Path, **more: object) -> Settings:
    given = {"tokens_file": folder / "tokens", "first_tokens": folder / "secrets", **more}
    return Settings.model_validate({"data_dir": folder, **given})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_start_makes_an_administrator_and_a_viewer(tmp_path: Path) -> None:
    made = first_tokens.make(settings(tmp_path))
    assert [path.name for path in made] == ["admin-token", "viewer-token"]
    assert [mode(path) for path in made] == [0o600, 0o644]
    assert mode(tmp_path / "tokens") == 0o600
    known = TokensFile(tmp_path / "tokens")
    found = [known.find(path.read_text()) for path in made]
    assert [token and (token.name, token.role) for token in found] == [
        ("admin", "admin"), ("viewer", "viewer"),
    ]  # fmt: skip


def test_a_later_start_changes_nothing(tmp_path: Path) -> None:
    first_tokens.make(settings(tmp_path))
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    assert first_tokens.make(settings(tmp_path)) == ()
    after = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    assert after == before


def test_a_start_that_was_interrupted_before_the_tokens_file_begins_again(tmp_path: Path) -> None:
    old = first_tokens.make(settings(tmp_path))[0].read_text()
    (tmp_path / "tokens").unlink()
    new = first_tokens.make(settings(tmp_path))[0].read_text()
    assert new != old
    assert TokensFile(tmp_path / "tokens").find(old) is None
    assert TokensFile(tmp_path / "tokens").find(new) is not None


@pytest.mark.parametrize("missing", ["tokens_file", "first_tokens"])
def test_nothing_is_made_unless_both_places_are_named(tmp_path: Path, missing: str) -> None:
    assert first_tokens.make(settings(tmp_path, **{missing: None})) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"SAQCHAOS_FIRST_TOKENS=.*file/secrets"):
        first_tokens.make(settings(tmp_path, first_tokens=tmp_path / "file" / "secrets"))
