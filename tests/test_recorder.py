"""The flight recorder and its reader: what was committed is read, once, in order, whatever happens.

Processes that must die, fork or run out of space are real ones, started from the scripts below.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos import event as e
from chaos.errors import HistoryError
from chaos.history import to_json
from chaos.tail import EventFile
from chaos.worker.events import FILE_HEADER, HEADER_SIZE, Kind, Op, Outcome
from chaos.worker.recorder import CUT_SIZE, Recorder

PAGE = os.sysconf("SC_PAGE_SIZE")
HOST = "stock@0.26.3/worker-1.1"


def read(path: Path) -> list[e.Event]:
    """All events of a file, their stamps removed."""
    return [msgspec.structs.replace(event, t_us=0) for event in EventFile(path, HOST, 0).read()]


def script(body: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A Python process that runs `body`; `out` is its stdout's file descriptor."""
    code = "import os, signal, sys, threading\n"
    code += "from chaos.worker.recorder import Recorder\nout = 1\n" + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


# --- what is written is what is read --------------------------------------------------------------

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x1f"), max_size=60)
CALL = st.integers(0, 2**32 - 1)
NUMBER = st.integers(-(2**63), 2**63 - 1)
ATTEMPT = st.integers(1, 2**32 - 1)
RECORDS = st.one_of(
    st.tuples(st.just("invoked"), TEXT, CALL, NUMBER, TEXT, TEXT),
    st.tuples(st.just("began"), TEXT, ATTEMPT, NUMBER, TEXT, TEXT),
    st.tuples(st.just("ended"), TEXT, ATTEMPT, TEXT),
    st.tuples(st.just("state"), TEXT, TEXT, st.none() | st.floats(allow_nan=False)),
)


def put(recorder: Recorder, record: tuple[Any, ...]) -> e.Event:
    """Record one event of a random program; what must be read back."""
    match record:
        case ("invoked", job, call, number, status, detail):
            text = f"{status}\x1f{detail}\x1f7"
            recorder.record(
                Kind.CALL_INVOKED, job, call=call, number=number, text=text, code=Op.FINISH
            )
            return e.CallInvoked(
                host=HOST, op="finish", call=call, parent=7, job=job, enqueue=number,
                status=status, detail=detail,
            )  # fmt: skip
        case ("began", job, attempt, number, function, digest):
            text = f"{function}\x1f{digest}"
            recorder.record(Kind.ATTEMPT_BEGAN, job, attempt, 2 << 16 | 5, number, text)
            return e.AttemptBegan(
                host=HOST, job=job, attempt=f"{HOST}#{attempt}", enqueue=number, tries=2,
                retries=5, function=function, digest=digest,
            )  # fmt: skip
        case ("ended", job, attempt, error):
            recorder.record(Kind.BODY_ENDED, job, attempt, text=error, code=Outcome.RAISED)
            return e.BodyEnded(
                host=HOST, job=job, attempt=f"{HOST}#{attempt}", outcome="raised", error=error
            )
        case ("state", job, worker_id, score):
            recorder.record_fields(Kind.JOB_STATE, job, worker_id=worker_id, score=score)
            return e.JobState(host=HOST, job=job, worker_id=worker_id, score=score)
    raise AssertionError(record)


@settings(max_examples=60, deadline=None)
@given(program=st.lists(RECORDS, max_size=80), closed=st.booleans())
def test_a_random_program_of_records_is_read_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, program: list[tuple[Any, ...]], closed: bool
) -> None:
    path = tmp_path_factory.mktemp("recorder") / "a.events"
    recorder = Recorder(str(path), segment_size=PAGE)
    expected = [put(recorder, record) for record in program]
    if closed:
        recorder.close()
    try:
        assert read(path) == expected
    finally:
        recorder.close()


def test_records_cross_many_segments_and_the_file_ends_with_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path), segment_size=PAGE)
    for number in range(1_000):
        recorder.record(Kind.SLOT_REMOVED, "key", attempt=1, number=number + 1)
    recorder.close()

    size = path.stat().st_size
    assert size > 5 * PAGE
    assert size % PAGE != 0
    assert read(path) == [
        e.SlotRemoved(host=HOST, job="key", attempt=f"{HOST}#1", by=f"{HOST}#{number + 1}")
        for number in range(1_000)
    ]


