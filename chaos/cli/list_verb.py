"""`saq-chaos list …`: what there is to choose from, with one sentence each."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Callable

import click

from chaos.cli import output
from chaos.cli.params import OneOf

Rows = list[tuple[str, str]]


def _plans() -> Rows:
    from chaos import plan_file

    return [(name, plan_file.load(name).description) for name in plan_file.shipped()]


def _variants() -> Rows:
    from chaos.variants import FORM
    from chaos.worker.patches import PATCHES

    return [*PATCHES.items(), ("module:WorkerClass", f"a Worker class of your own; {FORM}")]


def _faults() -> Rows:
    from chaos.faults import FAULTS

    return [(kind.name, kind.description) for kind in FAULTS]


def _workloads() -> Rows:
    from chaos.workloads import WORKLOADS

    return list(WORKLOADS)


def _checkers() -> Rows:
    from chaos.checkers import CHECKERS

    return [(checker.name, checker.claim) for checker in CHECKERS]


def _exposures() -> Rows:
    from chaos.counters import EXPOSURES

    return list(EXPOSURES.items())


def _counters() -> Rows:
    from chaos.counters import COUNTERS

    return list(COUNTERS.items())


TOPICS: dict[str, Callable[[], Rows]] = {
    "plans": _plans,
    "variants": _variants,
    "faults": _faults,
    "workloads": _workloads,
    "checkers": _checkers,
    "exposures": _exposures,
    "counters": _counters,
}


@click.command("list", short_help="Show what there is to choose from.")
@click.argument("topic", type=OneOf(*TOPICS))
@click.option("--json", "as_json", is_flag=True, help="Write it as JSON.")
def command(topic: str, as_json: bool) -> int:
    """Show what there is of TOPIC, with one sentence each."""
    rows = TOPICS[topic]()
    if as_json:
        found = [{"name": name, "description": said} for name, said in rows]
        output.answer(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    else:
        output.answer(table(rows, shutil.get_terminal_size((100, 24)).columns))
    return 0


def table(rows: Rows, width: int) -> str:
    """Two columns; descriptions are wrapped and stay in theirs."""
    first = max((len(name) for name, _ in rows), default=0) + 2
    lines: list[str] = []
    for name, said in rows:
        wrapped = textwrap.wrap(said, max(30, width - first)) or [""]
        lines.append(f"{name:{first}}{wrapped[0]}".rstrip())
        lines += [" " * first + line for line in wrapped[1:]]
    return "".join(f"{line}\n" for line in lines)
