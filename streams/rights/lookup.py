"""Warns about unknown users, domains and lines, with the nearest names."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from streams.views.skills import NEAREST, nearest_users

if TYPE_CHECKING:
    from streams.rights.inventory import DataInventory
    from streams.settings import Settings


def name_warning(
    inventory: "DataInventory", settings: "Settings", domain: str | None = None, line: str | None = None
) -> str:
    """Return a warning if the user, domain or line is unknown, with the nearest names; else an empty text."""
    snapshot = (
        f"the DuckDB snapshot of {inventory.snapshot_at:%Y-%m-%d %H:%M:%S} UTC"
        if inventory.snapshot_at
        else "no snapshot"
    )
    unread = f", without {', '.join(inventory.unread)}" if inventory.unread else ""
    looked = f"(searched: {snapshot}, and the topics of skills and of apps{unread})"
    if not inventory.is_known:
        from streams.rights.inventory import open_snapshot  # noqa: PLC0415

        con = open_snapshot(settings)
        names = []
        if con is not None:
            names = nearest_users(con, inventory.user_id)
            con.close()
        return f"there is no data about a user {inventory.user_id!r} {looked}.{_nearest(names)}"
    if domain is not None and domain not in inventory.domains:
        others = ", ".join(inventory.domains) or "no domain"
        return f"there is no data about {inventory.user_id!r} in the domain {domain!r} {looked}; there is {others}."
    if line is not None and domain is not None and line not in inventory.lines(domain):
        nearest = nearest_sentence(line, inventory.lines(domain))
        return f"the skill of {inventory.user_id!r} in {domain!r} never had a line {line!r}.{nearest}"
    return ""


def nearest_sentence(name: str, names: list[str]) -> str:
    """Return the names with the most similar spelling, as a sentence."""
    return _nearest(get_close_matches(name, names, NEAREST, 0.5))


def _nearest(names: list[str]) -> str:
    return f" The nearest: {', '.join(names)}." if names else ""
