"""Views and macros against plain Python over the same events: what they tell is what happened."""

import json
import random
from collections import Counter, defaultdict
from datetime import datetime, timedelta

import duckdb
import pytest

from operators.contrast import arm_of, ndcg_gain
from operators.learning.fold import fold
from schemas import SkillChange, Tier
from streams.analytics import schema
from streams.analytics.records import ChangeSet
from streams.analytics.rows import read
from streams.analytics.schema import DERIVED, SOURCES
from streams.analytics.store import DuckDBStore
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.analytics_world import build, published
from tests.shared_files import empty_store
from tests.unit.analytics import analytics_builders as builders

ARGUMENTS = {
    "policy_at": "('ann', '2026-01-01')",
    "policies_at": "('2026-01-01')",
    "changed_since": "('2026-01-01')",
    "attribute_drift": "('2026-01-01', '2026-02-01')",
    "statements_at": "('ann', '2026-01-01')",
    "why": "('ann', 'preference:genre:noir')",
    "cost_per_point": "('2026-01-01', '2026-02-01')",
}
WEEK_5, END = map(datetime.fromisoformat, ("2026-02-05", "2027-01-01"))


@pytest.fixture(scope="module")
def con():
    with duckdb.connect(str(published()), read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def world():
    return build()


def naive(moment):
    return moment.replace(tzinfo=None)


def skills_at(world, moment):
    skills = fold(diff for diff in world.diffs if naive(diff.occurred_at) <= moment)
    return {key: {line.attribute_id: str(line.tier) for line in skill.attributes} for key, skill in skills.items()}


def answered(world):
    shown = {ranking.ranking_id: ranking for ranking in world.rankings}
    return {
        s.ranking_id: (shown[s.ranking_id], [c.item_id for c in shown[s.ranking_id].candidates].index(s.item_id) + 1)
        for s in world.selections
    }


def test_each_has_a_comment_and_an_answer_on_an_empty_file():
    with duckdb.connect() as empty:
        schema.create_tables(empty)
        schema.create_queries(empty)
        for derivation in schema.derivations():
            empty.execute(derivation)
        for kind, name, comment, _ in schema.statements("queries"):
            assert comment.endswith("."), name
            arguments = "" if kind == "VIEW" else ARGUMENTS.get(name, "()")
            assert empty.execute(f"FROM {name}{arguments}").fetchall() == [], name


def test_policies_at_any_moment_are_the_fold_of_the_log_up_to_it(con, world):
    moments = sorted({naive(diff.occurred_at) for diff in world.diffs})
    for moment in [*moments[::40], moments[0] - timedelta(seconds=1), moments[-1]]:
        found = defaultdict(dict)
        query = f"SELECT user_id, domain, attribute_id, tier FROM policies_at('{moment}')"
        for user, domain, line, tier in con.execute(query).fetchall():
            found[user, domain][line] = tier
        assert found == {key: lines for key, lines in skills_at(world, moment).items() if lines}
        query = f"SELECT domain, attribute_id, tier FROM policy_at('person-006', '{moment}')"
        of_one = {
            (domain, *line) for (user, domain), each in found.items() if user == "person-006" for line in each.items()
        }
        assert set(con.execute(query).fetchall()) == of_one


def test_outcomes_are_each_selection_once_with_its_measures(con, world):
    found = con.execute("""
        SELECT ranking_id, item_rank, hit_at_1, hit_at_3, hit_at_5, reciprocal_rank, ndcg_at_3, ndcg_at_5, arm,
               skill_version, version_in_force, nth
        FROM outcomes ORDER BY ranking_id
    """).fetchall()
    versions, nth = defaultdict(list), Counter()
    for diff in world.diffs:
        versions[diff.user_id, diff.domain].append((diff.occurred_at, diff.version))
    wanted = []
    for ranking_id, (ranking, place) in sorted(answered(world).items()):
        nth[ranking.user_id] += 1
        in_force = [v for at, v in versions[ranking.user_id, ranking.domain] if at <= ranking.occurred_at]
        wanted.append(
            (ranking_id, place, place <= 1, place <= 3, place <= 5, 1 / place, ndcg_gain(place, at=3),
             ndcg_gain(place, at=5),
             arm_of(ranking.injected),
             ranking.injected.skill_version, max(in_force, default=0), nth[ranking.user_id])
        )  # fmt: skip
    assert found == wanted


def test_changes_between_versions_are_the_difference_of_two_folds(con, world):
    before, now = skills_at(world, WEEK_5 - timedelta(microseconds=1)), skills_at(world, END)
    came, rose, fell, lost = Counter(), Counter(), Counter(), Counter()
    for key, lines in now.items():
        then = before.get(key, {})
        for line in {*lines, *then}:
            name, was, is_ = (key[1], line), then.get(line), lines.get(line)
            came[name] += was is None
            lost[name] += is_ is None
            if was and is_:
                rose[name] += Tier.parse(is_) > Tier.parse(was)
                fell[name] += Tier.parse(is_) < Tier.parse(was)
    rows = con.execute(f"FROM changed_since('{WEEK_5}')").fetchall()
    assert {(domain, line): tuple(counts) for domain, line, _, *counts in rows} == {
        name: counts
        for name in came
        if any(counts := (came[name], rose[name], fell[name], lost[name]))
    }  # fmt: skip


def test_a_late_event_counts_from_the_version_that_it_follows(tmp_path):
    line = "preference:genre:sf"
    rose = SkillChange(kind="reinforced", attribute_id=line, before=Tier.MEDIUM, after=Tier.HIGH)
    fell = SkillChange(kind="weakened", attribute_id=line, before=Tier.HIGH, after=Tier.MEDIUM)
    log = [
        builders.diff(number).model_copy(update={"occurred_at": builders.at(minute), "changes": changes})
        for number, (minute, changes) in enumerate([(-300, ()), (-20, (rose,)), (-200, (fell,))], start=1)
    ]
    shown = builders.ranking().model_copy(update={"occurred_at": builders.at(-10)})
    with empty_store(tmp_path / "live.duckdb") as store:
        builders.write(builders.derived(store), *log, shown, builders.selection())
        builders.derived(store)
        assert builders.rows(store, "SELECT version_in_force FROM outcomes") == [(3,)]
        assert builders.rows(store, "SELECT tier FROM policies_at('2026-01-01 11:45')") == [("medium",)]
        assert builders.rows(store, "FROM changed_since('2026-01-01 11:00')") == []


def test_why_names_the_choices_behind_a_line(con, world):
    line = "preference:genre:comedy"
    users = {d.user_id for d in world.diffs for c in d.changes if c.attribute_id == line}
    titles = dict(con.execute("SELECT item_id, title FROM items").fetchall())
    for user in sorted(users)[:4]:
        rows = con.execute(
            f"SELECT version, kind, event_id, item_id, title, item_rank FROM why('{user}', '{line}')"
        ).fetchall()
        chosen = {c.event_id: c for c in world.contrasts if c.user_id == user}
        wanted = [
            (d.version, c.kind.value, d.evidence.event_id, d.evidence.item_id,
             titles.get(d.evidence.item_id) if d.trigger else k and k.chosen.title, k and k.chosen_rank)
            for d in world.diffs if d.user_id == user
            for c in d.changes if c.attribute_id == line
            for k in [chosen.get(d.event_id)]
        ]  # fmt: skip
        assert [row for row in rows if row[1] not in ("seeded", "judged")] == wanted
        assert all(row[2:] == (None,) * 4 for row in rows if row[1] == "seeded")


def test_a_models_reasons_are_joined_with_their_effects(con, world):
    asked = [diff for diff in world.diffs if diff.judged]
    wanted = {
        (d.user_id, d.domain, d.version, said.attribute_id): (
            str(said.verdict),
            said.quoted and f"{said.quoted.dimension}: {said.quoted.value}",
            d.analysis,
            next((c.kind.value for c in d.changes if c.attribute_id == said.attribute_id), None),
        )
        for d in asked
        for said in d.judged
    }
    rows = con.execute(
        "SELECT user_id, domain, version, attribute_id, verdict, quoted, analysis, led_to FROM judgements"
    ).fetchall()
    assert {row[:4]: row[4:] for row in rows} == wanted
    assert len(rows) == len(wanted)
    assert {verdict for verdict, *_ in wanted.values()} == {"supports", "unrelated", "contradicts"}
    log = con.execute(
        "SELECT user_id, domain, version, attribute_id, kind, verdict, quoted, analysis FROM policy_log "
        "WHERE model IS NOT NULL"
    ).fetchall()
    assert sum(verdict is not None for *_, verdict, _, _ in log) == sum(
        kind is not None for *_, kind in wanted.values()
    )
    assert all(analysis for *_, analysis in log)


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


def test_derived_tables_do_not_depend_on_batches_or_publications(tmp_path):
    records = [
        record
        for record in build().records
        if record.topic.base.replace("-", "_") in SOURCES and user_of(record) in FEW
    ]
    with empty_store(tmp_path / "whole.duckdb") as store:
        written(store, records)
        publish(store)
        wanted = {name: rows(store, name) for name in DERIVED}
        assert rows(store, "stale_users") == []
    rng = random.Random(1)
    records = rng.sample(records, len(records)) + rng.sample(records, 10)
    with empty_store(tmp_path / "parts.duckdb") as store:
        for start in range(0, len(records), 40):
            written(store, records[start : start + 40])
            if rng.random() < 0.5:
                publish(store)
        publish(store)
        assert {name: rows(store, name) for name in DERIVED} == wanted
        assert all(wanted.values())


def test_rows_unpublished_before_a_kill_are_derived_after_restart(tmp_path):
    records = [record for record in build().records if record.topic.base == "skill-diffs"][:5]
    with empty_store(tmp_path / "live.duckdb") as store:
        written(store, records)
    with DuckDBStore(tmp_path / "live.duckdb", "sager.") as store:
        assert rows(store, "skill_versions") == []
        publish(store)
        assert len(rows(store, "skill_versions")) == 5


def test_a_selection_of_an_unlisted_item_counts_only_without_another(tmp_path):
    with empty_store(tmp_path / "live.duckdb") as store:
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
