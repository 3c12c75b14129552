"""Fills the file of `benchmarks.analytics`: half a year of synthetic users in bulk, and the events that follow.

DuckDB generates the bulk itself, with the columns that `Store` would have written, because Kafka and decoding are not
measured. Later events take the whole path: events, records, rows, transactions.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

import duckdb

from operators.seals import sealed
from schemas import (
    Attribute,
    Candidate,
    Change,
    ChangeKind,
    Contrast,
    Event,
    Evidence,
    Facet,
    Injected,
    ItemFacts,
    Kind,
    PolicySkill,
    RankedBy,
    Ranking,
    ReasonedBy,
    Selection,
    SkillDiff,
    SlimSkill,
    Source,
    Tier,
)

CANDIDATES, LINES, SEEDED = 10, 14, 8
ROWS_PER_CHOICE = 1 + 2 + 1 + 1 + 1 + 1 + 3 + 1 + LINES + 1
"""Ranking, facets, call, selection, contrast, diff, changes, skill, attributes, slim skill."""
RECORDS_PER_CHOICE = 6

_EVENTS = """
    CREATE TEMP TABLE events AS
    SELECT i, 'user-' || lpad((i % $users)::VARCHAR, 8, '0') AS user_id,
           if(i % $users % 2 = 0, 'books', 'films') AS domain, i // $users + 1 AS version,
           'c-' || i AS event_id, 'r-' || i AS ranking_id,
           TIMESTAMP '2026-01-05' + to_microseconds((i * 26 * 7 * 86400e6 / $diffs)::BIGINT) AS occurred_at,
           [('item-' || hash(i * 10 + k) % 20000) FOR k IN range(10)] AS item_ids,
           1 + floor(10 * pow((hash(i) % 1000) / 1000, 1.5 + least(version, 20) / 20))::INT AS place,
           CASE WHEN hash(i, 1) % 4 = 0 THEN 'no-skill' WHEN version = 1 THEN 'prior' ELSE 'evolved' END AS arm,
           hash(i, 2) % 20 = 0 AS by_llm,
           occurred_at + INTERVAL 41 SECOND AS logged_at, 0 AS kafka_partition, i AS kafka_offset
    FROM range($diffs) t(i)
