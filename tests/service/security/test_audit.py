"""The audit log: what it holds, that it only grows, and how it is read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from service.ports import Caller
from service.security.audit import AuditLog
from tests.service.security.stage import app_of, client_of, settings_in, tokens_in

ANN = Caller("ann", "admin", session=True)


def lines(folder: Path) -> list[str]:
    return (folder / "audit.jsonl").read_text("ascii").splitlines()


def test_an_entry_says_who_did_what_to_what_and_how_it_ended(tmp_path: Path) -> None:
    AuditLog(tmp_path).record(ANN, "run.stop", "r1", "done", "asked for")
    entry = json.loads(lines(tmp_path)[0])
    assert entry.pop("at").endswith("Z")
    assert entry == {
        "number": 1, "caller": "ann", "role": "admin", "session": True, "peer": "",
        "request": "", "action": "run.stop", "target": "r1", "outcome": "done",
        "detail": "asked for",
    }  # fmt: skip


def test_the_log_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        AuditLog(tmp_path).record(ANN, "a", "b", "done")
    finally:
        os.umask(before)
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_nothing_that_is_recorded_can_forge_a_line(tmp_path: Path) -> None:
    hostile = 'x\n{"number": 9}\r\x1b[31m\x7f\u202e\u2028\x85\ud800"'
    log = AuditLog(tmp_path)
    log.record(None, hostile, hostile, hostile, hostile)
    written = lines(tmp_path)
    assert len(written) == 1
    assert written[0].isprintable()
    assert log.page(10).entries[0].number == 1


def test_words_are_cut(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    log.record(ANN, "a" * 9_000, "b" * 9_000, "c" * 9_000, "d" * 9_000)
    assert len(lines(tmp_path)[0]) < 3_000


def test_pages_are_newest_first_and_stay_valid_while_more_come(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    for number in range(1, 6):
        log.record(ANN, "a", f"t{number}", "done")
    first = log.page(2)
    log.record(ANN, "a", "t6", "done")
    second = log.page(2, int(first.next or 0))
    third = log.page(2, int(second.next or 0))
    assert [entry.target for page in (first, second, third) for entry in page.entries] == [
        "t5", "t4", "t3", "t2", "t1",
    ]  # fmt: skip
    assert third.next is None


def test_numbers_go_on_in_the_next_process(tmp_path: Path) -> None:
    AuditLog(tmp_path).record(ANN, "a", "b", "done")
    log = AuditLog(tmp_path)
    log.record(ANN, "a", "b", "done")
    assert [entry.number for entry in log.page(10).entries] == [2, 1]


def test_an_entry_that_a_crash_cut_off_spoils_no_other(tmp_path: Path) -> None:
    AuditLog(tmp_path).record(ANN, "a", "t1", "done")
    with (tmp_path / "audit.jsonl").open("a") as file:
        file.write('{"number": 2, "at": "20')
    log = AuditLog(tmp_path)
    log.record(ANN, "a", "t2", "done")
    assert [(entry.number, entry.target) for entry in log.page(10).entries] == [
        (2, "t2"), (1, "t1"),
    ]  # fmt: skip


def test_old_entries_are_kept_in_so_many_files_of_so_many_bytes(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, bytes_max=1_000, kept=2)
    for number in range(1, 41):
        log.record(ANN, "a", f"t{number}", "done")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names[-2:] == ["audit.jsonl.1", "audit.jsonl.2"]
    assert all(path.stat().st_size <= 1_300 for path in tmp_path.iterdir())
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
    numbers = [entry.number for entry in log.page(100).entries]
    assert numbers == list(range(40, 40 - len(numbers), -1))
    assert AuditLog(tmp_path, bytes_max=1_000, kept=2).page(1).entries[0].number == 40


def test_a_log_of_many_blocks_is_read_backwards_whole(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    for number in range(1, 1_001):
        log.record(ANN, "a", "x" * (number % 300), "done")
    assert (tmp_path / "audit.jsonl").stat().st_size > 3 * 64 * 1024
    assert [entry.number for entry in log.page(2_000).entries] == list(range(1_000, 0, -1))


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("", "ascii")
    log = AuditLog(tmp_path)
    (tmp_path / "audit.jsonl").symlink_to(target)
    log.record(ANN, "a", "b", "done")
    assert target.read_text("ascii") == ""


def test_a_log_that_cannot_be_written_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = AuditLog(tmp_path)
    (tmp_path / "audit.jsonl").mkdir()
    log.record(ANN, "run.stop", "r1", "done")
    assert "the audit log cannot be written" in caplog.text
    assert '"run.stop"' in caplog.text


async def test_refused_credentials_are_recorded_but_not_without_end(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="admin", eve="viewer")
    app = app_of(settings_in(tmp_path, tokens_file=path))
    async with client_of(app, "wrong-token", peer="192.0.2.1") as thief:
        for _ in range(30):
            assert (await thief.get("/v1/seen")).status_code == 401
    async with client_of(app, secret["eve"]) as eve:
        assert (await eve.post("/v1/done")).status_code == 403
    async with client_of(app, secret["ann"]) as ann:
        entries = (await ann.get("/v1/audit")).json()["entries"]
    assert len(entries) == 11
    assert {key: entries[0][key] for key in ("caller", "action", "target", "outcome")} == {
        "caller": "eve", "action": "authorize", "target": "POST /v1/done", "outcome": "refused"
    }  # fmt: skip
    assert {key: entries[1][key] for key in ("caller", "action", "target", "peer")} == {
        "caller": "anonymous", "action": "authenticate", "target": "GET /v1/seen",
        "peer": "192.0.2.1",
    }  # fmt: skip
    assert "wrong-token" not in (tmp_path / "data" / "audit.jsonl").read_text("ascii")


async def test_log_ins_and_log_outs_are_recorded_with_peer_and_request(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="admin")
    app = app_of(settings_in(tmp_path, tokens_file=path))
    async with client_of(app, peer="192.0.2.7") as page:
        answer = await page.post("/v1/session", json={"token": secret["ann"]})
        await page.delete("/v1/session", headers={"X-CSRF-Token": answer.json()["csrf"]})
    async with client_of(app, secret["ann"]) as ann:
        page_one = (await ann.get("/v1/audit", params={"limit": 1})).json()
        page_two = (await ann.get("/v1/audit", params={"cursor": page_one["next"]})).json()
    entries = page_one["entries"] + page_two["entries"]
    assert [(one["action"], one["peer"], one["session"]) for one in entries] == [
        ("log-out", "192.0.2.7", True), ("log-in", "192.0.2.7", True),
    ]  # fmt: skip
    assert entries[1]["request"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "cursor=x", "cursor=-1"])
async def test_a_wrong_page_is_refused(tmp_path: Path, query: str) -> None:
    async with client_of(app_of(settings_in(tmp_path))) as local:
        assert (await local.get(f"/v1/audit?{query}")).status_code == 422
