"""The SQL that makes an empty DuckDB file: the tables, and what the writer keeps about itself."""

from collections.abc import Iterator

from streams.materializer import analytics
from streams.materializer.columns import Column, Table, flag, moment, number, real, text
from streams.materializer.derived import DERIVED, STALE_USERS
from streams.materializer.tables import TABLES

LAYOUT_VERSION = 4
"""Raised when a table changes; `MIGRATIONS` says how a file of the layout before comes to it."""

SINK_OFFSETS = Table(
    "sink_offsets",
    "Up to where each partition is in this file; written in the transaction that writes the rows",
    ("topic", "kafka_partition"),
    (
        text("topic", "The topic's full name"),
        Column("kafka_partition", "INTEGER", "The partition"),
        number("next_offset", "The first offset that is not in this file"),
        text("topic_id", "Kafka's id of the topic: another one means that it was recreated, and is read again"),
    ),
)
META = Table(
    "meta",
    "One row: what this file is",
    ("schema_version",),
    (
        number("schema_version", "The layout of these tables"),
        text("prefix", "The deployment's topic prefix"),
        text("cluster_id", "The Kafka cluster that the rows came from"),
        real("llm_price_prompt", "US dollars per million prompt tokens, as configured at the last start"),
        real("llm_price_completion", "US dollars per million completion tokens, likewise"),
        text("queries", "Fingerprint of the views, macros and derivations in this file"),
        flag("is_stained", "Whether free blocks of this file may still hold what was forgotten; the next one has none"),
    ),
)
SNAPSHOT_INFO = Table(
    "snapshot_info",
    "One row: how fresh this file is",
    ("published_at",),
    (
        moment("published_at", "When this copy was made"),
        moment("newest_record_at", "The newest Kafka timestamp in it"),
        number("records", "Records read into it, from sink_offsets"),
    ),
)
OWN_TABLES = (SINK_OFFSETS, META, SNAPSHOT_INFO)
WITHOUT_KEY = frozenset([*(child for table in TABLES for child in table.children), *DERIVED, STALE_USERS])
"""An index on these would cost more than the rest of the write."""


def statements() -> Iterator[str]:
    """The statements for an empty file, in order; its views and macros come after them."""
    for table in all_tables():
        yield _create(table)
    yield from comments()


def comments() -> Iterator[str]:
    """A sentence on every table and column."""
    for table in all_tables():
        yield f"COMMENT ON TABLE {table.name} IS {analytics.quoted(table.comment)}"
        for column in table.columns:
            yield f'COMMENT ON COLUMN {table.name}."{column.name}" IS {analytics.quoted(column.comment)}'


def all_tables() -> Iterator[Table]:
    """Every table of the file, those with a topic first."""
    for table in (*TABLES, *DERIVED, *OWN_TABLES, STALE_USERS):
        yield table
        yield from table.children


def _create(table: Table) -> str:
    columns = ", ".join(f'"{c.name}" {c.type}' for c in table.columns)
    key = f", PRIMARY KEY ({', '.join(table.key)})" if table not in WITHOUT_KEY else ""
    return f"CREATE TABLE {table.name} ({columns}{key})"
