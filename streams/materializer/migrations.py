"""Migrates files of an older layout: literal SQL, which never follows the current tables.

It covers structure and rows only: comments, views and macros are rewritten after every migration.
"""

from typing import Final

from streams.materializer.migrations_cards import FROM_6
from streams.materializer.migrations_said import FROM_5

FROM_1: Final = tuple(
    f"ALTER TABLE rankings ADD COLUMN {column}"
    for column in (
        "facets VARCHAR[]",
        "memory_version BIGINT",
        "graph_epoch BIGINT",
        "model VARCHAR",
        "prompt VARCHAR",
        "prompt_hash VARCHAR",
        "llm_calls BIGINT",
        "prompt_tokens BIGINT",
        "completion_tokens BIGINT",
        "repaired BIGINT",
        "fallback VARCHAR",
        "injected VARCHAR",
    )
)
"""What influenced a ranking; older rankings have none of it."""

_CALLS_OF_A_RANKING = """
    INSERT INTO ranking_calls
    SELECT user_id, event_id, part, domain, occurred_at,
           by_whom ->> '$.reasoner', by_whom ->> '$.model', by_whom ->> '$.prompt', by_whom ->> '$.prompt_hash',
           (by_whom ->> '$.calls')::BIGINT, (by_whom ->> '$.prompt_tokens')::BIGINT,
           (by_whom ->> '$.completion_tokens')::BIGINT, (by_whom ->> '$.latency_ms')::BIGINT,
           by_whom ->> '$.fallback', coalesce((by_whom ->> '$.gated')::BOOLEAN, false)
    FROM (
        SELECT user_id, event_id, domain, occurred_at,
               unnest(['rank', 'facets', 'slim']) AS part,
               unnest([injected::JSON -> '$.ranked_by', injected::JSON -> '$.facets_by', injected::JSON -> '$.slim_by'])
                   AS by_whom
        FROM rankings WHERE injected IS NOT NULL
    )
    WHERE by_whom ->> '$.reasoner' IS NOT NULL
"""
_FACETS_OF_A_RANKING = """
    INSERT INTO ranking_facets
    SELECT user_id, event_id, seq, domain, occurred_at,
           facet ->> '$.facet', facet ->> '$.attribute_id', (facet ->> '$.confidence')::DOUBLE,
           from_json(facet -> '$.supporting_neighbors', '["VARCHAR"]')
    FROM (
        SELECT user_id, event_id, domain, occurred_at,
               unnest(from_json(injected::JSON -> '$.facets', '["JSON"]')) AS facet,
               generate_subscripts(from_json(injected::JSON -> '$.facets', '["JSON"]'), 1) AS seq
        FROM rankings WHERE injected IS NOT NULL
    )
"""
FROM_2: Final = (
    "ALTER TABLE rankings ADD COLUMN arm VARCHAR",
    "ALTER TABLE contrasts ADD COLUMN arm VARCHAR",
    "ALTER TABLE skill_diffs ADD COLUMN prompt VARCHAR",
    "ALTER TABLE skill_diffs ADD COLUMN gated BOOLEAN",
    "ALTER TABLE meta ADD COLUMN llm_price_prompt DOUBLE",
    "ALTER TABLE meta ADD COLUMN llm_price_completion DOUBLE",
    "ALTER TABLE meta ADD COLUMN queries VARCHAR",
    """
    CREATE TABLE ranking_facets (
        user_id VARCHAR, event_id VARCHAR, seq BIGINT, domain VARCHAR, occurred_at TIMESTAMP,
        facet VARCHAR, attribute_id VARCHAR, confidence DOUBLE, supporting_neighbors VARCHAR[])
    """,
    """
    CREATE TABLE ranking_calls (
        user_id VARCHAR, event_id VARCHAR, part VARCHAR, domain VARCHAR, occurred_at TIMESTAMP,
        reasoner VARCHAR, model VARCHAR, prompt VARCHAR, prompt_hash VARCHAR,
        calls BIGINT, prompt_tokens BIGINT, completion_tokens BIGINT, latency_ms BIGINT,
        fallback VARCHAR, gated BOOLEAN)
    """,
    """
    CREATE TABLE skill_versions (
        user_id VARCHAR, domain VARCHAR, version BIGINT, event_id VARCHAR, is_contrast BOOLEAN, contrasts BIGINT,
        valid_from TIMESTAMP, valid_to TIMESTAMP)
    """,
    """
    CREATE TABLE skill_history (
        user_id VARCHAR, domain VARCHAR, attribute_id VARCHAR, tier VARCHAR, "before" VARCHAR, became_by VARCHAR,
        from_version BIGINT, valid_from TIMESTAMP, to_version BIGINT, valid_to TIMESTAMP)
    """,
    "DROP VIEW outcomes",
    """
    CREATE TABLE outcomes (
        user_id VARCHAR, domain VARCHAR, ranking_id VARCHAR, ranked_at TIMESTAMP, selected_at TIMESTAMP, nth BIGINT,
        item_id VARCHAR, item_rank BIGINT, candidates BIGINT, hit_at_1 BOOLEAN, hit_at_3 BOOLEAN, hit_at_5 BOOLEAN,
        reciprocal_rank DOUBLE, ndcg_at_3 DOUBLE, ndcg_at_5 DOUBLE, arm VARCHAR, ranked_by VARCHAR, reasoner VARCHAR,
        skill_version BIGINT, version_in_force BIGINT)
    """,
    "CREATE TABLE stale_users (user_id VARCHAR)",
    _FACETS_OF_A_RANKING,
    _CALLS_OF_A_RANKING,
    """
    UPDATE rankings SET arm =
        CASE WHEN slim_skill = '' THEN 'no-skill' WHEN skill_version > 0 THEN 'evolved' ELSE 'prior' END
    """,
    """
    UPDATE contrasts SET arm = rankings.arm FROM rankings
    WHERE rankings.user_id = contrasts.user_id AND rankings.ranking_id = contrasts.ranking_id
    """,
    """
    UPDATE skill_diffs SET prompt = document::JSON ->> '$.reasoned_by.prompt',
        gated = coalesce((document::JSON ->> '$.reasoned_by.gated')::BOOLEAN, false)
    """,
)
"""Facets and calls of rankings as rows of their own, arms, and prices. Filled in from the stored JSON; derived
tables follow at the next publication."""

