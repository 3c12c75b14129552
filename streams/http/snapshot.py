"""The newest DuckDB snapshot, kept open between requests and reopened when a newer one has replaced it."""

import threading
from collections.abc import Callable
from typing import TypeVar

import duckdb

from schemas import Card, CardDiff, PolicySkill, SkillDiff, decode
from streams.materializer import read
from streams.settings import Settings

QUERY_MS = 10_000
"""Time limit for one query."""
NO_FILE = (0, 0)

_Result = TypeVar("_Result")

_LOG = """
    SELECT document FROM skill_diffs WHERE user_id = $1 AND domain = coalesce($2, domain)
    QUALIFY row_number() OVER (PARTITION BY domain ORDER BY version DESC) <= $3
    ORDER BY domain, version
"""
_USERS = """
SELECT user_id FROM skills WHERE user_id > $1 UNION SELECT user_id FROM cards WHERE user_id > $1
ORDER BY user_id LIMIT $2
"""
_BEGINNING = """
SELECT user_id FROM skills WHERE starts_with(user_id, $1) UNION SELECT user_id FROM cards WHERE starts_with(user_id, $1)
ORDER BY user_id LIMIT $2
"""
_STATUS = "SELECT published_at, newest_record_at, records FROM snapshot_info"


class Snapshot:
    """Reads about users. Thread-safe; each method reads one consistent snapshot.

    Args:
        settings: the file's path and the deployment that it must belong to.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._con: duckdb.DuckDBPyConnection | None = None
        self._file = NO_FILE

    def skills(self, user: str, domain: str | None = None) -> list[PolicySkill]:
        """The user's skills, ordered by domain; only one domain's if named.

        Raises:
            MaterializerError: there is no snapshot, or it belongs to another deployment. Every method may raise it.
        """
        with self._newest() as con:
            return read.skill(con, user, domain)

    def log(self, user: str, domain: str | None, last: int) -> list[SkillDiff]:
        """The `last` newest diffs of each of the user's skills, ordered by domain and version."""
        with self._newest() as con:
            rows = con.execute(_LOG, [user, domain, last]).fetchall()
        return [decode(SkillDiff, text.encode()) for (text,) in rows]

    def history(self, user: str, domain: str) -> list[SkillDiff]:
        """All diffs of one skill."""
        with self._newest() as con:
            return read.diffs(con, user, domain)

    def card(self, user: str) -> Card | None:
        """The user's card; None if there is none."""
        with self._newest() as con:
            return read.card(con, user)

    def card_log(self, user: str) -> list[CardDiff]:
        """All versions of the user's card, in order."""
        with self._newest() as con:
            return read.card_diffs(con, user)

    def users(self, after: str, most: int) -> list[str]:
        """The ids of users with a skill or a card, in order, after this one."""
        with self._newest() as con:
            return [name for (name,) in con.execute(_USERS, [after, most]).fetchall()]

    def beginning_with(self, text: str, most: int) -> list[str]:
        """The ids of users with a skill or a card that begin with this text, in order."""
        with self._newest() as con:
            return [name for (name,) in con.execute(_BEGINNING, [text, most]).fetchall()]

    def status(self) -> dict[str, object]:
        """The snapshot's time, and how many records it holds."""
        with self._newest() as con:
            [(published, newest, records)] = con.execute(_STATUS).fetchall()
        return {
            "published_at": None if published is None else f"{published.isoformat()}Z",
            "newest_record_at": None if newest is None else f"{newest.isoformat()}Z",
            "records": records,
        }

    def ask(self, do: Callable[[duckdb.DuckDBPyConnection], _Result]) -> _Result:
        """What `do` reads, by a connection of its own."""
        with self._newest() as con:
            return do(con)

    def close_outdated(self) -> None:
        """Closes an outdated file: it takes up disk space, and may hold forgotten users."""
        with self._lock:
            if self._there() != self._file:
                self._release()

    def close(self) -> None:
        """Closes the file once no query reads it."""
        with self._lock:
            self._release()

    def _release(self) -> None:
        # DuckDB's close() ends every query of the connection's cursors. Without a reference to it, the file is closed
        # with the last of them.
        self._con, self._file = None, NO_FILE

    def _there(self) -> tuple[int, int]:
        path = self._settings.duckdb_file
        found = path.stat() if path.exists() else None
        return (found.st_ino, found.st_mtime_ns) if found else NO_FILE

    def _newest(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own to the newest snapshot; an older file stays open until its last query is done."""
        with self._lock:
            file = self._there()
            if self._con is None or file != self._file:
                fresh = read.connect(self._settings)
                fresh.execute(f"SET memory_limit = '{read.MEMORY}'")
                # The old connection is dropped, not closed: see `_release`.
                self._con, self._file = fresh, file
            cursor = self._con.cursor()
            # Both settings are per connection.
            cursor.execute("USE snapshot")
            cursor.execute(f"SET max_execution_time = {QUERY_MS}")
            return cursor
