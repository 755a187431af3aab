"""`saq-chaos prepare [PLAN…]`: build environments now, so that runs need no network."""

from __future__ import annotations

import click

from chaos.cli import output


@click.command("prepare", short_help="Build environments ahead of runs, for use offline.")
@click.argument("plans", nargs=-1)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="PATCH@SAQ",
    help="Build for this one; repeat it. [default: the variants of the plans]",
)
def command(plans: tuple[str, ...], variants: tuple[str, ...]) -> int:
    """Build what every variant of PLANS needs, in both worlds; the shipped plans if none is named.

    Builds share the cache with runs (SAQCHAOS_CACHE names its folder). An image or a machine that
    was prepared makes these runs without a network.
    """
    from chaos import plan_file
    from chaos import variants as builds

    named = list(variants)
    if not named:
        read = [plan_file.load(plan) for plan in plans or plan_file.shipped()]
        named = list(dict.fromkeys(variant for plan in read for variant in plan.variants))
    # Every patch of one saq runs in one environment, so one variant of each saq is enough.
    wanted = dict.fromkeys(f"stock@{variant.saq}" for variant in builds.parse_all(named))
    for variant in builds.parse_all(tuple(wanted)):
        for sim in (False, True):
            environment = builds.prepare(variant, output.say, sim=sim)
            world = "sim" if sim else "live"
            output.answer(f"{variant.saq} ({world}): {environment.description}\n")
    return 0
