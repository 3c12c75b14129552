"""The newest DuckDB snapshot, kept open between requests."""

import threading
from collections.abc import Callable
from typing import TypeVar

import duckdb

from schemas import Card, CardDiff, PolicySkill, SkillDiff
from streams.analytics import read
from streams.settings import Settings

QUERY_MS = 10_000  # one query's time limit

_Result = TypeVar("_Result")

_USERS = """
    SELECT user_id FROM (SELECT user_id FROM skills UNION SELECT user_id FROM cards)
    WHERE starts_with(user_id, $1) ORDER BY user_id LIMIT $2
"""


class Snapshot:
    """Reads about users. Thread-safe; each call reads one consistent snapshot.

    Raises:
        MaterializerError: there is no snapshot, or it belongs to another deployment.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._con: duckdb.DuckDBPyConnection | None = None
        self._file: tuple[int, int] | None = None

    def skills(self, user: str, domain: str | None = None) -> list[PolicySkill]:
        """Return the user's skills by domain, or only one domain's."""
        return self.query(lambda con: read.skill(con, user, domain))

    def history(self, user: str, domain: str | None) -> list[SkillDiff]:
        """Return all diffs of one skill, or of all, by domain and version."""
        return self.query(lambda con: read.diffs(con, user, domain))

    def card(self, user: str) -> Card | None:
        """Return the user's card, if any."""
        return self.query(lambda con: read.card(con, user))

    def card_log(self, user: str) -> list[CardDiff]:
        """Return all diffs of the user's card, in order."""
        return self.query(lambda con: read.card_diffs(con, user))

    def user_ids_starting_with(self, text: str, most: int) -> list[str]:
        """Return the ids of users with data that start with this text, sorted."""
        rows = self.query(lambda con: con.execute(_USERS, [text, most]).fetchall())
        return [name for (name,) in rows]

    def query(self, do: Callable[[duckdb.DuckDBPyConnection], _Result]) -> _Result:
        """Return the result of a function that reads with its own connection."""
        with self._newest() as con:
            return do(con)

    def close_outdated(self) -> None:
        """Close a replaced file, which uses disk space and may hold erased users."""
        with self._lock:
            if self._file_now() != self._file:
                self._con = self._file = None

    def close(self) -> None:
        """Close the file after its last query."""
        with self._lock:
            # DuckDB's close() would abort running queries. Without a reference, the file closes with the last cursor.
            self._con = self._file = None

    def _file_now(self) -> tuple[int, int] | None:
        path = self._settings.duckdb_file
        found = path.stat() if path.exists() else None
        return (found.st_ino, found.st_mtime_ns) if found else None

    def _newest(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor on the newest snapshot."""
        with self._lock:
            file = self._file_now()
            if self._con is None or file != self._file:
                fresh = read.connect(self._settings)
                fresh.execute("SET memory_limit = '2GB'")  # nothing is spilled to disk
                self._con, self._file = fresh, file
            cursor = self._con.cursor()
            # Both settings are per connection.
            cursor.execute("USE snapshot")
            cursor.execute(f"SET max_execution_time = {QUERY_MS}")
            return cursor
