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

_Result = TypeVar("_Result")

_LOG = """
    SELECT document FROM skill_diffs WHERE user_id = $1 AND domain = coalesce($2, domain)
    QUALIFY row_number() OVER (PARTITION BY domain ORDER BY version DESC) <= $3
    ORDER BY domain, version
"""
_USERS = """
    SELECT user_id FROM (SELECT user_id FROM skills UNION SELECT user_id FROM cards)
    WHERE user_id > $1 AND starts_with(user_id, $2) ORDER BY user_id LIMIT $3
"""


class Snapshot:
    """Reads about users. Thread-safe; each method reads one consistent snapshot.

    Every method may raise MaterializerError: there is no snapshot, or it belongs to another deployment.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._con: duckdb.DuckDBPyConnection | None = None
        self._file: tuple[int, int] | None = None

    def skills(self, user: str, domain: str | None = None) -> list[PolicySkill]:
        """Return the user's skills, ordered by domain; only one domain's if named."""
        return self.ask(lambda con: read.skill(con, user, domain))

    def log(self, user: str, domain: str | None, last: int) -> list[SkillDiff]:
        """Return the `last` newest diffs of each of the user's skills, ordered by domain and version."""
        rows = self.ask(lambda con: con.execute(_LOG, [user, domain, last]).fetchall())
        return [decode(SkillDiff, text.encode()) for (text,) in rows]

    def history(self, user: str, domain: str) -> list[SkillDiff]:
        """Return all diffs of one skill."""
        return self.ask(lambda con: read.diffs(con, user, domain))

    def card(self, user: str) -> Card | None:
        """Return the user's card, if any."""
        return self.ask(lambda con: read.card(con, user))

    def card_log(self, user: str) -> list[CardDiff]:
        """Return all versions of the user's card, in order."""
        return self.ask(lambda con: read.card_diffs(con, user))

    def users(self, after: str, most: int) -> list[str]:
        """Return the ids of users with a skill or a card, in order, after this one."""
        return self._users(after, "", most)

    def beginning_with(self, text: str, most: int) -> list[str]:
        """Return the ids of users with a skill or a card that begin with this text, in order."""
        return self._users("", text, most)

    def status(self) -> dict[str, object]:
        """Return the snapshot's times, and how many records it holds."""
        query = "SELECT published_at, newest_record_at, records FROM snapshot_info"
        [(published, newest, records)] = self.ask(lambda con: con.execute(query).fetchall())
        times = {"published_at": published, "newest_record_at": newest}
        return {**{name: at and f"{at.isoformat()}Z" for name, at in times.items()}, "records": records}

    def ask(self, do: Callable[[duckdb.DuckDBPyConnection], _Result]) -> _Result:
        """Return the result of `do`, which reads by a connection of its own."""
        with self._newest() as con:
            return do(con)

    def close_outdated(self) -> None:
        """Close an outdated file: it takes up disk space, and may hold erased users."""
        with self._lock:
            if self._file_now() != self._file:
                self._close()

    def close(self) -> None:
        """Close the file once no query reads it."""
        with self._lock:
            self._close()

    def _users(self, after: str, beginning: str, most: int) -> list[str]:
        rows = self.ask(lambda con: con.execute(_USERS, [after, beginning, most]).fetchall())
        return [name for (name,) in rows]

    def _close(self) -> None:
        # DuckDB's close() ends every query of the connection's cursors. Without a reference to it, the file is closed
        # with the last of them.
        self._con = self._file = None

    def _file_now(self) -> tuple[int, int] | None:
        path = self._settings.duckdb_file
        found = path.stat() if path.exists() else None
        return (found.st_ino, found.st_mtime_ns) if found else None

    def _newest(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor on the newest snapshot; an older file stays open until its last query ends."""
        with self._lock:
            file = self._file_now()
            if self._con is None or file != self._file:
                fresh = read.connect(self._settings)
                fresh.execute(f"SET memory_limit = '{read.MEMORY}'")
                self._close()
                self._con, self._file = fresh, file
            cursor = self._con.cursor()
            # Both settings are per connection.
            cursor.execute("USE snapshot")
            cursor.execute(f"SET max_execution_time = {QUERY_MS}")
            return cursor
