"""`saq-chaos validate PLAN`: read a plan and say everything that is wrong with it."""

from __future__ import annotations

import click

from chaos.cli import output


@click.command("validate", short_help="Check a plan without running it.")
@click.argument("plan")
def command(plan: str) -> int:
    """Check PLAN, a shipped plan's name or a YAML file, and start nothing.

    All problems are reported at once, each with its line and what would be accepted. Exit code 0 if
    the plan can be run, 2 if not. Whether its variants can be built is found out by a soak.
    """
    from chaos import plan_file, variants
    from chaos.clock import format_duration

    read = plan_file.load(plan)
    names = ", ".join(variant.text for variant in variants.parse_all(read.variants))
    output.answer(
        f"{read.plan}: fine. {format_duration(read.duration_us)} of load and faults, then at most "
        f"{format_duration(read.drain_us)} to drain; {len(read.promises)} promises, "
        f"{len(read.faults)} faults, gate {read.gate}; variants: {names}\n"
    )
    return 0
