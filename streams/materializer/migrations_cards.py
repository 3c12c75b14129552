"""Migrates files of layout 6: cards and their log. Literal SQL, as in `migrations`.

Nothing in an older file tells of cards: their rows come from the topics.
"""

from typing import Final

_ABOUT = "stance VARCHAR, dimension VARCHAR, value VARCHAR, domain VARCHAR, strength VARCHAR"
_PROVENANCE = "document VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT"

FROM_6: Final = (
    f"""
    CREATE TABLE cards (
        user_id VARCHAR, version BIGINT, lines BIGINT, past BIGINT, pinned BIGINT, reward DOUBLE, event_id VARCHAR,
        updated_at TIMESTAMP, {_PROVENANCE}, PRIMARY KEY (user_id))
    """,
    f"""
    CREATE TABLE card_lines (
        user_id VARCHAR, version BIGINT, place BIGINT, line_id VARCHAR, {_ABOUT}, words VARCHAR, weight DOUBLE,
        against DOUBLE, since TIMESTAMP, confirmed_at TIMESTAMP, since_version BIGINT, times BIGINT,
        evidence VARCHAR[], pinned BOOLEAN, is_past BOOLEAN, overtaken_by VARCHAR, overtaken_at TIMESTAMP)
    """,
    f"""
    CREATE TABLE card_diffs (
        user_id VARCHAR, version BIGINT, event_id VARCHAR, occurred_at TIMESTAMP, conversation_id VARCHAR,
        changes BIGINT, not_kept BIGINT, reward DOUBLE, reasoner VARCHAR, model VARCHAR, prompt VARCHAR,
        prompt_hash VARCHAR, calls BIGINT, prompt_tokens BIGINT, completion_tokens BIGINT, latency_ms BIGINT,
        fallback VARCHAR, gated BOOLEAN, {_PROVENANCE}, PRIMARY KEY (user_id, version))
    """,
    f"""
    CREATE TABLE card_changes (
        user_id VARCHAR, version BIGINT, seq BIGINT, kind VARCHAR, line_id VARCHAR, reason VARCHAR, {_ABOUT},
        overtaken_by VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP)
    """,
    """
    CREATE TABLE card_receipts (
        user_id VARCHAR, version BIGINT, kind VARCHAR, times BIGINT, event_id VARCHAR, occurred_at TIMESTAMP)
    """,
    "ALTER TABLE sink_offsets ADD COLUMN furthest BIGINT",
    "UPDATE sink_offsets SET furthest = next_offset",
)
"""Cards of conversations, and the furthest offset that was read of a log, which may be shorter now."""
