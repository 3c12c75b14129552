"""What is derived is the same however the events came: in one go or bit by bit, in order or not, once or twice."""

import json
import random
from datetime import datetime, timedelta

import pytest

from streams.analytics.records import ChangeSet
from streams.analytics.rows import read
from streams.analytics.schema import DERIVED, SOURCES
from streams.analytics.store import DuckDBStore
from streams.privacy import DEFAULT as PRIVACY
from tests.analytics_world import build

START = datetime.fromisoformat("2026-01-01")
FEW = {f"person-{number:03}" for number in (3, 4, 6)}


def user_of(record):
    """Rankings and selections are keyed by their user, versions of skills by user, domain and version."""
    key = (record.key or b"").decode()
    return json.loads(key)[0] if key.startswith("[") else key


def rows(store, table):
    return store._db.execute(f"FROM {table} ORDER BY ALL").fetchall()


def publish(store):
    store.checkpoint(START, None)


def written(store, records):
    batch = ChangeSet()
    for record in records:
        batch.add(read(record, privacy=PRIVACY))
    store.write(batch, {})


@pytest.mark.parametrize("seed", [1])
def test_batches_in_any_order_with_publications_between_come_to_the_same(tmp_path, seed):
    records = [
        record
        for record in build().records
        if record.topic.base.replace("-", "_") in SOURCES and user_of(record) in FEW
    ]
    with DuckDBStore(tmp_path / "whole.duckdb", "sager.") as store:
        written(store, records)
        publish(store)
        wanted = {name: rows(store, name) for name in DERIVED}
        assert rows(store, "stale_users") == []
    rng = random.Random(seed)
    records = rng.sample(records, len(records)) + rng.sample(records, 10)
    with DuckDBStore(tmp_path / "parts.duckdb", "sager.") as store:
        for start in range(0, len(records), 40):
            written(store, records[start : start + 40])
            if rng.random() < 0.5:
                publish(store)
        publish(store)
        assert {name: rows(store, name) for name in DERIVED} == wanted
        assert all(wanted.values())


def test_what_was_not_published_before_a_kill_is_derived_by_the_next(tmp_path):
    records = [record for record in build().records if record.topic.base == "skill-diffs"][:5]
    with DuckDBStore(tmp_path / "live.duckdb", "sager.") as store:
        written(store, records)
    with DuckDBStore(tmp_path / "live.duckdb", "sager.") as store:
        assert rows(store, "skill_versions") == []
        publish(store)
        assert len(rows(store, "skill_versions")) == 5


def test_a_selection_of_what_was_not_shown_counts_only_without_another(tmp_path):
    with DuckDBStore(tmp_path / "live.duckdb", "sager.") as store:
        for minute, (ranking, item) in enumerate([("r1", "zz"), ("r1", "b"), ("r1", "c"), ("r2", "zz")]):
            store._db.execute(
                "INSERT INTO selections BY NAME SELECT 'ann' AS user_id, $1 AS event_id, $2 AS ranking_id, "
                "$3 AS item_id, $4::TIMESTAMP AS logged_at, $4::TIMESTAMP AS occurred_at",
                [f"s{minute}", ranking, item, START + timedelta(minutes=minute)],
            ).fetchall()
        for ranking in ("r1", "r2"):
            store._db.execute(
                "INSERT INTO rankings BY NAME SELECT 'ann' AS user_id, $1 AS event_id, $1 AS ranking_id, "
                "'books' AS domain, ['a', 'b', 'c'] AS item_ids, $2::TIMESTAMP AS logged_at, 0 AS skill_version",
                [ranking, START],
            ).fetchall()
        store.derive_all()
        publish(store)
        found = store._db.execute(
            "SELECT ranking_id, item_id, item_rank, reciprocal_rank, ndcg_at_5 FROM outcomes ORDER BY ALL"
        ).fetchall()
    assert [row[:3] for row in found] == [("r1", "b", 2), ("r2", "zz", None)]
    assert [round(row[3], 2) for row in found] == [0.5, 0.0]
    assert [round(row[4], 2) for row in found] == [0.63, 0.0]
