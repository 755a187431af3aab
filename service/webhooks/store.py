"""What webhooks have to be told, and what was told: two tables that outlive the process.

watches     a run that has not ended, and the webhooks that its request named
deliveries  a body for one webhook, until its address has taken it or the attempts are used up

A run's watches become deliveries in one transaction, so that an end is told once, also when the
process is killed in between. Ended deliveries are kept up to a number.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from service.api.shapes import Delivery
from service.database import Database

KEPT = 1_000
LONGEST_WAIT = timedelta(hours=2)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS watches (
    run TEXT NOT NULL, webhook TEXT NOT NULL, PRIMARY KEY (run, webhook)
);
CREATE TABLE IF NOT EXISTS deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, run TEXT NOT NULL, webhook TEXT NOT NULL, body BLOB NOT NULL,
    state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL, next_at TEXT, finished_at TEXT, status INTEGER, error TEXT
);
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (state, next_at);
"""


class DeliveryStore:
    """The two tables. Times are UTC."""

    def __init__(self, data_dir: Path) -> None:
        self._db = Database(data_dir, _SCHEMA)

    def close(self) -> None:
        self._db.close()

    # --- watches ---

    def watch(self, run: str, webhooks: Sequence[str]) -> None:
        """Tell these webhooks when the run ends. Said twice, or after the end, it is told once."""
        for name in dict.fromkeys(webhooks):
            self._db.rows(
                "INSERT OR IGNORE INTO watches SELECT ?, ? WHERE NOT EXISTS "
                "(SELECT 1 FROM deliveries WHERE run = ? AND webhook = ?)",
                (run, name, run, name),
            )

    def watched(self) -> list[str]:
        """The runs that are waited for."""
        return [row["run"] for row in self._db.rows("SELECT DISTINCT run FROM watches")]

    def ended(self, run: str, body: bytes, at: datetime) -> None:
        """The run has ended: its watches become deliveries of this body."""
        with self._db.transaction():
            rows = self._db.rows(
                "SELECT webhook FROM watches WHERE run = ? ORDER BY webhook", (run,)
            )
            for row in rows:
                self._db.rows(
                    "INSERT INTO deliveries (id, run, webhook, body, state, created_at, next_at) "
                    "VALUES (?, ?, ?, ?, 'pending', ?, ?)",
                    (secrets.token_hex(16), run, row["webhook"], body, _text(at), _text(at)),
                )
            self._db.rows("DELETE FROM watches WHERE run = ?", (run,))

    def forget(self, run: str) -> None:
        """The run is gone: nobody is told."""
        self._db.rows("DELETE FROM watches WHERE run = ?", (run,))

    # --- deliveries ---

    def due(self, now: datetime, limit: int) -> list[tuple[Delivery, bytes]]:
        """Pending deliveries whose time has come, the oldest first.

        One that would wait longer than any does was put off before the clock stepped back: it is
        due.
        """
        rows = self._db.rows(
            "SELECT * FROM deliveries WHERE state = 'pending' AND (next_at <= ? OR next_at > ?) "
            "ORDER BY next_at, number LIMIT ?",
            (_text(now), _text(now + LONGEST_WAIT), limit),
        )
        return [(_delivery(row), bytes(row["body"])) for row in rows]

    def tried(
        self,
        delivery: str,
        state: Literal["pending", "delivered", "failed"],
        at: datetime,
        *,
        status: int | None,
        error: str | None,
        next_at: datetime | None,
    ) -> None:
        """One attempt is over."""
        self._db.rows(
            "UPDATE deliveries SET state = ?, attempts = attempts + 1, status = ?, error = ?, "
            "next_at = ?, finished_at = ? WHERE id = ?",
            (
                state,
                status,
                error,
                _text(next_at) if next_at else None,
                None if state == "pending" else _text(at),
                delivery,
            ),
        )
        self._db.rows(
            "DELETE FROM deliveries WHERE state != 'pending' AND number <= "
            "(SELECT number FROM deliveries WHERE state != 'pending' "
            "ORDER BY number DESC LIMIT 1 OFFSET ?)",
            (KEPT,),
        )

    def find(self, run: str | None, limit: int) -> list[Delivery]:
        """Deliveries, the newest first; of one run, or of all."""
        rows = self._db.rows(
            "SELECT * FROM deliveries WHERE ? IS NULL OR run = ? ORDER BY number DESC LIMIT ?",
            (run, run, limit),
        )
        return [_delivery(row) for row in rows]


def _text(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")


def _delivery(row: sqlite3.Row) -> Delivery:
    return Delivery.model_validate(
        {key: row[key] for key in row.keys() if key in Delivery.model_fields}  # noqa: SIM118 - a row iterates over its values
    )
