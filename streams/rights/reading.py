"""The log of one person in a snapshot, and checks that a user, domain and line are the intended ones."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from schemas import SkillDiff
    from streams.rights.inventory import Holdings
    from streams.settings import Settings

NEAREST = 5


class UnknownUser(StreamsError, LookupError):
    """The snapshot has no skill of this user."""


def logged(con: "DuckDBPyConnection", user: str, domain: str | None) -> "list[SkillDiff]":
    """Return the user's diffs, by domain and version."""
    from streams.analytics import read  # noqa: PLC0415

    diffs = read.diffs(con, user, domain)
    if not diffs:
        raise UnknownUser(unknown(con, user, domain))
    return diffs


def unknown(con: "DuckDBPyConnection", user: str, domain: str | None) -> str:
    """Return why there is no skill, and what to try."""
    domains = [name for (name,) in con.execute("SELECT domain FROM skills WHERE user_id = $1", [user]).fetchall()]
    if domains:
        return f"{user!r} has no skill in the domain {domain!r}, but in {', '.join(sorted(domains))}"
    [(past,)] = con.execute("SELECT count(*) FROM interactions WHERE user_id = $1", [user]).fetchall()
    if past:
        return (
            f"{user!r} has {past} interactions but no skill yet: one starts with the first selection from a ranking. "
            "If there was one just now, the snapshot is some seconds behind"
        )
    nearest = nearest_users(con, user)
    if not nearest:
        return "nobody has a skill yet: one starts with the first selection from a ranking. `sager demo` shows how"
    return f"there is no user {user!r}. The nearest ids: {', '.join(nearest)}"


def nearest_users(con: "DuckDBPyConnection", user: str) -> list[str]:
    """Return the ids in the snapshot with the most similar spelling."""
    query = (
        "SELECT user_id FROM (SELECT user_id FROM skills UNION SELECT user_id FROM interactions) WHERE user_id <> $1 "
        "ORDER BY jaro_winkler_similarity(user_id, $1) DESC, user_id LIMIT $2"
    )
    return [name for (name,) in con.execute(query, [user, NEAREST]).fetchall()]


def doubt(held: "Holdings", settings: "Settings", domain: str | None = None, line: str | None = None) -> str:
    """Return why the user, domain or line may be a slip, with the nearest names; empty without doubt."""
    snapshot = f"the DuckDB snapshot of {held.snapshot_at:%Y-%m-%d %H:%M:%S} UTC" if held.snapshot_at else "no snapshot"
    unread = f", without {', '.join(held.unread)}" if held.unread else ""
    looked = f"(looked at: {snapshot}, and the topics of skills and of what apps send{unread})"
    if not held.is_known:
        from streams.rights.inventory import snapshot_of  # noqa: PLC0415

        con = snapshot_of(settings)
        names = []
        if con is not None:
            names = nearest_users(con, held.user_id)
            con.close()
        return f"nothing is known of a user {held.user_id!r} {looked}.{_nearest(names)}"
    if domain is not None and domain not in held.domains:
        others = ", ".join(held.domains) or "no domain"
        return f"nothing is known of {held.user_id!r} in the domain {domain!r} {looked}; there is {others}."
    if line is not None and domain is not None and line not in held.lines(domain):
        return f"the skill of {held.user_id!r} in {domain!r} never had a line {line!r}.{near(line, held.lines(domain))}"
    return ""


def near(name: str, names: list[str]) -> str:
    """Return the names with the most similar spelling, as a sentence."""
    return _nearest(get_close_matches(name, names, NEAREST, 0.5))


def _nearest(names: list[str]) -> str:
    return f" The nearest: {', '.join(names)}." if names else ""
