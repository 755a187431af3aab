"""The files that a run has left, as HTTP answers: read whole, or streamed where they are long.

A run directory may lack files: the run has not ended, was interrupted, or its disk was full. What
is missing is told as a 404 that says why, and a file that cannot be read as a 409. Pages that a
run has written get no rights in the browser (`sandbox`): everything in them came from a run.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from chaos.errors import HistoryError
from chaos.reports import markdown, verdict_json
from chaos.verdict import Verdict
from service.errors import Conflict, NotFound
from service.models import Run

CHUNK_BYTES = 64 * 1024
WHOLE_MAX = 64 << 20  # bytes of a file that is read whole; a run's largest has a few MiB
GZIP_LEVEL = 5
GZIP_BITS = 31  # zlib's way to say: a gzip stream with the largest window
SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_NOSNIFF = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}


def whole(run: Run, path: Path, media_type: str, *, page: bool = False) -> Response:
    """One file.

    Raises:
        NotFound: it is not there; the text says why.
        Conflict: it is there and cannot be read.
    """
    headers = {**_NOSNIFF, "Content-Security-Policy": SANDBOX} if page else _NOSNIFF
    return Response(_read(run, path), 200, headers, media_type)


def verdict_of(run: Run, folder: Path) -> Verdict:
    """The stored verdict. Raises NotFound or Conflict as `whole` does."""
    path = folder / "verdict.json"
    if not path.is_file():
        raise missing(run, path.name)
    _read(run, path)  # no link, no pipe, not too large
    try:
        return verdict_json.read(path)
    except HistoryError as error:
        raise _broken(run, path.name) from error


def summary_of(run: Run, folder: Path) -> Response:
    """The summary in Markdown: the stored one, or one made of the verdict."""
    path = folder / "summary.md"
    if path.is_file():
        return whole(run, path, "text/markdown; charset=utf-8")
    made = markdown.render(verdict_of(run, folder))
    return Response(made, 200, _NOSNIFF, "text/markdown; charset=utf-8")


def streamed(run: Run, path: Path, media_type: str, *, gzip: bool) -> Response:
    """One long file in chunks, packed on the way if the client takes that."""
    file = _open(run, path)
    headers = {**_NOSNIFF, "Vary": "Accept-Encoding"}
    if gzip:
        headers["Content-Encoding"] = "gzip"
    chunks = _packed(_chunks(file)) if gzip else _chunks(file)
    return StreamingResponse(chunks, 200, headers, media_type, BackgroundTask(file.close))


def takes_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header allows gzip."""
    for word in accept_encoding.split(","):
        name, _, weight = word.strip().partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return weight.replace(" ", "").lower() not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def missing(run: Run, name: str) -> NotFound:
    """Why a run has no such file."""
    if run.state == "queued":
        return NotFound(f"run {run.id} waits in the queue: it has no {name} yet")
    if run.state == "running":
        return NotFound(f"run {run.id} goes on: {name} is written when it ends; follow its events")
    if name == "story.html" and run.outcome == "passed":
        return NotFound(f"run {run.id} broke no promise: there is no story to tell")
    if name == "story.html":
        return NotFound(f"run {run.id} ({run.outcome}) has no finding that a story could tell")
    return NotFound(f"run {run.id} ended as {run.outcome} and left no {name}")


def _read(run: Run, path: Path) -> bytes:
    with _open(run, path) as file:
        if os.fstat(file.fileno()).st_size > WHOLE_MAX:
            raise _broken(run, path.name)
        return file.read()


def _open(run: Run, path: Path) -> BinaryIO:
    """A regular file of the run's own: no link leads out of it, and no pipe is waited for."""
    try:
        if path.parent.is_symlink():
            raise _broken(run, path.name)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise missing(run, path.name) from error
    except OSError as error:
        raise _broken(run, path.name) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _broken(run, path.name)
    return os.fdopen(descriptor, "rb")


def _broken(run: Run, name: str) -> Conflict:
    return Conflict(
        f"{name} of run {run.id} is there and cannot be read; its history may still be judged "
        f"again on the server: saq-chaos check RUN_DIRECTORY"
    )


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _packed(chunks: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_BITS)
    for chunk in chunks:
        if packed := packer.compress(chunk):
            yield packed
    yield packer.flush()
