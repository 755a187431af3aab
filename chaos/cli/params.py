"""Parameter types of the command line: what a value must be, or was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import click

from chaos.clock import parse_duration_us


def closest(value: str, accepted: Sequence[str]) -> str:
    """`accepted are a, b; did you mean b?`, for the end of a message."""
    listed = f"accepted are {', '.join(accepted)}" if accepted else "there are none"
    near = difflib.get_close_matches(value, accepted, n=1, cutoff=0.5)
    return f"{listed}; did you mean {near[0]}?" if near else listed


class OneOf(click.ParamType[str]):
    """One of a few fixed words; anything else is answered with all of them and the closest."""

    name = "word"

    def __init__(self, *accepted: str) -> None:
        self.accepted = accepted

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.accepted:
            return str(value)
        said = f"{value!r} is not known: {closest(str(value), self.accepted)}"
        raise click.BadParameter(said, ctx, param)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "|".join(self.accepted)


class Duration(click.ParamType[str]):
    """A duration as plans write it (`90s`, `1.5m`, `48h`). Stays text: the plan parses it."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            parse_duration_us(str(value))
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, param) from error
        return str(value)