FROM_3: Final = (
    "ALTER TABLE skill_diffs ADD COLUMN by_person BIGINT",
    "ALTER TABLE skill_diffs ADD COLUMN frozen BOOLEAN",
    "ALTER TABLE skill_diffs ADD COLUMN rolled_back_to BIGINT",
    "ALTER TABLE skill_diffs ADD COLUMN rewritten BIGINT",
    "ALTER TABLE skill_diffs ADD COLUMN chain VARCHAR",
    "UPDATE skill_diffs SET by_person = 0, rewritten = 0",
    "ALTER TABLE skills ADD COLUMN frozen BOOLEAN",
    "UPDATE skills SET frozen = false",
    "ALTER TABLE skill_commands ADD COLUMN value VARCHAR",
    "ALTER TABLE skill_commands ADD COLUMN tier VARCHAR",
    "ALTER TABLE skill_commands ADD COLUMN to_version BIGINT",
    "ALTER TABLE meta ADD COLUMN is_stained BOOLEAN",
    "ALTER TABLE meta ADD COLUMN cleaned_by VARCHAR",
    "ALTER TABLE slim_skills ADD COLUMN seal VARCHAR",
    """
    CREATE TABLE receipts (
        subject VARCHAR, forgotten_until TIMESTAMP, actor VARCHAR, domains BIGINT, lines BIGINT, done BOOLEAN,
        event_id VARCHAR, occurred_at TIMESTAMP, document VARCHAR,
        logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (subject))
    """,
)
"""What people do to their skills, seals, and receipts of what was forgotten."""

FROM_3_SHADOW: Final = (
    """
    CREATE TABLE shadow_outcomes (
        user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, arm VARCHAR, ranking_id VARCHAR,
        candidates BIGINT, live_rank BIGINT, shadow_rank BIGINT, live_version BIGINT, shadow_version BIGINT,
        live_contrasts BIGINT, shadow_contrasts BIGINT, logged_at TIMESTAMP, kafka_partition INTEGER,
        kafka_offset BIGINT, PRIMARY KEY (user_id, event_id))
    """,
)
"""How shadow arms ranked."""

