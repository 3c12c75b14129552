"""Reads a person's log of versions from a snapshot, and says why there is none."""

from typing import TYPE_CHECKING

from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from schemas import SkillDiff


class UnknownUser(StreamsError, LookupError):
    """The snapshot has no skill of this user."""


class NoSuchVersion(StreamsError, LookupError):
    """The log has no such version of the skill."""


def logged(con: "DuckDBPyConnection", user: str, domain: str | None) -> "list[SkillDiff]":
    """The user's diffs, by domain and version.

    Raises:
        UnknownUser: there are none.
    """
    from streams.materializer import read  # noqa: PLC0415

    diffs = read.diffs(con, user, domain)
    if not diffs:
        raise UnknownUser(unknown(con, user, domain))
    return diffs


def unknown(con: "DuckDBPyConnection", user: str, domain: str | None) -> str:
    """Why there is nothing, and what to try."""
    domains = [name for (name,) in con.execute("SELECT domain FROM skills WHERE user_id = $1", [user]).fetchall()]
    if domains:
        return f"{user!r} has no skill in the domain {domain!r}, but in {', '.join(sorted(domains))}"
    [(past,)] = con.execute("SELECT count(*) FROM interactions WHERE user_id = $1", [user]).fetchall()
    if past:
        return (
            f"{user!r} has {past} interactions but no skill yet: one starts with the first selection from a ranking. "
            "If there was one just now, the snapshot is some seconds behind"
        )
    nearest = con.execute(
        "SELECT user_id FROM skills GROUP BY user_id "
        "ORDER BY jaro_winkler_similarity(user_id, $1) DESC, user_id LIMIT 5",
        [user],
    ).fetchall()
    if not nearest:
        return "nobody has a skill yet: one starts with the first selection from a ranking. `sager demo` shows how"
    return f"there is no user {user!r}. The nearest ids: {', '.join(name for (name,) in nearest)}"
