"""The table of schedules: what was asked, and what became of it. It outlives the process."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from service.database import Database
from service.errors import NotFound
from service.models import Schedule

_SCHEMA = """
CREATE TABLE IF NOT EXISTS schedules (
    name TEXT PRIMARY KEY, schedule TEXT NOT NULL
);
"""


class ScheduleStore:
    """Schedules by name. What is stored is the model as JSON: the name alone is looked up by."""

    def __init__(self, data_dir: Path) -> None:
        self._db = Database(data_dir, _SCHEMA)

    def close(self) -> None:
        self._db.close()

    def all(self) -> list[Schedule]:
        """By name."""
        rows = self._db.rows("SELECT schedule FROM schedules ORDER BY name")
        return [Schedule.model_validate_json(row["schedule"]) for row in rows]

    def get(self, name: str) -> Schedule:
        """One.

        Raises:
            NotFound: there is none of that name.
        """
        rows = self._db.rows("SELECT schedule FROM schedules WHERE name = ?", (name,))
        if not rows:
            raise NotFound(f"no schedule is called {name!r}: GET /v1/schedules lists them")
        return Schedule.model_validate_json(rows[0]["schedule"])

    def has(self, name: str) -> bool:
        return bool(self._db.rows("SELECT 1 FROM schedules WHERE name = ?", (name,)))

    def put(self, schedule: Schedule) -> None:
        """Store it, in the place of one of the same name."""
        self._db.rows(
            "INSERT INTO schedules VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET schedule = excluded.schedule",
            (schedule.request.name, schedule.model_dump_json()),
        )

    def delete(self, name: str) -> None:
        """Remove one.

        Raises:
            NotFound: there is none of that name.
        """
        self.get(name)
        self._db.rows("DELETE FROM schedules WHERE name = ?", (name,))


def moved(schedule: Schedule, **changes: str | datetime | None) -> Schedule:
    """The schedule with these fields changed."""
    return schedule.model_copy(update=changes)
