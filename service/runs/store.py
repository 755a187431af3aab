"""The index: runs, their events, idempotency keys and the lock, in one SQLite file.

    <data_dir>/index.sqlite3   runs ─┬─ events   what a run said, ids from 1 without gaps
                                     └─ keys     Idempotency-Key of a caller ─► run
                               facts             the lock, and what else is one value

SQLite in WAL mode survives a kill of this process at any moment; only a loss of power may take the
last few writes. One connection behind a lock serves all threads: a read takes some tens of
microseconds. `PRAGMA user_version` is the version of the schema, and `MIGRATIONS` has a step for
each. What cannot be written (a full disk) is one `Unavailable`. It starts no run and reads no run
directory: see `recovery` for an index that is damaged.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from service.database import check_tables
from service.errors import Conflict, NotFound, Unavailable
from service.models import Event, EventData, EventType, Lock, Run, RunPage
from service.ports import RunFilter

INDEX = "index.sqlite3"
WAIT_SECONDS = 5.0
PARSED_KEPT = 512
MIGRATIONS = (
    """
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
        outcome TEXT, plan TEXT NOT NULL, trigger TEXT NOT NULL, schedule TEXT,
        created REAL NOT NULL, ended REAL, bytes INTEGER NOT NULL DEFAULT 0,
        document TEXT NOT NULL, request TEXT NOT NULL, events INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX runs_by_state ON runs (state, number);
    CREATE TABLE events (
        run TEXT NOT NULL, id INTEGER NOT NULL, type TEXT NOT NULL, at TEXT NOT NULL,
        data TEXT NOT NULL, PRIMARY KEY (run, id)
    ) WITHOUT ROWID;
    CREATE TABLE keys (
        caller TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, run TEXT NOT NULL,
        at REAL NOT NULL, PRIMARY KEY (caller, key)
    ) WITHOUT ROWID;
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
)
_LOCK = "lock"


class Ended(NamedTuple):
    """An ended run, for retention. `ended` is seconds since 1970."""

    id: str
    ended: float
    size: int
    schedule: str | None


