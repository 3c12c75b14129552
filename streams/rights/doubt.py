"""Is it the right person, domain and line? What speaks against it, before something is changed or forgotten."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streams.rights.holdings import Holdings
    from streams.settings import Settings

NEAREST = 5


def doubt(held: "Holdings", settings: "Settings", domain: str | None = None, line: str | None = None) -> str:
    """What speaks against this being the right user, domain or line, with the nearest names; empty if nothing does."""
    if not held.is_known:
        from streams.rights.holdings import nearest  # noqa: PLC0415

        return (
            f"nothing is known of a user {held.user_id!r} {_looked(held)}.{_nearest(nearest(settings, held.user_id))}"
        )
    if domain is not None and domain not in held.domains:
        others = ", ".join(held.domains) or "no domain"
        return f"nothing is known of {held.user_id!r} in the domain {domain!r} {_looked(held)}; there is {others}."
    if line is not None and domain is not None and line not in held.lines(domain):
        return f"the skill of {held.user_id!r} in {domain!r} never had a line {line!r}.{near(line, held.lines(domain))}"
    return ""


def near(name: str, names: list[str]) -> str:
    """The names that are spelt most like this one, as a sentence."""
    return _nearest(get_close_matches(name, names, NEAREST, 0.5))


def _nearest(names: list[str]) -> str:
    return f" The nearest: {', '.join(names)}." if names else ""


def _looked(held: "Holdings") -> str:
    """Where it was looked for."""
    snapshot = (
        f"the DuckDB snapshot of {held.snapshot_at:%Y-%m-%d %H:%M:%S} UTC" if held.snapshot_at else "no DuckDB snapshot"
    )
    unread = f", without {', '.join(held.unread)}" if held.unread else ""
    return f"(looked at: {snapshot}, and the topics of skills and of what apps send{unread})"
