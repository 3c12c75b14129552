"""The tables of what skills hold of people's own words and of their sessions; child tables of diffs and of skills."""

from streams.materializer.columns import Column, Table, flag, moment, number, real, text
from streams.materializer.fields import (
    ATTRIBUTE_ID,
    DIFF_KEY,
    DOMAIN,
    EVENT_ID,
    OCCURRED_AT,
    SESSION_ID,
    SKILL_KEY,
    USER,
    VERSION,
)

STATEMENT_ID = text("statement_id", "Stance and attribute: the same thing said again replaces it")
STATEMENT: tuple[Column, ...] = (
    text("stance", "prefers, avoids, or instead: this one rather than that one"),
    text("attribute_id", "What it is about, named as the lines of skills are"),
    text("dimension", "Such as genre; item, where it is about one item; a measure, where it is about a bound"),
    text("value", "Such as horror; an item's title; a bound in words"),
    text("over", "instead: the attribute that it replaces"),
    text("item_id", "The item, where it is about one"),
    text("measure", "Such as price, where it is about a bound"),
    real("above", "Only items with more of the measure than this"),
    real("below", "Only items with less of the measure than this"),
    text("words", "The person's own, without what is personal; empty: they filled in a form, or gave a signal"),
    text("scope", "now, session or always"),
    SESSION_ID,
    moment("said_at", "When they last said it"),
    moment("until", "It says nothing from then on; null: it stands"),
    number("since", "The skill's version that brought it"),
    number("times", "How often it was said"),
    text("evidence_event_id", "The correction or the signal behind it"),
    text("evidence_item_id", "The item that the signal was about"),
)
"""The columns of one `schemas.Statement`, but for its id."""

STATEMENTS = Table(
    "statements",
    "What people said of their taste, as the current skills hold it; replaced together with the row of skills. "
    "statements_now leaves out what has expired",
    SKILL_KEY,
    (
        USER,
        DOMAIN,
        number("version", "The skill's version"),
        number("place", "Place within the skill, from 1: the newest last"),
        STATEMENT_ID,
        *STATEMENT,
        flag("doubtful", "Whether the person's taste has changed since they said it, or may have: it is doubtful"),
    ),
)
STATEMENT_CHANGES = Table(
    "statement_changes",
    "One row per statement that a version brought, replaced or took; comes with its row of skill_diffs",
    DIFF_KEY,
    (
        USER,
        DOMAIN,
        VERSION,
        number("seq", "Place within the diff, from 1"),
        text("kind", "stated, withdrawn, removed, expired, full, forgotten or restored"),
        STATEMENT_ID,
        text("reason", "Why"),
        *STATEMENT,
        EVENT_ID,
        OCCURRED_AT,
    ),
)
SKILL_SESSIONS = Table(
    "skill_sessions",
    "The newest sessions per skill, two at most; replaced together with the row of skills",
    SKILL_KEY,
    (
        USER,
        DOMAIN,
        number("version", "The skill's version"),
        number("place", "Place within the skill, from 1: the newest last"),
        SESSION_ID,
        moment("last_at", "When it was last heard of"),
        moment("until", "When it is over, if nothing more is heard of it"),
        number("events", "How many events belong to it"),
    ),
)
SESSION_LINES = Table(
    "session_lines",
    "What was taken in the newest sessions, counted as a skill's lines are; replaced together with the row of skills",
    SKILL_KEY,
    (
        USER,
        DOMAIN,
        number("version", "The skill's version"),
        SESSION_ID,
        ATTRIBUTE_ID,
        text("dimension", "Such as genre"),
        text("value", "Such as science fiction"),
        real("taken", "How often it was taken in the session, in choices"),
        real("expected", "How often that was to be expected of somebody who chooses blindly, in choices"),
    ),
)