class Store:
    """The index in `folder`.

    Raises:
        sqlite3.DatabaseError: on making one, if the file is damaged or from a later version.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            folder / INDEX, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            (folder / INDEX).chmod(0o600)
            self._check()  # before anything is written: a file of somebody else stays as it was
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
                self._connection.execute(f"PRAGMA {pragma}")
            self._migrate()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file. Nothing may be asked after it."""
        with self._lock:
            self._connection.close()

    def _check(self) -> None:
        found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(str(found))
        version = self._version()
        if version > len(MIGRATIONS):
            raise VersionTooNew(
                f"the index is of version {version}, and this saq-chaos knows {len(MIGRATIONS)}: "
                f"start the newer saq-chaos that wrote it, or name another data_dir"
            )
        if version == 0 and self._connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise sqlite3.DatabaseError("it has tables, and no version of saq-chaos")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _migrate(self) -> None:
        for number in range(self._version(), len(MIGRATIONS)):
            steps = f"{MIGRATIONS[number]}; PRAGMA user_version={number + 1};"
            self._connection.executescript(f"BEGIN IMMEDIATE; {steps} COMMIT;")
        check_tables(self._connection, "".join(MIGRATIONS))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction.

        Raises:
            Unavailable: it could not be written; nothing of it was.
        """
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._roll_back()
                raise Unavailable(f"the index cannot be written: {error}") from error
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _ask(self, text: str, *values: object) -> list[tuple[object, ...]]:
        with self._lock:
            try:
                return self._connection.execute(text, values).fetchall()
            except sqlite3.Error as error:
                raise Unavailable(f"the index cannot be read: {error}") from error

    def probe(self) -> None:
        """Write something. Raises Unavailable if that cannot be done."""
        with self._writing() as connection:
            _put_fact(connection, "probe", datetime.now(UTC).isoformat())

    # --- runs -------------------------------------------------------------------------------------

    def add(self, run: Run, request: str, key: tuple[str, str, str] | None = None) -> None:
        """Add a run; `key` is caller, key and digest of its request."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO runs (id, state, plan, trigger, schedule, created, document, request)"
                " VALUES (?,?,?,?,?,?,?,?)",
                (run.id, run.state, run.plan, run.trigger, run.schedule,
                 run.created_at.timestamp(), _document(run), request),
            )  # fmt: skip
            if key is not None:
                values = (*key, run.id, run.created_at.timestamp())
                connection.execute("INSERT OR REPLACE INTO keys VALUES (?,?,?,?,?)", values)
            self._write_row(connection, run)

    def put(self, run: Run, size: int | None = None) -> None:
        """Write what a run is now; `size` is what its directory takes on disk.

        Its events are added to that: retention by size counts the index's share as well.
        """
        with self._writing() as connection:
            self._write_row(connection, run, size)

    def _write_row(self, connection: sqlite3.Connection, run: Run, size: int | None = None) -> None:
        ended = run.ended_at.timestamp() if run.ended_at else None
        connection.execute(
            "UPDATE runs SET state=?, outcome=?, ended=?, document=? WHERE id=?",
            (run.state, run.outcome, ended, _document(run), run.id),
        )
        if size is not None:
            connection.execute(
                "UPDATE runs SET bytes=? +"
                " (SELECT coalesce(sum(length(data)), 0) FROM events WHERE run=?) WHERE id=?",
                (size, run.id, run.id),
            )

    def get(self, run: str) -> Run:
        """A run; NotFound if there is none."""
        rows = self._ask("SELECT document, events, state, number FROM runs WHERE id=?", run)
        if not rows:
            raise NotFound(f"no run is called {run!r}")
        return self._run(*rows[0])

    def request(self, run: str) -> str:
        """What a run was asked for, as it was given to `add`."""
        rows = self._ask("SELECT request FROM runs WHERE id=?", run)
        return str(rows[0][0]) if rows else ""

    def find(self, which: RunFilter, before: int | None, limit: int) -> RunPage:
        """Runs that pass the filter, newest first, older than number `before`."""
        wheres, values = _wheres(which)
        if before is not None:
            wheres.append("number < ?")
            values.append(before)
        where = f"WHERE {' AND '.join(wheres)}" if wheres else ""
        text = f"SELECT document, events, state, number FROM runs {where}"  # noqa: S608 - fixed words
        rows = self._ask(f"{text} ORDER BY number DESC LIMIT ?", *values, limit + 1)
        runs = [self._run(*row) for row in rows[:limit]]
        return RunPage(runs=runs, next=str(rows[limit - 1][3]) if len(rows) > limit else None)

    def in_state(self, state: str) -> list[Run]:
        """All runs in a state, the oldest first."""
        rows = self._ask(
            "SELECT document, events, state, number FROM runs WHERE state=? ORDER BY number", state
        )
        return [self._run(*row) for row in rows]

    def waiting(self) -> int:
        """How many runs wait."""
        return _number(self._ask("SELECT count(*) FROM runs WHERE state='queued'")[0][0])

    def ended(self) -> list[Ended]:
        """All ended runs, the oldest first."""
        rows = self._ask(
            "SELECT id, coalesce(ended, created), bytes, schedule FROM runs"
            " WHERE state='ended' ORDER BY number"
        )
        return [Ended(str(a), float(str(b)), _number(c), _text(d)) for a, b, c, d in rows]

    def ids(self) -> list[str]:
        """The ids of all runs."""
        return [str(row[0]) for row in self._ask("SELECT id FROM runs ORDER BY number")]

    def remove(self, run: str) -> None:
        """Forget a run and its events; its idempotency key is free again."""
        with self._writing() as connection:
            connection.execute("DELETE FROM events WHERE run=?", (run,))
            connection.execute("DELETE FROM keys WHERE run=?", (run,))
            connection.execute("DELETE FROM runs WHERE id=?", (run,))

    def _run(self, document: object, events: object, state: object, number: object) -> Run:
        run = _parsed(str(document))
        place = self._place(_number(number)) if state == "queued" else None
        return run.model_copy(update={"events": _number(events), "place": place})

    def _place(self, number: int) -> int:
        """Runs before it: those that wait, and the one that goes on."""
        rows = self._ask(
            "SELECT count(*) FROM runs WHERE state='running' OR (state='queued' AND number<?)",
            number,
        )
        return _number(rows[0][0])

    # --- events -----------------------------------------------------------------------------------

    def append(self, run: str, kind: EventType, data: EventData) -> Event:
        """Add an event to a run; it has the next id."""
        at = datetime.now(UTC)
        with self._writing() as connection:
            row = connection.execute(
                "UPDATE runs SET events=events+1 WHERE id=? RETURNING events", (run,)
            ).fetchone()
            if row is None:
                raise NotFound(f"no run is called {run!r}")
            text = data.model_dump_json(exclude_none=True)
            values = (run, row[0], kind, at.isoformat(), text)
            connection.execute("INSERT INTO events VALUES (?,?,?,?,?)", values)
        return Event(id=row[0], run=run, type=kind, at=at, data=data)

    def events(self, run: str, after: int, limit: int) -> list[Event]:
        """Events of a run with an id above `after`, in order."""
        rows = self._ask(
            "SELECT id, type, at, data FROM events WHERE run=? AND id>? ORDER BY id LIMIT ?",
            run, after, limit,
        )  # fmt: skip
        return [_event(run, row) for row in rows]

    # --- keys and the lock ------------------------------------------------------------------------

    def run_of_key(self, caller: str, key: str, digest: str, not_before: float) -> str | None:
        """The run that a caller's idempotency key has made.

        Raises:
            Conflict: the key came with another request.
        """
        rows = self._ask(
            "SELECT digest, run FROM keys WHERE caller=? AND key=? AND at>=?",
            caller, key, not_before,
        )  # fmt: skip
        if not rows:
            return None
        if rows[0][0] != digest:
            raise Conflict(
                f"Idempotency-Key {key!r} was used with another request (it made run "
                f"{rows[0][1]}): use a new key for a new request"
            )
        return str(rows[0][1])

    def forget_keys(self, before: float) -> None:
        """Forget idempotency keys from before a time."""
        with self._writing() as connection:
            connection.execute("DELETE FROM keys WHERE at<?", (before,))

    def lock(self) -> Lock:
        """Whether the service is locked."""
        rows = self._ask("SELECT value FROM facts WHERE name=?", _LOCK)
        return Lock.model_validate_json(str(rows[0][0])) if rows else Lock(locked=False)

    def put_lock(self, lock: Lock) -> None:
        """Lock or release it; outlives a restart."""
        with self._writing() as connection:
            _put_fact(connection, _LOCK, lock.model_dump_json())