"""
_LINE = "CREATE TEMP MACRO line_of(who, n) AS 'preference:genre:g' || hash(who, n) % 300"
_BULK = (
    """
    INSERT INTO rankings BY NAME
    SELECT * EXCLUDE (i, version, place, by_llm), '' AS instruction, 'sager' AS ranked_by,
           if(arm = 'no-skill', 0, version - 1) AS skill_version,
           if(arm = 'no-skill', '', 'likes: g1, g2, g3 | style: prefers g4') AS slim_skill,
           'deterministic' AS reasoner, ['drawn to g1', 'drawn to g2'] AS facets, 1 AS memory_version, 1 AS graph_epoch,
           0 AS llm_calls, 0 AS prompt_tokens, 0 AS completion_tokens, 0 AS repaired,
           '{"skill_version": ' || version || ', "facets": [{"facet": "drawn to g1", "confidence": 0.4}, '
           '{"facet": "drawn to g2", "confidence": 0.3}], "ranked_by": {"reasoner": "deterministic"}}' AS injected
    FROM events
    """,
    """
    INSERT INTO ranking_facets BY NAME
    SELECT user_id, event_id, domain, occurred_at, seq, 'drawn to g' || hash(i, seq) % 300 AS facet,
           'preference:genre:g' || hash(i, seq) % 300 AS attribute_id, 0.3 AS confidence, [] AS supporting_neighbors
    FROM events, range(1, 3) s(seq)
    """,
    """
    INSERT INTO ranking_calls BY NAME
    SELECT user_id, event_id, domain, occurred_at, 'rank' AS part, 'deterministic' AS reasoner, 0 AS calls,
           0 AS prompt_tokens, 0 AS completion_tokens, 0 AS latency_ms, false AS gated FROM events
    """,
    """
    INSERT INTO selections BY NAME
    SELECT user_id, 's-' || i AS event_id, occurred_at + INTERVAL 40 SECOND AS occurred_at, ranking_id,
           item_ids[place] AS item_id, logged_at, kafka_partition, kafka_offset FROM events
    """,
    """
    INSERT INTO contrasts BY NAME
    SELECT user_id, event_id, occurred_at + INTERVAL 40 SECOND AS occurred_at, domain, ranking_id,
           '' AS instruction, item_ids[place] AS chosen_item_id,
           'Title of ' || item_ids[place] AS chosen_title, place AS chosen_rank, item_ids[:9] AS unchosen_item_ids,
           version - 1 AS skill_version, arm, logged_at, kafka_partition, kafka_offset FROM events
    """,
    """
    INSERT INTO skill_diffs BY NAME
    SELECT user_id, domain, version, version - 1 AS base_version, event_id,
           occurred_at + INTERVAL 40 SECOND AS occurred_at, true AS is_contrast,
           event_id AS evidence_event_id, item_ids[place] AS evidence_item_id,
           if(by_llm, 'llm', 'rules') AS reasoner, if(by_llm, 'small-model', NULL) AS model,
           if(by_llm, 900 + i % 300, 0) AS prompt_tokens, if(by_llm, 80 + i % 50, 0) AS completion_tokens,
           by_llm::INT AS calls, if(by_llm, 1500, 0) AS latency_ms,
           if(version = 1, 8, 0) AS seeded, 1 AS reinforced, 1 AS discovered, 1 AS weakened, 0 AS removed, 0 AS evicted,
           0 AS pinned, 0 AS unpinned, 0 AS refused, '' AS analysis, false AS gated,
           '{"event_id": "' || event_id || '", "user_id": "' || user_id || '", "changes": "' || hash(i) || hash(i, 3)
           || repeat(' and so on', 40) || '"}' AS document,
           logged_at, kafka_partition, kafka_offset
    FROM events
    """,
    """
    INSERT INTO skill_changes BY NAME
    SELECT user_id, domain, version, seq, event_id, occurred_at + INTERVAL 40 SECOND AS occurred_at, '' AS reason,
           CASE WHEN seq <= seeds THEN 'seeded'
                ELSE ['reinforced', 'discovered', 'weakened'][(seq - seeds)::INT] END AS kind,
           CASE WHEN seq <= seeds THEN line_of(user_id, seq)
                ELSE [line_of(user_id, version % 8 + 1), line_of(user_id, version + 8),
                      line_of(user_id, version * 3 % 8 + 1)][(seq - seeds)::INT] END AS attribute_id,
           CASE WHEN seq <= seeds THEN NULL ELSE ['medium', NULL, 'high'][(seq - seeds)::INT] END AS before,
           CASE WHEN seq <= seeds THEN 'medium' ELSE ['high', 'low', 'medium'][(seq - seeds)::INT] END AS after
    FROM (SELECT *, if(version = 1, 8, 0) AS seeds FROM events), range(1, 12) s(seq)
    WHERE seq <= seeds + 3
    """,
    """
    INSERT INTO skills BY NAME
    SELECT user_id, domain, version, version AS contrasts, 14 AS attributes, 4 AS high, 4 AS medium, 6 AS low,
           event_id, occurred_at AS updated_at, repeat('a document ', 60) AS document,
           logged_at, kafka_partition, kafka_offset
    FROM events QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY version DESC) = 1
    """,
    """
    INSERT INTO skill_attributes BY NAME
    SELECT user_id, domain, version, place, line_of(user_id, place) AS attribute_id, 'preference' AS kind,
           'genre' AS dimension, 'g' AS value, ['low', 'medium', 'high'][(place % 3 + 1)::INT] AS tier,
           if(place > 8, 'discovered', 'prior') AS source, 3 AS support, 0 AS contradictions, version AS confirmed_at,
           false AS pinned, [] AS evidence_event_ids
    FROM skills, range(1, 15) p(place)
    """,
    """
    INSERT INTO slim_skills BY NAME
    SELECT user_id, domain, version AS skill_version, 'likes: g1, g2, g3 | style: prefers g4' AS text,
           12 + hash(user_id) % 15 AS tokens, event_id, updated_at, logged_at, kafka_partition, kafka_offset
    FROM skills
    """,
    """
    INSERT INTO items BY NAME
    SELECT 'item-' || n AS item_id, 'books' AS domain, 'Title of item-' || n AS title, '{}' AS metadata,
           'i-' || n AS event_id, TIMESTAMP '2026-01-01' AS occurred_at FROM range(20000) t(n)
    """,
)


def fill(con: duckdb.DuckDBPyConnection, users: int, diffs: int) -> None:
    """Inserts this many users and diffs, with all that belongs to them, into the tables of a fresh file."""
    con.execute("BEGIN")
    con.execute(_LINE).fetchall()
    con.execute(_EVENTS, {"users": users, "diffs": diffs}).fetchall()
    for statement in _BULK:
        con.execute(statement).fetchall()
    con.execute("DROP TABLE events")
    con.execute("DROP MACRO line_of")
    con.execute("COMMIT")


def choices(users: int, version: int) -> Iterator[list[Event]]:
    """The events after the bulk: one choice after another, user by user, with a list of events for each."""
    lines = tuple(
        Attribute(
            attribute_id=f"preference:genre:g{n}",
            kind=Kind.PREFERENCE,
            dimension="genre",
            value=f"g{n}",
            tier=Tier(n % 3 + 1),
            source=Source.PRIOR,
        )
        for n in range(LINES)
    )
    candidates = tuple(Candidate(item_id=f"item-{n}", title=f"Title of item-{n}") for n in range(CANDIDATES))
    facets = tuple(Facet(facet=f"drawn to g{n}", confidence=0.4, attribute_id=f"preference:genre:g{n}") for n in (1, 2))
    changes = (
        Change(kind=ChangeKind.REINFORCED, attribute_id="preference:genre:g1", before=Tier.MEDIUM, after=Tier.HIGH),
        Change(kind=ChangeKind.REINFORCED, attribute_id="preference:genre:g2", before=Tier.LOW, after=Tier.MEDIUM),
        Change(kind=ChangeKind.WEAKENED, attribute_id="preference:genre:g5", before=Tier.HIGH, after=Tier.MEDIUM),
    )
    number = 0
    while True:
        user = number % users
        version += user == 0
        number += 1
        who = {"user_id": f"user-{user:08}", "domain": "films" if user % 2 else "books"}
        common = {**who, "occurred_at": datetime.now(UTC)}
        name = f"live-{version}-{number}"
        told = Injected(
            skill_version=version - 1,
            slim_skill="likes: g1",
            reasoner="deterministic",
            facets=facets,
            ranked_by=ReasonedBy(reasoner="deterministic"),
        )
        diff = SkillDiff(
            event_id=f"c-{name}",
            base_version=version - 1,
            version=version,
            changes=changes,
            evidence=Evidence(event_id=f"c-{name}", item_id="item-1"),
            **common,
        )
        yield [
            sealed(
                Ranking(
                    event_id=f"rank-{name}",
                    ranking_id=name,
                    candidates=candidates,
                    ranked_by=RankedBy.SAGER,
                    injected=told,
                    **common,
                )
            ),
            Selection(
                event_id=f"s-{name}",
                occurred_at=common["occurred_at"],
                user_id=who["user_id"],
                ranking_id=name,
                item_id="item-1",
            ),
            Contrast(
                event_id=f"c-{name}",
                ranking_id=name,
                chosen=ItemFacts(item_id="item-1"),
                chosen_rank=2,
                unchosen=tuple(ItemFacts(item_id=c.item_id) for c in candidates if c.item_id != "item-1"),
                **common,
            ),
            diff,
            PolicySkill(
                event_id=f"c-{name}",
                version=version,
                contrasts=version,
                attributes=lines,
                last_diff=diff,
                **common,
            ),
            SlimSkill(event_id=f"c-{name}", skill_version=version, text="likes: g1", tokens=4, **common),
        ]
