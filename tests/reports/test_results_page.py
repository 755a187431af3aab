"""docs/results.md names every event, every field and nothing that does not exist."""

from __future__ import annotations

import inspect
import re
import typing
from pathlib import Path

import msgspec
import pytest

from chaos.event import AnyEvent, Event
from chaos.verdict import (
    ExposureVerdict,
    Finding,
    GateVerdict,
    PromiseVerdict,
    ThresholdVerdict,
    VariantVerdict,
    Verdict,
)

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text("utf-8")


def test_the_event_table_is_the_vocabulary() -> None:
    common = {field.name for field in msgspec.structs.fields(Event)}
    expected = []
    for event in typing.get_args(AnyEvent):
        fields = [one.name for one in msgspec.structs.fields(event) if one.name not in common]
        listed = ", ".join(f"`{name}`" for name in fields) or "-"
        said = " ".join((inspect.getdoc(event) or "").split())
        expected.append(f"| `{event.__struct_config__.tag}` | {listed} | {said} |")
    table = PAGE.partition("| event | fields |")[2].partition("\n\n")[0]
    assert table.splitlines()[2:] == expected


@pytest.mark.parametrize(
    "struct",
    [
        Verdict,
        VariantVerdict,
        PromiseVerdict,
        Finding,
        ExposureVerdict,
        ThresholdVerdict,
        GateVerdict,
    ],
)
def test_each_part_of_a_verdict_has_its_fields_in_order(struct: type[msgspec.Struct]) -> None:
    section = PAGE.partition(f"### {struct.__name__}\n")[2].partition("\n#")[0]
    named = re.findall(r"^\| `([a-z_]+)` \| \S", section, re.MULTILINE)
    assert named == [field.name for field in msgspec.structs.fields(struct)]