class VersionTooNew(Unavailable):
    """The index was written by a later saq-chaos: it is not damaged, and must not be replaced."""


def _put_fact(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?,?)", (name, value))


def _wheres(which: RunFilter) -> tuple[list[str], list[object]]:
    wheres: list[str] = []
    values: list[object] = []
    for name in ("state", "outcome", "plan", "trigger"):
        if getattr(which, name) is not None:
            wheres.append(f"{name}=?")
            values.append(getattr(which, name))
    if which.label is not None:
        name, equals, value = which.label.partition("=")
        one = "SELECT 1 FROM json_each(document, '$.labels') WHERE key=?"
        wheres.append(f"EXISTS ({one}{' AND value=?' if equals else ''})")
        values += [name, value] if equals else [name]
    return wheres, values


@lru_cache(maxsize=PARSED_KEPT)
def _parsed(document: str) -> Run:
    """Reading a run's row is most of what a list costs, and rows rarely change."""
    return Run.model_validate_json(document)


def _document(run: Run) -> str:
    return run.model_dump_json(exclude={"events", "place"})


def _event(run: str, row: Sequence[object]) -> Event:
    number, kind, at, data = row
    return Event.model_validate(
        {"id": number, "run": run, "type": kind, "at": at,
         "data": EventData.model_validate_json(str(data))}
    )  # fmt: skip


def _number(value: object) -> int:
    return int(str(value))


def _text(value: object) -> str | None:
    return None if value is None else str(value)
