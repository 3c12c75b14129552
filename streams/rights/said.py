"""What a statement says and for how long it holds, in words."""

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemas import Statement


def what(said: "Statement") -> str:
    """What it says, such as `avoids horror (genre)`."""
    from operators.stated import in_words  # noqa: PLC0415 - help needs none of it

    return in_words(said)


def holds(said: "Statement", shifted: int, now: datetime) -> str:
    """For how long it holds, such as `until 2026-01-31 18:00 UTC`, and whether it is doubtful since tastes changed."""
    parts = []
    if said.until is not None:
        parts.append("over" if said.until <= now else f"until {said.until:%Y-%m-%d %H:%M} UTC")
    else:
        parts.append("always")
    if said.session_id is not None:
        parts.append(f"in session {said.session_id}")
    if said.since < shifted:
        parts.append(f"doubtful since version {shifted}")
    return ", ".join(parts)
