"""The SQL that makes an empty DuckDB file: tables, views, and what the writer keeps about itself."""

from collections.abc import Iterable, Iterator

from streams.materializer.columns import Column, Table, moment, number, text
from streams.materializer.tables import INJECTED, TABLES

LAYOUT_VERSION = 2
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

VIEWS = {
    "outcomes": (
        "One row per selection with its ranking: at which rank the selected item was shown; hit_at_k",
        """
        WITH ranked AS (
            FROM rankings QUALIFY row_number() OVER (
                PARTITION BY user_id, ranking_id ORDER BY logged_at, kafka_offset) = 1
        ), selected AS (
            FROM selections QUALIFY row_number() OVER (
                PARTITION BY user_id, ranking_id ORDER BY logged_at, kafka_offset) = 1
        )
        SELECT s.user_id, r.domain, s.ranking_id, r.occurred_at AS ranked_at, s.occurred_at AS selected_at,
               s.item_id, nullif(list_position(r.item_ids, s.item_id), 0) AS item_rank, len(r.item_ids) AS candidates,
               coalesce(item_rank <= 1, false) AS hit_at_1, coalesce(item_rank <= 3, false) AS hit_at_3,
               coalesce(item_rank <= 5, false) AS hit_at_5,
               r.ranked_by, r.reasoner, coalesce(s.skill_version, r.skill_version) AS skill_version
        FROM selected s JOIN ranked r USING (user_id, ranking_id)
        """,
    ),
    "policy_log": (
        "One row per change of a skill, with the event and the reasoner behind it; versions without changes too",
        """
        SELECT d.user_id, d.domain, d.version, d.occurred_at, c.seq, c.kind, c.attribute_id, c.before, c.after,
               c.reason, d.reasoner, d.model, d.event_id, d.evidence_item_id
        FROM skill_diffs d LEFT JOIN skill_changes c USING (user_id, domain, version)
        """,
    ),
    "learning_curve": (
        "Per domain and nth selection of a user: how high the selected items stood, over all users",
        """
        SELECT domain, nth, count(*) AS users, avg(hit_at_1::INT) AS hit_at_1, avg(hit_at_3::INT) AS hit_at_3,
               avg(hit_at_5::INT) AS hit_at_5, avg(coalesce(1.0 / item_rank, 0)) AS mean_reciprocal_rank
        FROM (SELECT *, row_number() OVER (
                  PARTITION BY user_id, domain ORDER BY selected_at, ranking_id) AS nth FROM outcomes)
        GROUP BY domain, nth
        """,
    ),
}


def statements() -> Iterator[str]:
    """The statements for an empty file, in order."""
    for table in (*TABLES, *OWN_TABLES):
        yield from _create(table, keyed=True)
        for child in table.children:
            yield from _create(child, keyed=False)
    for name, (comment, query) in VIEWS.items():
        yield f"CREATE VIEW {name} AS {query}"
        yield f"COMMENT ON VIEW {name} IS {_quoted(comment)}"


def _create(table: Table, *, keyed: bool) -> Iterator[str]:
    columns = ", ".join(f'"{c.name}" {c.type}' for c in table.columns)
    key = f", PRIMARY KEY ({', '.join(table.key)})" if keyed else ""
    yield f"CREATE TABLE {table.name} ({columns}{key})"
    yield f"COMMENT ON TABLE {table.name} IS {_quoted(table.comment)}"
    for column in table.columns:
        yield f'COMMENT ON COLUMN {table.name}."{column.name}" IS {_quoted(column.comment)}'


def _quoted(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"


def _added(table: str, columns: Iterable[Column]) -> Iterator[str]:
    for column in columns:
        yield f'ALTER TABLE {table} ADD COLUMN "{column.name}" {column.type}'
        yield f'COMMENT ON COLUMN {table}."{column.name}" IS {_quoted(column.comment)}'


MIGRATIONS = {1: tuple(_added("rankings", INJECTED))}
"""Statements by the layout that they lead away from, to the next one."""