def test_stamps_are_microseconds_since_the_origin_and_never_fall(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path), segment_size=PAGE)
    for _ in range(10):
        recorder.record(Kind.SLOT_SET, "key", attempt=1)
    recorder.close()

    from_zero = [event.t_us for event in EventFile(path, HOST, 0).read()]
    later = [event.t_us for event in EventFile(path, HOST, 5_000_000).read()]
    assert from_zero == sorted(from_zero)
    assert [a - b for a, b in zip(from_zero, later, strict=True)] == [5_000] * 10


def test_a_follower_sees_each_event_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    writer = script(
        """
        recorder = Recorder(sys.argv[1], segment_size=4 * os.sysconf("SC_PAGE_SIZE"))
        for number in range(30_000):
            if number == 15_000:
                os.write(out, b"half")
                os.kill(os.getpid(), signal.SIGSTOP)  # until the follower has read
            recorder.record(51 - 1, "key", text='{"queued":%d}' % number)
        recorder.close()
        """,
        str(path),
    )
    follower = EventFile(path, HOST, 0)
    seen: list[int] = []
    reads = 0
    with writer:
        assert writer.stdout is not None
        writer.stdout.read(4)
        while writer.poll() is None:
            fresh = follower.read()
            writer.send_signal(signal.SIGCONT)
            reads += bool(fresh)
            seen += [event.queued for event in fresh if isinstance(event, e.JobState)]
    seen += [event.queued for event in follower.read() if isinstance(event, e.JobState)]

    assert writer.returncode == 0
    assert seen == list(range(30_000))
    assert reads > 1, "the follower never read while the writer wrote"
    assert not follower.torn()


# --- a process that ends badly --------------------------------------------------------------------


def test_sigkill_among_threads_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    writer = script(
        """
        recorder = Recorder(sys.argv[1], segment_size=os.sysconf("SC_PAGE_SIZE"))
        def work(thread):
            for number in range(10_000_000):
                recorder.record(30, f"thread-{thread}", attempt=number + 1)
                os.write(out, b"%d %12d\\n" % (thread, number + 1))
        for thread in range(4):
            threading.Thread(target=work, args=(thread,)).start()
        """,
        str(path),
    )
    told = dict.fromkeys(range(4), 0)
    with writer:
        assert writer.stdout is not None
        for count, line in enumerate(writer.stdout):
            thread_text, number_text = line.split()
            told[int(thread_text)] = int(number_text)
            if count == 4_000:
                writer.send_signal(signal.SIGKILL)
    assert writer.returncode == -signal.SIGKILL

    found: dict[str, list[str]] = {f"thread-{thread}": [] for thread in range(4)}
    for event in read(path):
        assert isinstance(event, e.SlotSet)
        found[event.job].append(event.attempt)
    for thread in range(4):
        attempts = found[f"thread-{thread}"]
        assert len(attempts) >= told[thread] > 0
        assert attempts == [f"{HOST}#{number + 1}" for number in range(len(attempts))]


def test_a_record_that_a_kill_cut_short_is_left_out_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    writer = script(
        """
        from chaos.worker import recorder as module
        recorder = Recorder(sys.argv[1])
        recorder.record(30, "whole", attempt=1)
        def kill(*rest):
            os.kill(os.getpid(), signal.SIGKILL)
        module._PUT_LENGTH = kill
        recorder.record(30, "torn", attempt=2)
        """,
        str(path),
    )
    with writer:
        assert writer.wait(30) == -signal.SIGKILL

    file = EventFile(path, HOST, 0)
    assert [event.job for event in file.read() if isinstance(event, e.SlotSet)] == ["whole"]
    assert file.torn()
    assert file.read() == []


def test_a_killed_process_that_was_between_records_has_no_torn_tail(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path), segment_size=PAGE)
    recorder.record(Kind.SLOT_SET, "key", attempt=1)

    file = EventFile(path, HOST, 0)  # not closed: the file is as a killed process leaves it
    assert len(file.read()) == 1
    assert not file.torn()
    recorder.close()


