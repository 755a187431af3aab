"""What passes between the service and the process of one run, one JSON line each.

    service ──Start, then Inject | Stop──► stdin  │ runner │ stdout ──Said | Measured | Answered
                                                                       | Ended──► service

The first line starts the run, and a Redis password travels in it and nowhere else. Commands have
numbers, and the answer to each carries its number. End of file on stdin is a stop.
"""

from __future__ import annotations

from typing import Any

import msgspec

LINE_MAX = 8 << 20


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The run to be made. `plan` is YAML with every override in it; `redis_url` may be secret.

    With `judge` nothing is run: what the run directory of that name holds is judged.
    """

    run: str
    plan: str
    runs_dir: str
    world: str
    app: str | None = None
    python: str | None = None
    redis_url: str | None = None
    judge: bool = False


class Inject(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="inject"):
    """Inject one fault now; `variants` are labels."""

    number: int
    fault: dict[str, Any]
    variants: tuple[str, ...] | None = None
    by: str = ""


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="stop"):
    """End the run: faults heal, and what was recorded is judged."""


class Said(msgspec.Struct, frozen=True, kw_only=True, tag_field="message", tag="said"):
    """An event of the run: `data` is a `service.models.EventData`."""

    type: str
    data: dict[str, Any]


class Measured(msgspec.Struct, frozen=True, kw_only=True, tag_field="message", tag="measured"):
    """The metrics of the run so far: `snapshot` is what `chaos.metrics.encode` makes."""

    snapshot: msgspec.Raw


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag_field="message", tag="answered"):
    """What became of a command: the variants that it reached, or why it was refused."""

    number: int
    variants: tuple[str, ...] = ()
    error: str = ""


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag_field="message", tag="ended"):
    """The last message. `ended` is the verdict's word; `error` says why it failed, if it did.

    `verdict` and `gate` are `service.models.VariantSummary` and `GateSummary`.
    """

    exit_code: int
    ended: str
    error: str = ""
    verdict: list[dict[str, Any]] | None = None
    gate: dict[str, Any] | None = None


Command = Inject | Stop
Message = Said | Measured | Answered | Ended

_START = msgspec.json.Decoder(Start)
_COMMAND: msgspec.json.Decoder[Command] = msgspec.json.Decoder(Command)
_MESSAGE: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def line(one: Start | Command | Message) -> bytes:
    """One message as a line."""
    return msgspec.json.encode(one) + b"\n"


def read_start(text: bytes) -> Start:
    """The first line of stdin; msgspec.DecodeError if it is none."""
    return _START.decode(text)


def read_command(text: bytes) -> Command:
    """A later line of stdin; msgspec.DecodeError if it is none."""
    return _COMMAND.decode(text)


def read_message(text: bytes) -> Message:
    """A line of stdout; msgspec.DecodeError if it is none."""
    return _MESSAGE.decode(text)
