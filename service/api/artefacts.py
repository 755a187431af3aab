"""The files that a run has left, as HTTP answers: read whole, or streamed where they are long.

A run directory may lack files: the run has not ended, was interrupted, or its disk was full. What
is missing is told as a 404 that says why, and a file that cannot be read as a 409. Pages that a
run has written get no rights in the browser (`sandbox`): everything in them came from a run.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from chaos.errors import HistoryError
from chaos.reports import markdown, verdict_json
from chaos.verdict import Verdict
from service import run_files
from service.errors import Conflict, NotFound
from service.models import Run

Taken = TypeVar("Taken")

CHUNK_BYTES = 64 * 1024
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
    return Response(_taken(run, path, run_files.read_own), 200, headers, media_type)


def verdict_of(run: Run, folder: Path) -> Verdict:
    """The stored verdict. Raises NotFound or Conflict as `whole` does."""
    path = folder / "verdict.json"
    content = _taken(run, path, run_files.read_own)
    try:
        return verdict_json.loads(content, path.name)
    except HistoryError as error:
        raise _broken(run, path.name) from error


def summary_of(run: Run, folder: Path) -> Response:
    """The summary in Markdown: the stored one, or one made of the verdict."""
    path = folder / "summary.md"
    if os.path.lexists(path):
        return whole(run, path, "text/markdown; charset=utf-8")
    made = markdown.render(verdict_of(run, folder))
    return Response(made, 200, _NOSNIFF, "text/markdown; charset=utf-8")


def streamed(run: Run, path: Path, media_type: str, *, gzip: bool) -> Response:
    """One long file in chunks, packed on the way if the client takes that."""
    file = _taken(run, path, run_files.open_own)
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


def _taken(run: Run, path: Path, take: Callable[[Path], Taken]) -> Taken:
    """What `take` makes of a file of the run; a problem document's error where it cannot."""
    try:
        return take(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise missing(run, path.name) from error
    except OSError as error:
        raise _broken(run, path.name) from error


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
