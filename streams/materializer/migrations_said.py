"""Migrates files of layout 5: what people say, in which session, and what came of it. Literal SQL, as in `migrations`.

A worker may have written statements and sessions before the materializer knew of them: those are in the stored JSON.
What a ranking says of itself was not kept.
"""

from typing import Final

_SUBJECT = "stance VARCHAR, dimension VARCHAR, value VARCHAR, over VARCHAR, item_id VARCHAR, measure VARCHAR"
_STATEMENT = """
    stance VARCHAR, attribute_id VARCHAR, dimension VARCHAR, value VARCHAR, over VARCHAR, item_id VARCHAR,
    measure VARCHAR, above DOUBLE, below DOUBLE, words VARCHAR, scope VARCHAR, session_id VARCHAR, said_at TIMESTAMP,
    until TIMESTAMP, since BIGINT, times BIGINT, evidence_event_id VARCHAR, evidence_item_id VARCHAR
"""
_PROVENANCE = "logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (user_id, event_id)"
_STATED = """
    said ->> '$.stance', said ->> '$.attribute_id', said ->> '$.dimension', said ->> '$.value', said ->> '$.over',
    said ->> '$.item_id', said ->> '$.bound.measure', (said ->> '$.bound.above')::DOUBLE,
    (said ->> '$.bound.below')::DOUBLE, said ->> '$.words', said ->> '$.scope', said ->> '$.session_id',
    rtrim(said ->> '$.said_at', 'Z')::TIMESTAMP, rtrim(said ->> '$.until', 'Z')::TIMESTAMP,
    (said ->> '$.since')::BIGINT, (said ->> '$.times')::BIGINT, said ->> '$.evidence.event_id',
    said ->> '$.evidence.item_id'
"""
_TABLES = (
    f"""
    CREATE TABLE feedback (
        user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, item_id VARCHAR, title VARCHAR,
        signal VARCHAR, value DOUBLE, scale_worst DOUBLE, scale_best DOUBLE, ranking_id VARCHAR, session_id VARCHAR,
        {_PROVENANCE})
    """,
    f"""
    CREATE TABLE corrections (
        user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, text VARCHAR, language VARCHAR,
        item_ids VARCHAR[], item_id VARCHAR, suits VARCHAR[], scope VARCHAR, answers VARCHAR, ranking_id VARCHAR,
        session_id VARCHAR, {_PROVENANCE})
    """,
    f"""
    CREATE TABLE correction_directives (
        user_id VARCHAR, event_id VARCHAR, seq BIGINT, domain VARCHAR, occurred_at TIMESTAMP, {_SUBJECT},
        above DOUBLE, below DOUBLE, changed BOOLEAN)
    """,
    f"""
    CREATE TABLE abstentions (
        user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, ranking_id VARCHAR,
        instruction VARCHAR, item_ids VARCHAR[], skill_version BIGINT, arm VARCHAR, session_id VARCHAR, {_PROVENANCE})
    """,
    f"""
    CREATE TABLE statements (
        user_id VARCHAR, domain VARCHAR, version BIGINT, place BIGINT, statement_id VARCHAR, {_STATEMENT},
        doubtful BOOLEAN)
    """,
    f"""
    CREATE TABLE statement_changes (
        user_id VARCHAR, domain VARCHAR, version BIGINT, seq BIGINT, kind VARCHAR, statement_id VARCHAR,
        reason VARCHAR, {_STATEMENT}, event_id VARCHAR, occurred_at TIMESTAMP)
    """,
    """
    CREATE TABLE skill_sessions (
        user_id VARCHAR, domain VARCHAR, version BIGINT, place BIGINT, session_id VARCHAR, last_at TIMESTAMP,
        until TIMESTAMP, events BIGINT)
    """,
    """
    CREATE TABLE session_lines (
        user_id VARCHAR, domain VARCHAR, version BIGINT, session_id VARCHAR, attribute_id VARCHAR, dimension VARCHAR,
        value VARCHAR, taken DOUBLE, expected DOUBLE)
    """,
)
_COLUMNS = tuple(
    f"ALTER TABLE {table} ADD COLUMN {column}"
    for table, columns in {
        "rank_requests": ("clarify BOOLEAN", "session_id VARCHAR"),
        "rankings": (
            "session_id VARCHAR",
            "chances DOUBLE[]",
            "nothing DOUBLE",
            "suits BOOLEAN",
            "honoured VARCHAR[]",
            "question_id VARCHAR",
            "question_dimension VARCHAR",
            "question VARCHAR",
        ),
        "selections": ("others VARCHAR[]", "in_order BOOLEAN", "none_taken BOOLEAN", "session_id VARCHAR"),
        "contrasts": ("also_item_ids VARCHAR[]", "in_order BOOLEAN", "session_id VARCHAR"),
        "skill_diffs": (
            "heard VARCHAR",
            "understood BOOLEAN",
            "words VARCHAR",
            "value DOUBLE",
            "by_pattern VARCHAR",
            "taste_changed BOOLEAN",
            "statements BIGINT",
            "shifted BIGINT",
            "faded BIGINT",
            "session_id VARCHAR",
        ),
        "skill_attributes": ("drift DOUBLE",),
        "skills": ("statements BIGINT", "shifted BIGINT"),
        "slim_skills": (
            "avoids VARCHAR[]",
            "session_id VARCHAR",
            "session_until TIMESTAMP",
            "now VARCHAR[]",
            "session_text VARCHAR",
        ),
    }.items()
    for column in columns
)
_DEFAULTS = (
    "UPDATE rank_requests SET clarify = false",
    "UPDATE rankings SET chances = [], honoured = CASE WHEN injected IS NOT NULL THEN [] END",
    "UPDATE selections SET others = [], in_order = false, none_taken = false",
    "UPDATE contrasts SET also_item_ids = [], in_order = false",
    "UPDATE slim_skills SET avoids = [], now = [], session_text = ''",
)
_STATEMENTS_OF_A_SKILL = f"""
    INSERT INTO statements
    SELECT user_id, domain, version, place, said ->> '$.statement_id', {_STATED},
           (said ->> '$.since')::BIGINT < shifted
    FROM (
        SELECT user_id, domain, version, coalesce((document::JSON ->> '$.shifted')::BIGINT, 0) AS shifted,
               unnest(from_json(document::JSON -> '$.stated', '["JSON"]')) AS said,
               generate_subscripts(from_json(document::JSON -> '$.stated', '["JSON"]'), 1) AS place
        FROM skills
    )
"""  # noqa: S608 - no value of anybody's is in it  # nosec B608
_SESSIONS_OF_A_SKILL = """
    INSERT INTO skill_sessions
    SELECT user_id, domain, version, place, held ->> '$.session_id', rtrim(held ->> '$.last_at', 'Z')::TIMESTAMP,
           rtrim(held ->> '$.until', 'Z')::TIMESTAMP, coalesce((held ->> '$.events')::BIGINT, 0)
    FROM (
        SELECT user_id, domain, version, unnest(from_json(document::JSON -> '$.sessions', '["JSON"]')) AS held,
               generate_subscripts(from_json(document::JSON -> '$.sessions', '["JSON"]'), 1) AS place
        FROM skills
    )
"""
_LINES_OF_A_SESSION = """
    INSERT INTO session_lines
    SELECT user_id, domain, version, session_id, line ->> '$.attribute_id', line ->> '$.dimension',
           line ->> '$.value', coalesce((line ->> '$.taken')::BIGINT, 0) / 1024,
           coalesce((line ->> '$.expected')::BIGINT, 0) / 1024
    FROM (
        SELECT user_id, domain, version, held ->> '$.session_id' AS session_id,
               unnest(from_json(held -> '$.lines', '["JSON"]')) AS line
        FROM (
            SELECT user_id, domain, version, unnest(from_json(document::JSON -> '$.sessions', '["JSON"]')) AS held
            FROM skills
        )
    )
"""
_CHANGES_OF_A_DIFF = f"""
    INSERT INTO statement_changes
    SELECT user_id, domain, version, seq, change ->> '$.kind', change ->> '$.statement_id',
           coalesce(change ->> '$.reason', ''), {_STATED}, event_id, occurred_at
    FROM (
        SELECT user_id, domain, version, event_id, occurred_at, seq, change, change -> '$.statement' AS said
        FROM (
            SELECT user_id, domain, version, event_id, occurred_at,
                   unnest(from_json(document::JSON -> '$.stated', '["JSON"]')) AS change,
                   generate_subscripts(from_json(document::JSON -> '$.stated', '["JSON"]'), 1) AS seq
            FROM skill_diffs
        )
    )
"""  # noqa: S608 - no value of anybody's is in it  # nosec B608
_OF_A_SKILL = """
    UPDATE skills SET shifted = coalesce((document::JSON ->> '$.shifted')::BIGINT, 0),
        statements = coalesce(json_array_length(document::JSON -> '$.stated'), 0)
"""
_OF_A_DIFF = """
    UPDATE skill_diffs d SET heard = document::JSON ->> '$.heard.what',
        understood = (document::JSON ->> '$.heard.understood')::BOOLEAN,
        words = CASE WHEN document::JSON ->> '$.heard.what' IS NOT NULL
                     THEN coalesce(document::JSON ->> '$.heard.words', '') END,
        value = (document::JSON ->> '$.heard.value')::DOUBLE,
        by_pattern = CASE WHEN document::JSON ->> '$.heard.what' IS NOT NULL
                          THEN coalesce(document::JSON ->> '$.heard.by_pattern', '') END,
        taste_changed = coalesce((document::JSON ->> '$.shifted')::BOOLEAN, false),
        statements = coalesce(json_array_length(document::JSON -> '$.stated'), 0),
        session_id = document::JSON ->> '$.session.session_id',
        shifted = (
            SELECT count(*) FROM skill_changes c WHERE c.user_id = d.user_id AND c.domain = d.domain
            AND c.version = d.version AND c.kind = 'shifted'),
        faded = (
            SELECT count(*) FROM skill_changes c WHERE c.user_id = d.user_id AND c.domain = d.domain
            AND c.version = d.version AND c.kind = 'faded')
"""
_DRIFT_OF_LINES = """
    UPDATE skill_attributes t SET drift = coalesce((line ->> '$.drift')::BIGINT, 0) / 1024
    FROM (
        SELECT user_id, domain, unnest(from_json(document::JSON -> '$.attributes', '["JSON"]')) AS line FROM skills
    ) s
    WHERE s.user_id = t.user_id AND s.domain = t.domain AND line ->> '$.attribute_id' = t.attribute_id
"""
FROM_5: Final = (
    *_TABLES,
    *_COLUMNS,
    *_DEFAULTS,
    _STATEMENTS_OF_A_SKILL,
    _SESSIONS_OF_A_SKILL,
    _LINES_OF_A_SESSION,
    _CHANGES_OF_A_DIFF,
    _OF_A_SKILL,
    _OF_A_DIFF,
    _DRIFT_OF_LINES,
)
"""Feedback, corrections, abstentions; statements and sessions; several picks; how well a ranking suits."""
