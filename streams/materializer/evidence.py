"""Reads the evidence behind a version of a skill from the snapshot: the choice, its ranking, the history before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb

NEWEST = 5


@dataclass(frozen=True)
class Choice:
    """The choice behind a piece of evidence, as far as the snapshot has it.

    Attributes:
        title: the chosen item's title.
        ranking_id: the ranking it was chosen from.
        place: the rank at which the item was shown; 1 is the top.
        taken: the ids of all items that were taken, the chosen one first.
        shown: the ranking's item ids, in order; the contrast's, where the snapshot lacks the ranking.
        instruction: what the user asked for.
        ranked_by: app or sager; None where the snapshot lacks the ranking.
        skill_version: the version of the skill used for the ranking.
    """

    title: str
    ranking_id: str
    place: int
    taken: tuple[str, ...]
    shown: tuple[str, ...]
    instruction: str
    ranked_by: str | None
    skill_version: int | None


_CHOICES = """
SELECT k.event_id, coalesce(nullif(k.chosen_title, ''), i.title, ''), k.ranking_id, k.chosen_rank,
       [k.chosen_item_id] || k.also_item_ids,
       coalesce(r.item_ids, [k.chosen_item_id] || k.also_item_ids || k.unchosen_item_ids), k.instruction, r.ranked_by,
       coalesce(r.skill_version, k.skill_version)
FROM contrasts k
LEFT JOIN rankings r ON r.user_id = k.user_id AND r.ranking_id = k.ranking_id
LEFT JOIN items i ON i.item_id = k.chosen_item_id
WHERE k.user_id = $1 AND k.event_id IN (SELECT unnest($2))
"""


def choices(con: duckdb.DuckDBPyConnection, user: str, events: Sequence[str]) -> dict[str, Choice]:
    """Return the choices behind these events, by event; commands and events missing from the snapshot are left out."""
    rows = con.execute(_CHOICES, [user, list(events)]).fetchall()
    return {
        event: Choice(title, ranking, place, tuple(taken), tuple(shown), instruction or "", by, version)
        for event, title, ranking, place, taken, shown, instruction, by, version in rows
    }


def history(con: duckdb.DuckDBPyConnection, user: str, domain: str, until: datetime) -> tuple[int, dict[str, str]]:
    """Return the history behind a seed: the number of interactions until then, and the newest titles by item.

    Args:
        con: a connection of `read.connect`.
        user: the user's id.
        domain: the domain.
        until: naive, in UTC.
    """
    query = (
        "SELECT item_id, title FROM interactions WHERE user_id = $1 AND domain = $2 AND occurred_at <= $3 "
        "ORDER BY occurred_at DESC, item_id"
    )
    taken = con.execute(query, [user, domain, until]).fetchall()
    return len(taken), dict(taken[:NEWEST])