_COUNTS_OF_LINES = """
    UPDATE skill_attributes t SET taken = coalesce((line ->> '$.taken')::BIGINT, 0) / 1024,
        expected = coalesce((line ->> '$.expected')::BIGINT, 0) / 1024,
        gained = coalesce((line ->> '$.gained')::BIGINT, 0) / 1024
    FROM (
        SELECT user_id, domain, unnest(from_json(document::JSON -> '$.attributes', '["JSON"]')) AS line FROM skills
    ) s
    WHERE s.user_id = t.user_id AND s.domain = t.domain AND line ->> '$.attribute_id' = t.attribute_id
"""
_SILENT_LINES = """
    UPDATE skills s SET silent = (
        SELECT count(*) FROM skill_attributes t
        WHERE t.user_id = s.user_id AND t.domain = s.domain AND t.tier = 'silent')
"""
_COUNTS_OF_A_SEED = """
    UPDATE skill_changes c SET taken = coalesce((line ->> '$.taken')::BIGINT, 0) / 1024,
        expected = coalesce((line ->> '$.expected')::BIGINT, 0) / 1024
    FROM (
        SELECT user_id, domain, version, unnest(from_json(document::JSON -> '$.seed', '["JSON"]')) AS line
        FROM skill_diffs
    ) s
    WHERE s.user_id = c.user_id AND s.domain = c.domain AND s.version = c.version
      AND c.kind = 'seeded' AND line ->> '$.attribute_id' = c.attribute_id
"""
_COUNTS_OF_CHANGES = """
    UPDATE skill_changes c SET taken = counts[1] / 1024, expected = counts[2] / 1024
    FROM (
        SELECT user_id, domain, version, seeds + seq AS seq,
               CASE WHEN change ->> '$.discovered.attribute_id' IS NOT NULL
                    THEN [coalesce((change ->> '$.discovered.taken')::BIGINT, 0),
                          coalesce((change ->> '$.discovered.expected')::BIGINT, 0)]
                    WHEN change ->> '$.counts' IS NOT NULL THEN from_json(change -> '$.counts', '["BIGINT"]')
                    WHEN lines IS NOT NULL THEN coalesce(lines[change ->> '$.attribute_id'], [0, 0])
               END AS counts
        FROM (
            SELECT user_id, domain, version, coalesce(json_array_length(document::JSON -> '$.seed'), 0) AS seeds,
                   unnest(from_json(document::JSON -> '$.changes', '["JSON"]')) AS change,
                   generate_subscripts(from_json(document::JSON -> '$.changes', '["JSON"]'), 1) AS seq,
                   from_json(document::JSON -> '$.tally.lines', '"MAP(VARCHAR, BIGINT[])"') AS lines
            FROM skill_diffs
        )
    ) s
    WHERE s.user_id = c.user_id AND s.domain = c.domain AND s.version = c.version AND s.seq = c.seq
      AND counts IS NOT NULL
"""
_PLACES_OF_LINES = """
    INSERT INTO skill_places
    SELECT user_id, domain, version, place.key, place.value / 1024, event_id, occurred_at
    FROM (
        SELECT user_id, domain, version, event_id, occurred_at,
               unnest(map_entries(from_json(document::JSON -> '$.tally.places', '"MAP(VARCHAR, BIGINT)"'))) AS place
        FROM skill_diffs
    )
"""
FROM_4: Final = (
    "ALTER TABLE skill_attributes ADD COLUMN taken DOUBLE",
    "ALTER TABLE skill_attributes ADD COLUMN expected DOUBLE",
    "ALTER TABLE skill_attributes ADD COLUMN gained DOUBLE",
    "ALTER TABLE skills DROP COLUMN exploration",
    "ALTER TABLE skills ADD COLUMN silent BIGINT",
    "ALTER TABLE skill_changes ADD COLUMN taken DOUBLE",
    "ALTER TABLE skill_changes ADD COLUMN expected DOUBLE",
    """
    CREATE TABLE skill_places (
        user_id VARCHAR, domain VARCHAR, version BIGINT, attribute_id VARCHAR, places DOUBLE, event_id VARCHAR,
        occurred_at TIMESTAMP)
    """,
    _COUNTS_OF_LINES,
    _SILENT_LINES,
    _COUNTS_OF_A_SEED,
    _COUNTS_OF_CHANGES,
    _PLACES_OF_LINES,
)
"""Counts of lines and what they did to the places of what was taken, from the stored JSON. A worker may have written
counts before the materializer knew of them."""

FROM_4_WEIGHTS: Final = (
    """
    CREATE TABLE weights (
        domain VARCHAR, version BIGINT, choices BIGINT, frozen BOOLEAN, event_id VARCHAR, updated_at TIMESTAMP,
        document VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (domain))
    """,
)
"""What counts how much in rankings."""

MIGRATIONS: Final = {
    1: FROM_1,
    2: FROM_2,
    3: (*FROM_3, *FROM_3_SHADOW),
    4: (*FROM_4, *FROM_4_WEIGHTS),
    5: FROM_5,
    6: FROM_6,
}
"""The statements that migrate a layout to the next one, by layout."""
