"""The small database of what people asked for: schedules and webhook deliveries.

It is a file of its own beside the index of runs: that one can be made again from the run
directories, what stands here cannot. WAL and full synchronisation: what was answered is on disk.
It is used from the event loop's thread alone, and every statement is short. What cannot be written
(a full disk) is one `Unavailable`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from service.errors import Unavailable

FILE = "requests.sqlite3"
BUSY_S = 5
Value = str | bytes | int | None


class Database:
    """One connection.

    Args:
        data_dir: the service's directory; it is made if it is missing.
        schema: the tables, made where they are missing.

    Raises:
        Unavailable: the file cannot be opened, or is no database.
    """

    def __init__(self, data_dir: Path, schema: str) -> None:
        self._path = data_dir / FILE
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._cannot(error) from error
        try:
            self._path.chmod(0o600)
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.executescript(schema)
            check_tables(self._connection, schema)
        except (OSError, sqlite3.Error) as error:
            self._connection.close()
            raise self._cannot(error) from error

    def close(self) -> None:
        self._connection.close()

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[sqlite3.Row]:
        """All rows of one statement. Raises Unavailable."""
        try:
            found: list[sqlite3.Row] = self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._cannot(error) from error
        return found

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is done inside, or nothing of it."""
        self.rows("BEGIN IMMEDIATE")
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.rollback()
            raise

    def _cannot(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"{FILE} in the data directory cannot be used: {error}; it holds schedules and "
            f"webhook deliveries: free the disk, or put it back from a backup"
        )


def check_tables(connection: sqlite3.Connection, schema: str) -> None:
    """Whether a database has the columns of a schema: a stranger's may have tables of those names.

    Raises:
        sqlite3.DatabaseError: it has not; the text names the first table.
    """
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(schema)
        wanted = "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'"
        for (table,) in fresh.execute(f"{wanted} ORDER BY name").fetchall():
            columns = "SELECT name FROM pragma_table_info(?)"
            here, there = (one.execute(columns, (table,)).fetchall() for one in (connection, fresh))
            if [row[0] for row in here] != [row[0] for row in there]:
                raise sqlite3.DatabaseError(f"its table {table} is none of this saq-chaos")
