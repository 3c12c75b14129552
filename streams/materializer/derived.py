"""Tables derived from others at each publication, for the users with new records.

As views they would be window functions over the whole log, which take seconds at a million diffs. All rows of a user
are derived again, so that late and repeated events need no rule of their own. Stale users are listed in the file: after
a kill the next publication continues.
"""

from typing import Final

import duckdb

from streams.materializer import analytics
from streams.materializer.columns import Table, flag, moment, number, real, text
from streams.materializer.fields import ATTRIBUTE_ID, DOMAIN, EVENT_ID, ITEM_ID, RANKING_ID, USER, VERSION

VALID_FROM = moment("valid_from", "When it came into force")
VALID_TO = moment("valid_to", "When it ceased to be in force, exclusive; null: still in force")

STALE_USERS: Final = Table(
    "stale_users", "Users whose derived rows are stale; empty in a published file", ("user_id",), (USER,)
)
SKILL_VERSIONS: Final = Table(
    "skill_versions",
    "One row per version of a skill, with the period in which it was in force. An event takes effect when it happened, "
    "but not later than it was logged (a clock may be ahead) and not before the version that it follows (an event may "
    "be late)",
    ("user_id", "domain", "version"),
    (
        USER,
        DOMAIN,
        VERSION,
        EVENT_ID,
        flag("is_contrast", "true: a contrast was learned from; false: something else was heard, or a command done"),
        number("contrasts", "How many contrasts it has learned from"),
        VALID_FROM,
        VALID_TO,
    ),
)
SKILL_HISTORY: Final = Table(
    "skill_history",
    "One row per line of a skill and tier, with the period in which it had that tier",
    ("user_id", "domain", "attribute_id"),
    (
        USER,
        DOMAIN,
        ATTRIBUTE_ID,
        text("tier", "silent, low, medium or high"),
        text("before", "The tier before; null for a new line"),
        text("became_by", "The kind of change that set the tier"),
        number("from_version", "The first version with it"),
        VALID_FROM,
        number("to_version", "The first version without it; null: still in force"),
        VALID_TO,
    ),
)
OUTCOMES: Final = Table(
    "outcomes",
    "One row per ranking of which something was taken: the rank at which the selected item (of several, the first) was "
    "shown, and the measures for one relevant item. Repeated deliveries count once",
    ("user_id", "domain", "ranking_id"),
    (
        USER,
        DOMAIN,
        RANKING_ID,
        moment("ranked_at", "When the ranking was made"),
        moment("selected_at", "When the item was taken"),
        number("nth", "Number of this selection among the user's in this domain, from 1"),
        ITEM_ID,
        number("item_rank", "The rank at which it was shown; 1 is the top; null: it was not shown"),
        number("candidates", "How many candidates were shown"),
        flag("hit_at_1", "Whether it was shown first"),
        flag("hit_at_3", "Whether it was among the first three"),
        flag("hit_at_5", "Whether it was among the first five"),
        real("reciprocal_rank", "1 / item_rank; 0 if it was not shown. Its mean is the MRR"),
        real("ndcg_at_3", "1 / log2(1 + item_rank) among the first three, 0 beyond"),
        real("ndcg_at_5", "1 / log2(1 + item_rank) among the first five, 0 beyond"),
        text("arm", "The ranking's arm: as named by the app, or no-skill, prior, evolved"),
        text("ranked_by", "app or sager"),
        text("reasoner", "The ranker, if not the app"),
        number("skill_version", "The version of the skill used for the ranking; 0: the prior alone, or none"),
        number("version_in_force", "The version of the skill in force when the ranking was made (ASOF); 0: none yet"),
    ),
)
DERIVED: Final = (SKILL_VERSIONS, SKILL_HISTORY, OUTCOMES)
"""In the order of their derivation: later ones read earlier ones."""
SOURCES: Final = frozenset({"rankings", "selections", "skill_diffs"})
"""The tables that they are derived from."""


def derive(con: duckdb.DuckDBPyConnection) -> None:
    """Brings the derived tables up to date, inside the caller's transaction."""
    if con.execute("SELECT 1 FROM stale_users LIMIT 1").fetchall():
        for table in DERIVED:
            con.execute(f"DELETE FROM {table.name} WHERE user_id IN (FROM stale_users)").fetchall()  # noqa: S608 - our own names; values are bound  # nosec B608
            con.execute(analytics.derivation(table.name)).fetchall()
        con.execute("DELETE FROM stale_users").fetchall()


def mark_all(con: duckdb.DuckDBPyConnection) -> None:
    """Marks every user as stale, because a derivation has changed: the next `derive` makes all rows again."""
    con.execute(
        "INSERT INTO stale_users SELECT user_id FROM selections UNION SELECT user_id FROM skill_diffs"
    ).fetchall()
