"""The tokens file: what a line says, who may read it, and when it is read again."""

from __future__ import annotations

import hashlib
import hmac
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.errors import UsageError
from service.security import token_command, tokens
from service.security.tokens import Token, TokensFile
from tests.service.security.stage import tokens_in, write_tokens

HASH = "sha256:" + "ab" * 32
OTHER = "sha256:" + "cd" * 32


def test_a_line_has_a_name_a_role_and_a_hash() -> None:
    text = f"# who may do what\n\nci operator {HASH}  # the pipeline\neve viewer {OTHER}\n"
    assert tokens.parse(text) == (
        Token("ci", "operator", HASH),
        Token("eve", "viewer", OTHER),
    )


def test_every_bad_line_is_named_by_its_number_and_no_hash_is_shown() -> None:
    text = f"ci operator {HASH}\nci viewer {OTHER}\neve root {HASH}\nbob admin\nann admin sha1:00\n"
    with pytest.raises(UsageError) as refused:
        tokens.parse(text)
    assert str(refused.value).splitlines() == [
        "line 2: the name of 'ci' stands on line 1 already",
        "line 3: 'root' is no role: write viewer, operator or admin",
        "line 4: it has 2 words: write `name role hash`",
        (
            "line 5: the hash of 'ann' is not `sha256:` and 64 hexadecimal digits: make the line "
            "with `python -m service token ann admin`"
        ),
    ]


def test_two_names_cannot_share_a_token() -> None:
    with pytest.raises(UsageError, match="line 2: the hash of 'b' stands on line 1 already"):
        tokens.parse(f"a viewer {HASH}\nb admin {HASH}\n")


def test_nobody_can_be_called_like_the_service_itself() -> None:
    with pytest.raises(UsageError, match="line 1: 'local' is the service's own name"):
        tokens.parse(f"local viewer {HASH}\n")


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(UsageError, match="it has no token"):
        tokens.parse("# nobody yet\n")


def test_a_token_is_kept_as_its_hash_only(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ci="operator")
    text = path.read_text("utf-8")
    assert secret["ci"] not in text
    assert text == f"ci operator sha256:{hashlib.sha256(secret['ci'].encode()).hexdigest()}\n"


def test_a_token_has_256_random_bits() -> None:
    made = [tokens.new_token() for _ in range(100)]
    assert len(dict.fromkeys(made)) == 100
    assert {len(token) for token in made} == {len("saqchaos_") + 43}  # 32 bytes in base64


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o606, 0o620, 0o660, 0o601])
def test_a_file_that_others_may_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    path, _ = tokens_in(tmp_path, ci="operator")
    path.chmod(mode)
    with pytest.raises(UsageError, match=rf"has mode {mode:04o}: .* run chmod 600"):
        tokens.read(path)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o440, 0o640])
def test_a_file_for_its_owner_or_group_is_read(tmp_path: Path, mode: int) -> None:
    path, _ = tokens_in(tmp_path, ci="operator")
    path.chmod(mode)
    assert [token.name for token in tokens.read(path)] == ["ci"]


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        tokens.read(tmp_path / "missing")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        tokens.read(tmp_path)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    binary.chmod(0o600)
    with pytest.raises(UsageError, match="no UTF-8"):
        tokens.read(binary)


def test_a_changed_file_counts_at_once(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ci="operator")
    known = TokensFile(path)
    assert known.find(secret["ci"]) == Token("ci", "operator", tokens.hash_of(secret["ci"]))
    write_tokens(path, [Token("ci", "viewer", tokens.hash_of(secret["ci"]))])
    assert known.find(secret["ci"]) == Token("ci", "viewer", tokens.hash_of(secret["ci"]))
    write_tokens(path, [Token("other", "viewer", HASH)])
    assert known.find(secret["ci"]) is None


def test_a_broken_file_lets_nobody_in_until_it_is_mended(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ci="operator")
    known = TokensFile(path)
    assert known.find(secret["ci"]) is not None
    good = path.read_text("utf-8")
    path.write_text(f"{good}eve\n", "utf-8")
    for _ in range(2):
        with pytest.raises(UsageError, match="line 2"):
            known.find(secret["ci"])
    path.unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        known.find(secret["ci"])
    path.write_text(good, "utf-8")
    path.chmod(0o600)
    assert known.find(secret["ci"]) is not None


def test_tokens_are_compared_in_constant_time_and_each_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    real = hmac.compare_digest

    def counting(known: str, presented: str) -> bool:
        compared.append(known)
        return real(known, presented)

    path, secret = tokens_in(tmp_path, a="viewer", b="viewer", c="viewer")
    monkeypatch.setattr(hmac, "compare_digest", counting)
    assert TokensFile(path).find(secret["a"]) is not None
    assert len(compared) == 3  # the first one matched, and the others were compared all the same


def test_the_command_prints_a_token_once_and_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert token_command.main(["ci", "operator"]) == 0
    printed = capsys.readouterr()
    secret = printed.out.removesuffix("\n")
    assert printed.err == f"ci operator {tokens.hash_of(secret)}\n"


def test_the_command_appends_to_a_file_that_is_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tokens"
    before = os.umask(0)
    try:
        assert token_command.main(["ci", "operator", "--append", str(path)]) == 0
        assert token_command.main(["eve", "viewer", "--append", str(path)]) == 0
    finally:
        os.umask(before)
    secrets = capsys.readouterr().out.split()
    assert path.stat().st_mode & 0o777 == 0o600
    assert [TokensFile(path).find(secret) for secret in secrets] == [
        Token("ci", "operator", tokens.hash_of(secrets[0])),
        Token("eve", "viewer", tokens.hash_of(secrets[1])),
    ]


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = tokens_in(tmp_path, ci="operator")
    assert token_command.main(["ci", "root"]) == 2
    assert token_command.main(["a b", "admin"]) == 2
    assert token_command.main(["ci", "admin", "--append", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.partition(":")[0] for line in printed.err.splitlines()] == [
        "'root' is no role",
        "'a b' is no name",
        f"{path} has a token named 'ci' already",
    ]


def test_a_line_is_not_glued_to_one_without_an_end(tmp_path: Path) -> None:
    path, _ = tokens_in(tmp_path, ci="operator")
    path.write_text(path.read_text("utf-8").removesuffix("\n"), "utf-8")
    assert token_command.main(["eve", "viewer", "--append", str(path)]) == 0
    assert [token.name for token in tokens.read(path)] == ["ci", "eve"]


def test_the_command_runs_as_a_module() -> None:
    program = (
        "import sys; from service.security.token_command import main; sys.exit(main(sys.argv[1:]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, "ci", "admin"], capture_output=True, text=True, check=True
    )
    assert ran.stderr == f"ci admin {tokens.hash_of(ran.stdout.strip())}\n"