def test_a_full_disk_is_an_error_where_it_can_be_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    writer = script(
        """
        import resource
        page = os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 * page, 3 * page))
        told = []
        recorder = Recorder(sys.argv[1], segment_size=page, on_full=told.append)
        committed = 0
        try:
            for _ in range(100_000):
                recorder.record(30, "key", attempt=committed + 1)
                committed += 1
        except OSError as error:
            again = 0
            try:
                recorder.record(30, "x" * (page // 2))
            except OSError:
                again = 1
            print(committed, error.errno, told == [error] + told[1:], len(told), again)
        """,
        str(path),
    )
    output, errors = writer.communicate(timeout=30)
    assert writer.returncode == 0, errors.decode()
    committed, errno, first, calls, again = output.split()
    assert int(errno) == 27  # EFBIG: what posix_fallocate says past the limit
    assert (first, calls, again) == (b"True", b"2", b"1")
    assert [event.attempt for event in read(path) if isinstance(event, e.SlotSet)] == [
        f"{HOST}#{number + 1}" for number in range(int(committed))
    ]


def test_a_forked_child_writes_nothing_and_never_waits_for_the_parents_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    writer = script(
        """
        import time, warnings
        warnings.simplefilter("ignore")
        recorder = Recorder(sys.argv[1])
        recorder.record(30, "before", attempt=1)
        held, free = threading.Event(), threading.Event()
        def hold():
            with recorder._lock:
                held.set()
                free.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            recorder.record(30, "child", attempt=2)
            recorder.close()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        free.set()
        thread.join()
        recorder.record(30, "after", attempt=3)
        sys.exit(status)
        """,
        str(path),
    )
    _, errors = writer.communicate(timeout=60)
    assert writer.returncode == 0, errors.decode()
    assert [event.job for event in read(path) if isinstance(event, e.SlotSet)] == [
        "before",
        "after",
    ]


# --- what does not fit ----------------------------------------------------------------------------


def test_a_field_longer_than_a_segment_is_shortened_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path))
    traceback = 'File "x.py"\n' * 300_000
    recorder.record_fields(
        Kind.ERROR_RAISED, "key", 3, origin="internal", where="process", error="KeyError",
        message="é" * 10, traceback=traceback,
    )  # fmt: skip
    recorder.close()

    (event,) = read(path)
    assert isinstance(event, e.ErrorRaised)
    assert (event.job, event.attempt, event.error) == ("key", f"{HOST}#3", "KeyError")
    assert event.message == "é" * 10
    assert event.traceback.startswith('File "x.py"\nFile "x.py"\n')
    assert "… cut: 3600000 bytes, sha256 " in event.traceback[-60:]
    assert 400_000 < len(event.traceback) < 1 << 20


def test_a_field_full_of_escapes_still_becomes_valid_json(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path), segment_size=PAGE)
    recorder.record_fields(Kind.ANSWERED, call=5, error='\x00"\\' * PAGE)
    recorder.close()

    (event,) = read(path)
    assert isinstance(event, e.Answered)
    assert event.call == 5
    assert event.error.startswith('\x00"\\')
    assert "… cut: " in event.error


def test_fields_that_cannot_fit_are_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path), segment_size=PAGE)
    with pytest.raises(ValueError, match="the fields variants need more than"):
        recorder.record_fields(Kind.RUN_BEGAN, variants=["v"] * PAGE)
    recorder.record(Kind.SLOT_SET, "key", attempt=1)
    recorder.close()
    assert len(read(path)) == 1


def test_a_long_key_and_the_parts_of_a_long_text_keep_their_places(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path), segment_size=PAGE)
    recorder.record(
        Kind.CALL_INVOKED,
        "k" * 70_000,
        call=1,
        text=f"aborted\x1f{'ü' * PAGE}\x1f12",
        code=Op.RETRY,
    )
    recorder.close()

    (event,) = read(path)
    assert isinstance(event, e.CallInvoked)
    assert (event.status, event.parent) == ("aborted", 12)
    assert event.job.startswith("kkkk")
    assert "… cut: 70000 bytes, sha256 " in event.job
    assert event.detail.startswith("üüüü")
    assert f"… cut: {2 * PAGE} bytes, sha256 " in event.detail


def test_two_long_keys_that_differ_at_their_end_stay_two(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path), segment_size=PAGE)
    for last in "ab":
        recorder.record(Kind.SLOT_SET, "k" * 70_000 + last, attempt=1)
    recorder.close()
    first, second = read(path)
    assert first != second


