"""failure.json: one failing run, small and self-contained, so that anybody can make it again.

    versions  plan  variant  seed  script  tape  ─►  run again  ─►  the same digest
    finding  decisions  reruns                        what it shows, and how far it was shrunk

The script says what was enqueued and injected when; the tape holds the decisions that are not at
their default; nothing else is drawn. Reading is strict: a file that another version wrote, or that
somebody edited into something else, is refused with what is wrong about it. What may differ without
the file being wrong (another Python, another saq) is told by `differences`. Nothing is run here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from pydantic import ValidationError

from chaos.errors import UsageError
from chaos.explore.protocol import Ready
from chaos.plan import Plan
from chaos.script import FixedScript
from chaos.version import VERSION

FILE = "failure.json"
FORMAT = 1


class Versions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the run was made with. `python` is a minor version, such as `3.12`."""

    saq_chaos: str
    saq: str
    redis_py: str
    python: str

    @classmethod
    def of(cls, child: Ready) -> Versions:
        """The versions of a simulating process, and our own."""
        return cls(
            saq_chaos=VERSION, saq=child.saq, redis_py=child.redis_py, python=minor(child.python)
        )


class FoundHere(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the run shows.

    Attributes:
        promise: the promise that it breaks.
        kind: the checker's word for it.
        line: file, line and function in saq, for an error of saq's own.
        at_us: when its last evidence was there, from the start of SAFETY.
        events: numbers of the events that prove it, in the run's history.
    """

    promise: str
    kind: str
    message: str
    line: str = ""
    job: str = ""
    at_us: int = 0
    events: tuple[int, ...] = ()


class Shrinking(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Decisions (enqueues, injections, tape entries) before and after, and reruns that it took."""

    before: int
    after: int
    reruns: int


class Failure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One failing run. `plan` is the plan as its YAML says it; `plan_of` makes one of it.

    Attributes:
        variant: `PATCH@SAQ`, as it was written.
        seed: what the targets of faults are drawn from.
        tape: decisions by name; every other one has its default.
        digest: of the history that the run gives.
        app: `module:settings` of a user's application, or empty.
    """

    format: int
    versions: Versions
    variant: str
    finding: FoundHere
    decisions: Shrinking
    digest: str
    seed: int
    plan: dict[str, Any]
    script: FixedScript
    tape: dict[str, int]
    app: str = ""

    def plan_of(self) -> Plan:
        """The plan."""
        return Plan.model_validate_json(json.dumps(self.plan))


def as_data(plan: Plan) -> dict[str, Any]:
    """A plan as a failure file holds it: what it says, in the words of YAML."""
    data: dict[str, Any] = plan.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return data


def write(failure: Failure, path: Path) -> None:
    """Write it as indented JSON that ends with a newline."""
    text = msgspec.json.format(msgspec.json.encode(failure), indent=2)
    path.write_bytes(text + b"\n")


def read(path: Path) -> Failure:
    """Read a failure file, or the one in a run directory.

    Raises:
        UsageError: it cannot be read, is no failure file, or was written in another format.
    """
    path = file_of(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the failure file {path}: {error.strerror}") from error
    _check_form(path, raw)
    try:
        failure = msgspec.json.decode(raw, type=Failure)
        failure.plan_of()
    except msgspec.ValidationError as error:
        raise UsageError(f"{path} is no failure file: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: its plan is wrong at {place}: {first['msg']}") from error
    return failure


def file_of(path: Path) -> Path:
    """The failure file that a path means: itself, or the one in a run directory."""
    return path / FILE if path.is_dir() else path


def _check_form(path: Path, raw: bytes) -> None:
    """What can be told of a file before it is read strictly: the kind of file that it is."""
    try:
        data = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no failure file: it is no JSON ({error})") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} is no failure file: it holds no JSON object")
    wanted = [one.name for one in msgspec.structs.fields(Failure) if one.required]
    missing = [name for name in wanted if name not in data]
    if missing:
        raise UsageError(
            f"{path} is no failure file: it lacks {', '.join(missing)}; `saq-chaos explore` writes "
            f"one as runs/<id>/{FILE}"
        )
    if data["format"] != FORMAT:
        raise UsageError(
            f"{path} has format {data['format']!r}, and this saq-chaos {VERSION} reads format "
            f"{FORMAT}: use the saq-chaos that wrote it ({_writer(data)})"
        )


def _writer(data: dict[str, Any]) -> str:
    versions = data["versions"]
    return str(versions.get("saq_chaos", "unknown")) if isinstance(versions, dict) else "unknown"


def history_path(path: Path) -> Path:
    """Where the history of a failure file is kept: beside it."""
    return path.with_name(f"{path.stem}.history.jsonl")


def differences(found: Versions, here: Versions) -> tuple[str, ...]:
    """What is not as it was when the failure was found, one sentence each."""
    names = (
        ("Python", found.python, here.python),
        ("saq", found.saq, here.saq),
        ("redis-py", found.redis_py, here.redis_py),
        ("saq-chaos", found.saq_chaos, here.saq_chaos),
    )
    return tuple(
        f"found on {name} {then}, this is {now}: the digest may differ"
        for name, then, now in names
        if then != now
    )


def minor(python: str) -> str:
    """The minor version: `3.12` of `3.12.4`."""
    return ".".join(python.split(".")[:2])
