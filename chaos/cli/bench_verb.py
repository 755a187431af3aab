"""`saq-chaos bench overhead`: what watching costs, measured in one run on this machine."""

from __future__ import annotations

import click

from chaos.cli import output


@click.group("bench", short_help="Measure what watching a worker costs.")
def command() -> None:
    """Measure saq-chaos itself."""


@command.command("overhead", short_help="Noop jobs/s with and without the probe.")
@click.option("--variant", default="stock@0.26.4", show_default=True, metavar="PATCH@SAQ")
@click.option("--rounds", type=click.IntRange(1, 100), default=5, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON to stdout.")
def overhead(variant: str, rounds: int, as_json: bool) -> int:
    """Compare noop jobs/s of a bare saq worker with the same worker under the probe.

    The two take turns on one Redis, round by round, so that whatever else this machine does weighs
    on both; the answer is the median of the rounds' ratios (1.0: watching costs nothing).
    """
    import msgspec

    from chaos.live import bench_overhead

    figures = bench_overhead.measure(variant, rounds, output.say)
    if as_json:
        encoded = msgspec.json.format(msgspec.json.encode(figures), indent=2).decode()
        output.answer(f"{encoded}\n")
    else:
        output.answer(bench_overhead.describe(figures) + "\n")
    return 0