@settings(max_examples=40, deadline=None)
@given(
    job=st.text(max_size=3 * PAGE),
    text=st.text(max_size=2 * PAGE),
    repeat=st.integers(1, 3),
)
def test_no_text_is_too_long_or_too_odd_to_be_recorded(
    tmp_path_factory: pytest.TempPathFactory, job: str, text: str, repeat: int
) -> None:
    path = tmp_path_factory.mktemp("recorder") / "a.events"
    recorder = Recorder(str(path), segment_size=PAGE)
    for _ in range(repeat):
        recorder.record(Kind.BODY_ENDED, job, 1, text=text, code=Outcome.RAISED)
        recorder.record_fields(Kind.ANSWERED, call=1, error=text * repeat)
    recorder.close()
    events = read(path)
    assert len(events) == 2 * repeat
    for event in events:
        assert to_json(event)


def test_a_lone_surrogate_is_written_as_the_characters_that_name_it(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path))
    recorder.record(Kind.BODY_ENDED, "\ud800", 1, text="\udcff", code=Outcome.RAISED)
    recorder.record_fields(Kind.ANSWERED, call=1, error="a\ud800b")
    recorder.close()
    assert read(path) == [
        e.BodyEnded(
            host=HOST, job="\\ud800", attempt=f"{HOST}#1", outcome="raised", error="\\udcff"
        ),
        e.Answered(host=HOST, call=1, error="a\\ud800b"),
    ]


def test_a_text_of_zeros_longer_than_one_read_does_not_stop_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path))
    recorder.record(Kind.BODY_ENDED, "key", 1, text="\0" * 300_000, code=Outcome.RAISED)
    recorder.record(Kind.SLOT_SET, "key", attempt=2)

    first, second = EventFile(path, HOST, 0).read()
    assert isinstance(first, e.BodyEnded)
    assert first.error == "\0" * 300_000
    assert isinstance(second, e.SlotSet)
    recorder.close()


# --- the file itself ------------------------------------------------------------------------------


def test_the_file_is_private_new_and_silent_once_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    recorder = Recorder(str(path))
    with pytest.raises(FileExistsError):
        Recorder(str(path))
    recorder.close()
    recorder.record(Kind.SLOT_SET, "late", attempt=1)
    recorder.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size == FILE_HEADER.size
    assert read(path) == []


@pytest.mark.parametrize("size", [0, -PAGE, PAGE + 8])
def test_a_segment_that_is_no_whole_number_of_pages_is_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(ValueError, match=f"segment_size {size} is no multiple of the page size"):
        Recorder(str(tmp_path / "a.events"), segment_size=size)
    assert not (tmp_path / "a.events").exists()


def test_a_file_that_is_not_there_yet_has_no_events(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    file = EventFile(path, HOST, 0)
    assert file.read() == []
    assert not file.torn()
    recorder = Recorder(str(path))
    recorder.record(Kind.SLOT_SET, "key", attempt=1)
    assert len(file.read()) == 1
    recorder.close()


def test_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.events"
    path.write_bytes(b"GIF89a" + bytes(range(64)))
    with pytest.raises(HistoryError, match=r"a\.events is no recorder file"):
        EventFile(path, HOST, 0).read()


@pytest.mark.parametrize(
    ("length", "kind", "text", "message"),
    [
        (HEADER_SIZE, 99, b"", "99 is not a valid Kind"),
        (HEADER_SIZE + 3, Kind.ANSWERED, b"{x}", "no event: "),
        (HEADER_SIZE + 10, Kind.ANSWERED, b'{"call":0}', ""),
        (HEADER_SIZE + 2, Kind.ANSWERED, b"{}", "missing required field `call`"),
        (7, Kind.SLOT_SET, b"", "a record cannot have 7 bytes"),
        (PAGE + 1, Kind.SLOT_SET, b"", f"a record cannot have {PAGE + 1} bytes"),
    ],
)
def test_a_record_that_makes_no_sense_is_named_with_its_place(
    tmp_path: Path, length: int, kind: int, text: bytes, message: str
) -> None:
    path = tmp_path / "a.events"
    header = FILE_HEADER.pack(b"SAQCHAO1", PAGE)
    record = struct.pack("<IBBHIIqQ", length, kind, 0, 0, 0, 0, 0, 0) + text
    path.write_bytes((header + record).ljust(PAGE, b"\0"))
    if not message:
        assert len(EventFile(path, HOST, 0).read()) == 1
        return
    with pytest.raises(HistoryError, match=rf"a.events at byte 16: .*{message}"):
        EventFile(path, HOST, 0).read()


def test_the_words_that_say_it_was_cut_always_fit() -> None:
    assert len(f"… cut: {2**63} bytes, sha256 {'0' * 12}".encode()) <= CUT_SIZE
