"""Columns that many tables share: user, event, time and the record's position in Kafka."""

from streams.materializer.columns import Column, flag, moment, number, text

USER = text("user_id", "The user, as the app names them")
DOMAIN = text("domain", "The domain, such as books")
VERSION = number("version", "The skill's version after this diff")
EVENT_ID = text("event_id", "Unique per event and user")
OCCURRED_AT = moment("occurred_at", "When it happened")
INSTRUCTION = text("instruction", "What the user asked for, in their own words")
RANKING_ID = text("ranking_id", "The ranking this belongs to; unique per user")
ITEM_ID = text("item_id", "The item, as the app names it")
SKILL_VERSION = number("skill_version", "The version of the skill used; 0: the prior alone")
SESSION_ID = text("session_id", "The session that it belongs to, if any")
DOCUMENT = text("document", "The record's exact bytes as text")
ATTRIBUTE_ID = text("attribute_id", "The attribute; the same as in skill_attributes")

PROVENANCE = (
    moment("logged_at", "The record's Kafka timestamp"),
    Column("kafka_partition", "INTEGER", "The record's partition in its topic"),
    number("kafka_offset", "The record's offset in its partition"),
)
ENVELOPE = (USER, EVENT_ID, OCCURRED_AT)
EVENT_KEY = ("user_id", "event_id")
SKILL_KEY = ("user_id", "domain")
DIFF_KEY = ("user_id", "domain", "version")

REASONED = (
    text("reasoner", "rules, llm, deterministic, ..."),
    text("model", "The LLM, if one was asked"),
    text("prompt", "The prompt's file and version"),
    text("prompt_hash", "Hash of the complete prompt"),
    number("calls", "LLM calls"),
    number("prompt_tokens", "Tokens in, all calls"),
    number("completion_tokens", "Tokens out, all calls"),
    number("latency_ms", "Time taken, in milliseconds"),
    text("fallback", "Why a reasoner other than the configured one answered"),
    flag("gated", "Whether the LLM call was skipped: there was nothing new to judge"),
)
"""How something was made: the columns of a `schemas.ReasonedBy`."""
