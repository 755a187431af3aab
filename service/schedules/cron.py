"""When a schedule is due: five cron fields, UTC. The arithmetic is cronsim's.

cronsim also knows a sixth field for seconds, which is refused here: a run takes longer than that,
and what people write in crontabs has five.
"""

from __future__ import annotations

from datetime import datetime

from cronsim import CronSim, CronSimError

from service.errors import Invalid

FIELDS = 5
LARGEST_STEPS = (59, 23, 31, 12, 7)


def next_after(cron: str, after: datetime) -> datetime | None:
    """The first time after `after`; None if there is none any more.

    Raises:
        Invalid: this is no cron expression; the text says what is wrong.
    """
    if len(cron.split()) != FIELDS:
        raise Invalid(
            f"cron {cron!r} has {len(cron.split())} fields: write five, minute hour day month "
            f"weekday, such as `0 3 * * *` for every day at 03:00 UTC"
        )
    for field, most in zip(cron.split(), LARGEST_STEPS, strict=True):
        for step in (part.partition("/")[2] for part in field.split(",")):
            if step.isascii() and step.isdigit() and int(step[:9]) > most:
                raise Invalid(f"cron {cron!r}: {field!r} steps over its range: {most} at most")
    try:
        return next(CronSim(cron, after), None)
    except CronSimError as error:
        raise Invalid(
            f"cron {cron!r}: {error}; write five fields, minute hour day month weekday, "
            f"such as `*/30 * * * *` for every half hour"
        ) from error
