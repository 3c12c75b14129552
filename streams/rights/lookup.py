"""Checks that a user, domain and line are the intended ones."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from streams.views.skill_log import NEAREST, nearest_users

if TYPE_CHECKING:
    from streams.rights.inventory import DataInventory
    from streams.settings import Settings


def name_warning(
    held: "DataInventory", settings: "Settings", domain: str | None = None, line: str | None = None
) -> str:
    """Return why the user, domain or line may be a slip, with the nearest names; empty without doubt."""
    snapshot = f"the DuckDB snapshot of {held.snapshot_at:%Y-%m-%d %H:%M:%S} UTC" if held.snapshot_at else "no snapshot"
    unread = f", without {', '.join(held.unread)}" if held.unread else ""
    looked = f"(looked at: {snapshot}, and the topics of skills and of what apps send{unread})"
    if not held.is_known:
        from streams.rights.inventory import open_snapshot  # noqa: PLC0415

        con = open_snapshot(settings)
        names = []
        if con is not None:
            names = nearest_users(con, held.user_id)
            con.close()
        return f"nothing is known of a user {held.user_id!r} {looked}.{_nearest(names)}"
    if domain is not None and domain not in held.domains:
        others = ", ".join(held.domains) or "no domain"
        return f"nothing is known of {held.user_id!r} in the domain {domain!r} {looked}; there is {others}."
    if line is not None and domain is not None and line not in held.lines(domain):
        nearest = nearest_sentence(line, held.lines(domain))
        return f"the skill of {held.user_id!r} in {domain!r} never had a line {line!r}.{nearest}"
    return ""


def nearest_sentence(name: str, names: list[str]) -> str:
    """Return the names with the most similar spelling, as a sentence."""
    return _nearest(get_close_matches(name, names, NEAREST, 0.5))


def _nearest(names: list[str]) -> str:
    return f" The nearest: {', '.join(names)}." if names else ""
