"""Columns that many tables share: who, what, when, and where the record stands in Kafka."""

from streams.materializer.columns import Column, flag, moment, number, text

USER = text("user_id", "The user, as the app names them")
DOMAIN = text("domain", "The domain, such as books")
VERSION = number("version", "The skill's version after this diff")
EVENT_ID = text("event_id", "Unique per event and user")
OCCURRED_AT = moment("occurred_at", "When it happened")
INSTRUCTION = text("instruction", "What the user asked for, in their own words")
RANKING_ID = text("ranking_id", "The ranking this belongs to; unique per user")
ITEM_ID = text("item_id", "The item, as the app names it")
SKILL_VERSION = number("skill_version", "The skill's version that had its say; 0: the prior alone")
DOCUMENT = text("document", "The record's exact bytes as text")
ATTRIBUTE_ID = text("attribute_id", "The attribute; the same as in skill_attributes")

PROVENANCE = (
    moment("logged_at", "The record's Kafka timestamp"),
    Column("kafka_partition", "INTEGER", "Where the record stands in its topic"),
    number("kafka_offset", "Where the record stands in its topic"),
)
ENVELOPE = (USER, EVENT_ID, OCCURRED_AT)
EVENT_KEY = ("user_id", "event_id")
SKILL_KEY = ("user_id", "domain")
DIFF_KEY = ("user_id", "domain", "version")

REASONED = (
    text("reasoner", "rules, llm, deterministic, ..."),
    text("model", "The LLM, if one was asked"),
    text("prompt", "The prompt's file and version"),
    text("prompt_hash", "Of all that the model was told"),
    number("calls", "LLM calls"),
    number("prompt_tokens", "Tokens in, all calls"),
    number("completion_tokens", "Tokens out, all calls"),
    number("latency_ms", "Time that it took"),
    text("fallback", "Why another reasoner than the configured one answered"),
    flag("gated", "Whether the LLM was spared: there was nothing new to judge"),
)
"""How something came about: the columns of a `schemas.ReasonedBy`."""
