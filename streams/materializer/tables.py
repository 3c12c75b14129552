"""The tables: one per topic, with its child tables. Comments go into the DuckDB file.

An event's key is (user_id, event_id), not event_id alone: agents deduplicate events per user, so that an app may number
its events per user.
"""

from streams.materializer.card_tables import CARD_DIFFS, CARDS
from streams.materializer.columns import Column, Keep, Table, flag, moment, number, text, texts
from streams.materializer.feedback_tables import ABSTENTIONS, CORRECTIONS, FEEDBACK
from streams.materializer.fields import (
    DOCUMENT,
    DOMAIN,
    ENVELOPE,
    EVENT_ID,
    EVENT_KEY,
    ITEM_ID,
    OCCURRED_AT,
    PROVENANCE,
)
from streams.materializer.ranking_tables import CONTRASTS, RANK_REQUESTS, RANKINGS, SELECTIONS
from streams.materializer.skill_tables import SKILL_COMMANDS, SKILL_DIFFS, SKILLS, SLIM_SKILLS
from streams.materializer.weight_tables import WEIGHTS

ITEMS = Table(
    "items",
    "The catalogue: the newest entry per item",
    ("item_id",),
    (
        ITEM_ID,
        DOMAIN,
        text("title", "As sent by the app"),
        text("description", "As sent by the app"),
        text("metadata", "Raw facts as JSON text: metadata ->> '$.genre'"),
        EVENT_ID,
        OCCURRED_AT,
        *PROVENANCE,
    ),
    Keep.LAST,
)
INTERACTIONS = Table(
    "interactions",
    "Past positive events that feed the statistical prior",
    EVENT_KEY,
    (*ENVELOPE, DOMAIN, ITEM_ID, text("title", "The item's title"), *PROVENANCE),
)
RECEIPTS = Table(
    "receipts",
    "What was forgotten, with people and lines as digests: nothing from before its moments is kept or let in again",
    ("subject",),
    (
        text("subject", "sha256('sager ' || user_id)"),
        moment("forgotten_until", "The whole person is forgotten up to this moment; null: only domains or lines are"),
        text("actor", "Who asked to forget the person"),
        number("domains", "How many domains were forgotten separately"),
        number("lines", "How many lines were forgotten separately"),
        flag("done", "Whether the worker has removed everything"),
        EVENT_ID,
        OCCURRED_AT,
        DOCUMENT,
        *PROVENANCE,
    ),
    Keep.LAST,
)
GLOBAL_SKILLS = Table(
    "global_skills",
    "The population template per domain",
    ("domain",),
    (
        DOMAIN,
        number("users", "How many users it was computed from"),
        texts("attribute_ids", "Its attributes, in order"),
        EVENT_ID,
        moment("updated_at", "When it was computed"),
        DOCUMENT,
        *PROVENANCE,
    ),
    Keep.LAST,
)
# A dead letter's event_id is derived from stage and position, and positions repeat in a topic that was recreated:
# the record's own timestamp distinguishes them.
DEAD_LETTERS = Table(
    "dead_letters",
    "Records that a stage refused, with their original bytes",
    ("event_id", "source_logged_at"),
    (
        text("event_id", "Derived from stage and position"),
        moment("source_logged_at", "The refused record's Kafka timestamp"),
        moment("occurred_at", "When it was refused"),
        text("stage", "The stage that refused it"),
        text("reason", "Why, as one of a closed set of words"),
        text("detail", "Why, for a person"),
        text("source_topic", "The refused record's topic"),
        number("source_partition", "The refused record's partition"),
        number("source_offset", "The refused record's offset"),
        Column("key", "BLOB", "Its original key"),
        Column("value", "BLOB", "Its original value, or the beginning of it"),
        *PROVENANCE,
    ),
)

TABLES = (
    ITEMS,
    INTERACTIONS,
    RANK_REQUESTS,
    RANKINGS,
    SELECTIONS,
    FEEDBACK,
    CORRECTIONS,
    ABSTENTIONS,
    CONTRASTS,
    SKILL_DIFFS,
    SKILLS,
    SLIM_SKILLS,
    SKILL_COMMANDS,
    CARD_DIFFS,
    CARDS,
    RECEIPTS,
    GLOBAL_SKILLS,
    DEAD_LETTERS,
    WEIGHTS,
)
"""Every table with a topic; child tables come with their parents."""
