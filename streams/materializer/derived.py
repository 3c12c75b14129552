"""Tables that are worked out of others, at each publication, for the users of whom there is something new.

As views they would be windows over all of the log, seconds at a million diffs. A user's rows are always made anew as a
whole, so that late and repeated events need no rule of their own, and whoever has changed is in the file until then:
after a kill the next publication goes on.
"""

from typing import Final

import duckdb

from streams.materializer import analytics
from streams.materializer.columns import Table, flag, moment, number, real, text
from streams.materializer.fields import ATTRIBUTE_ID, DOMAIN, EVENT_ID, ITEM_ID, RANKING_ID, USER, VERSION

VALID_FROM = moment("valid_from", "Since when it was in force")
VALID_TO = moment("valid_to", "Until when, itself not in it; null: still")

STALE_USERS: Final = Table(
    "stale_users", "Users whose derived rows are behind; empty in a published file", ("user_id",), (USER,)
)
SKILL_VERSIONS: Final = Table(
    "skill_versions",
    "One row per version of a skill and the time in which it was in force. An event takes effect when it happened, "
    "though never later than it was logged, which makes good a clock that is ahead, and never before the version that "
    "it follows, which is where a late event comes in",
    ("user_id", "domain", "version"),
    (
        USER,
        DOMAIN,
        VERSION,
        EVENT_ID,
        flag("is_contrast", "Whether a contrast was learned from, not a command carried out"),
        number("contrasts", "How many contrasts it has learned from"),
        VALID_FROM,
        VALID_TO,
    ),
)
SKILL_HISTORY: Final = Table(
    "skill_history",
    "One row per line of a skill and tier: from when until when it was of that tier",
    ("user_id", "domain", "attribute_id"),
    (
        USER,
        DOMAIN,
        ATTRIBUTE_ID,
        text("tier", "low, medium or high"),
        text("before", "The tier before; null for a new line"),
        text("became_by", "The kind of change that made it so"),
        number("from_version", "The first version with it"),
        VALID_FROM,
        number("to_version", "The first version without it; null: still"),
        VALID_TO,
    ),
)
OUTCOMES: Final = Table(
    "outcomes",
    "One row per ranking from which somebody selected: at which rank the item was shown, and the measures of one "
    "relevant item that follow. Repeated deliveries count once",
    ("user_id", "domain", "ranking_id"),
    (
        USER,
        DOMAIN,
        RANKING_ID,
        moment("ranked_at", "When the ranking was made"),
        moment("selected_at", "When the item was taken"),
        number("nth", "The user's first, second, ... selection in this domain"),
        ITEM_ID,
        number("item_rank", "The place at which it was shown; 1 is the top; null: it was not"),
        number("candidates", "How many were shown"),
        flag("hit_at_1", "Whether it was the first"),
        flag("hit_at_3", "Whether it was among the first three"),
        flag("hit_at_5", "Whether it was among the first five"),
        real("reciprocal_rank", "1 / item_rank; 0 if it was not shown. Its mean is the MRR"),
        real("ndcg_at_3", "1 / log2(1 + item_rank) among the first three, 0 beyond"),
        real("ndcg_at_5", "Likewise among the first five"),
        text("arm", "The ranking's arm: as its app named it, or no-skill, prior, evolved"),
        text("ranked_by", "app or sager"),
        text("reasoner", "What ranked, if not the app"),
        number("skill_version", "The skill's version that had its say; 0: the prior alone, or none"),
        number("version_in_force", "The version that the skill had when the ranking was made (ASOF); 0: none yet"),
    ),
)
DERIVED: Final = (SKILL_VERSIONS, SKILL_HISTORY, OUTCOMES)
"""In the order in which they are worked out: the later ones read the earlier ones."""
SOURCES: Final = frozenset({"rankings", "selections", "skill_diffs"})
"""The tables that they are worked out of."""


def derive(con: duckdb.DuckDBPyConnection) -> None:
    """Brings the derived tables up to date, inside the caller's transaction."""
    if con.execute("SELECT 1 FROM stale_users LIMIT 1").fetchall():
        for table in DERIVED:
            con.execute(f"DELETE FROM {table.name} WHERE user_id IN (FROM stale_users)").fetchall()  # noqa: S608
            con.execute(analytics.derivation(table.name)).fetchall()
        con.execute("DELETE FROM stale_users").fetchall()


def mark_all(con: duckdb.DuckDBPyConnection) -> None:
    """Marks every user, so that the next `derive` makes all rows anew: the way of doing it has changed."""
    con.execute(
        "INSERT INTO stale_users SELECT user_id FROM selections UNION SELECT user_id FROM skill_diffs"
    ).fetchall()
