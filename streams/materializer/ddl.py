"""The SQL that creates an empty DuckDB file: the tables of records, and the writer's own."""

from collections.abc import Iterator

from streams.materializer import analytics
from streams.materializer.columns import Column, Table, flag, moment, number, real, text
from streams.materializer.derived import DERIVED, STALE_USERS
from streams.materializer.tables import TABLES

LAYOUT_VERSION = 1
"""Incremented when a table changes. `sager rebuild --duckdb` replaces a file of another layout."""

SINK_OFFSETS = Table(
    "sink_offsets",
    "How far each partition has been read into this file; written in the same transaction as the rows",
    ("topic", "kafka_partition"),
    (
        text("topic", "The topic's full name"),
        Column("kafka_partition", "INTEGER", "The partition"),
        number("next_offset", "The first offset that is not in this file"),
        text("topic_id", "Kafka's id of the topic: when it changes, the topic was recreated and is read again"),
        number("furthest", "The highest next_offset so far: above next_offset if the log has lost records since"),
    ),
)
META = Table(
    "meta",
    "One row: the identity of this file",
    ("schema_version",),
    (
        number("schema_version", "The layout of these tables"),
        text("prefix", "The deployment's topic prefix"),
        text("cluster_id", "The Kafka cluster that the rows came from"),
        real("llm_price_prompt", "US dollars per million prompt tokens, as configured at the last start"),
        real("llm_price_completion", "US dollars per million completion tokens, as configured at the last start"),
        text("queries", "Fingerprint of the views, macros and derivations in this file"),
        flag(
            "is_stained",
            "Whether free blocks of this file may still hold forgotten rows; the next checkpoint rewrites the file",
        ),
    ),
)
SNAPSHOT_INFO = Table(
    "snapshot_info",
    "One row: the freshness of this file",
    ("published_at",),
    (
        moment("published_at", "When this copy was made"),
        moment("newest_record_at", "The newest Kafka timestamp in it"),
        number("records", "Records read into it, from sink_offsets"),
    ),
)
OWN_TABLES = (SINK_OFFSETS, META, SNAPSHOT_INFO)
WITHOUT_KEY = frozenset([*(child for table in TABLES for child in table.children), *DERIVED, STALE_USERS])
"""Tables without a primary key: an index on them would cost more than the rest of the write."""


def statements() -> Iterator[str]:
    """The statements for an empty file, in order; its views and macros come after them."""
    for table in all_tables():
        yield _create(table)
    yield from comments()


def comments() -> Iterator[str]:
    """The statements that comment every table and column."""
    for table in all_tables():
        yield f"COMMENT ON TABLE {table.name} IS {analytics.quoted(table.comment)}"
        for column in table.columns:
            yield f'COMMENT ON COLUMN {table.name}."{column.name}" IS {analytics.quoted(column.comment)}'


def all_tables() -> Iterator[Table]:
    """Every table of the file; those of topics come first."""
    for table in (*TABLES, *DERIVED, *OWN_TABLES, STALE_USERS):
        yield table
        yield from table.children


def _create(table: Table) -> str:
    columns = ", ".join(f'"{c.name}" {c.type}' for c in table.columns)
    key = f", PRIMARY KEY ({', '.join(table.key)})" if table not in WITHOUT_KEY else ""
    return f"CREATE TABLE {table.name} ({columns}{key})"
