-- One row per line that a model judged: its verdict (supports, unrelated, contradicts), the fact of the chosen item that
-- it quoted, its analysis of the choice, and the change of the line; null where it stayed as it was.
CREATE VIEW judgements AS
SELECT d.user_id, d.domain, d.version, d.occurred_at, d.event_id, d.evidence_item_id, d.model, d.prompt, d.prompt_hash,
       j.said ->> '$.attribute_id' AS attribute_id, j.said ->> '$.verdict' AS verdict,
       (j.said ->> '$.quoted.dimension') || ': ' || (j.said ->> '$.quoted.value') AS quoted,
       d.analysis, c.kind AS led_to, c.before, c.after
FROM skill_diffs d,
     LATERAL (SELECT unnest(from_json(d.document::JSON -> '$.judged', '["JSON"]')) AS said) j
LEFT JOIN skill_changes c
    ON c.user_id = d.user_id AND c.domain = d.domain AND c.version = d.version
    AND c.attribute_id = j.said ->> '$.attribute_id' AND c.kind <> 'seeded'
WHERE d.calls > 0;

-- One row per change of a skill, with the event and the reasoner behind it; versions without changes too. From a model:
-- its analysis of the choice, its verdict on the line, and the fact that it quoted. Without a choice: the signal,
-- correction or abstention behind it, and the person's words. Their statements are in statement_changes.
CREATE VIEW policy_log AS
SELECT d.user_id, d.domain, d.version, d.occurred_at, c.seq, c.kind, c.attribute_id, c.before, c.after,
       c.reason, c.taken, c.expected, d.reasoner, d.model, d.event_id, d.evidence_item_id, d.analysis, j.verdict,
       j.quoted, d.heard, d.words
FROM skill_diffs d LEFT JOIN skill_changes c USING (user_id, domain, version)
LEFT JOIN judgements j
    ON j.user_id = d.user_id AND j.domain = d.domain AND j.version = d.version
    AND j.attribute_id = c.attribute_id AND j.led_to = c.kind;

-- Per domain and nth selection of a user: how high the selected items ranked, over all users.
CREATE VIEW learning_curve AS
SELECT domain, nth, count(*) AS users, avg(hit_at_1::INT) AS hit_at_1, avg(hit_at_3::INT) AS hit_at_3,
       avg(hit_at_5::INT) AS hit_at_5, avg(ndcg_at_5) AS ndcg_at_5, avg(reciprocal_rank) AS mean_reciprocal_rank
FROM outcomes
GROUP BY domain, nth;

-- Per week, domain and arm: how high the selected items ranked. Arms compare only if users were assigned at random.
CREATE VIEW arm_results AS
SELECT date_trunc('week', ranked_at)::DATE AS week, domain, arm, count(DISTINCT user_id) AS users, count(*) AS choices,
       avg(hit_at_1::INT) AS hit_at_1, avg(hit_at_3::INT) AS hit_at_3, avg(hit_at_5::INT) AS hit_at_5,
       avg(ndcg_at_3) AS ndcg_at_3, avg(ndcg_at_5) AS ndcg_at_5, avg(reciprocal_rank) AS mean_reciprocal_rank
FROM outcomes
GROUP BY ALL;

-- Every LLM call, and every call that a fallback answered instead: its part (evolve, listen, rank,
-- facets, slim, global-skill), with tokens, time and dollars at the prices in meta.
CREATE VIEW llm_calls AS
WITH every AS (
    SELECT 'evolve' AS part, user_id, domain, event_id, occurred_at, reasoner, model, prompt, prompt_hash,
           calls, prompt_tokens, completion_tokens, latency_ms, fallback
    FROM skill_diffs
    UNION ALL BY NAME
    SELECT part, user_id, domain, event_id, occurred_at, reasoner, model, prompt, prompt_hash,
           calls, prompt_tokens, completion_tokens, latency_ms, fallback
    FROM ranking_calls
    UNION ALL BY NAME
    SELECT 'listen' AS part, user_id, event_id, occurred_at, reasoner, model, prompt, prompt_hash,
           calls, prompt_tokens, completion_tokens, latency_ms, fallback
    FROM card_diffs
    UNION ALL BY NAME
    SELECT 'global-skill' AS part, domain, event_id, updated_at AS occurred_at,
           unnest(from_json(document::JSON -> '$.reasoned_by',
               '{"reasoner": "VARCHAR", "model": "VARCHAR", "prompt": "VARCHAR", "prompt_hash": "VARCHAR",
                 "calls": "BIGINT", "prompt_tokens": "BIGINT", "completion_tokens": "BIGINT", "latency_ms": "BIGINT",
                 "fallback": "VARCHAR"}'))
    FROM global_skills
)
SELECT every.*,
       (prompt_tokens * meta.llm_price_prompt + completion_tokens * meta.llm_price_completion) / 1e6 AS cost_dollars
FROM every CROSS JOIN meta
WHERE calls > 0 OR fallback IS NOT NULL;

-- Ready for a Sankey diagram: per week and domain, how many lines moved from tier source to tier target.
CREATE VIEW tier_flow AS
SELECT date_trunc('week', occurred_at)::DATE AS week, domain, 'was ' || coalesce(before, 'new') AS source,
       'is ' || coalesce(after, 'gone') AS target, count(*) AS value
FROM skill_changes
WHERE before IS DISTINCT FROM after
GROUP BY ALL;

-- Per week and domain: how many lines a choice reinforces, discovers and weakens on average, how many proposals the
-- merge refuses, and the share of choices that change nothing.
CREATE VIEW skill_change_rates AS
SELECT date_trunc('week', occurred_at)::DATE AS week, domain, count(*) AS choices,
       avg(reinforced) AS reinforced, avg(discovered) AS discovered, avg(weakened) AS weakened, avg(evicted) AS evicted,
       avg(refused) AS refused,
       avg((reinforced + discovered + weakened + removed + evicted = 0)::INT) AS share_without_change
FROM skill_diffs
WHERE is_contrast
GROUP BY ALL;

-- Per domain and attribute: how many current skills hold it, at which tier, and their share of all skills. Silent lines
-- are not counted.
CREATE VIEW attribute_adoption AS
SELECT domain, attribute_id, any_value(kind) AS kind, any_value(dimension) AS dimension, any_value(value) AS value,
       count(*) AS users, count(*) FILTER (tier = 'high') AS high, count(*) FILTER (tier = 'medium') AS medium,
       count(*) FILTER (tier = 'low') AS low, count(*) FILTER (source = 'discovered') AS discovered,
       count(*) / any_value(skills) AS share
FROM skill_attributes JOIN (SELECT domain, count(*) AS skills FROM skills GROUP BY domain) USING (domain)
WHERE tier <> 'silent'
GROUP BY domain, attribute_id;

-- Per domain: how long the current slim skills are, in tokens, and how many are still empty.
CREATE VIEW slim_skill_tokens AS
SELECT domain, count(*) AS users, count(*) FILTER (text = '') AS empty, avg(tokens) AS mean,
       quantile_disc(tokens, 0.5) AS p50, quantile_disc(tokens, 0.95) AS p95, max(tokens) AS most
FROM slim_skills
GROUP BY domain;

-- Per user and domain: how long it took until the first line of tier medium or high, from which on the slim skill is not
-- empty: in choices, and in days since the first version. 0: the prior had one. Null: still cold.
CREATE VIEW cold_start_age AS
WITH skill AS (
    SELECT user_id, domain, min(valid_from) AS started_at, max(contrasts) AS choices_so_far
    FROM skill_versions GROUP BY ALL
), warm AS (
    SELECT user_id, domain, min(from_version) AS version, bool_or(became_by = 'seeded') AS seeded
    FROM skill_history WHERE tier IN ('medium', 'high') GROUP BY ALL
)
SELECT skill.*, if(seeded, 0, v.contrasts) AS choices,
       if(seeded, 0, epoch(v.valid_from - started_at) / 86400) AS days
FROM skill LEFT JOIN warm USING (user_id, domain)
LEFT JOIN skill_versions v ON v.user_id = skill.user_id AND v.domain = skill.domain AND v.version = warm.version;

-- The worth of each line, per user and domain: how many choices in which it moved the taken item in its list by the
-- skill alone, the places that it won and lost, and when it last did. Lines that are gone are included.
CREATE VIEW line_value AS
SELECT user_id, domain, attribute_id, count(*) AS choices, sum(greatest(places, 0)) AS won,
       sum(greatest(-places, 0)) AS lost, sum(places) AS net, max(occurred_at) AS last_at
FROM skill_places
GROUP BY ALL;

-- Per domain and part of a ranking's sum, or dimension of a skill's lines: its weight now, as learned from choices.
-- spread: standard deviation of the estimate. A weight without evidence has its start value, and no row.
CREATE VIEW learned_weights AS
SELECT domain, version, choices, frozen, part, name, (held ->> '$.weight')::DOUBLE / 1048576 AS weight,
       sqrt(1024 / (held ->> '$.precision')::DOUBLE) AS spread
FROM (
    SELECT domain, version, choices, frozen, part, unnest(json_keys(held)) AS name,
           held -> ('$."' || name || '"') AS held
    FROM (
        SELECT domain, version, choices, frozen, unnest(['mix', 'dimension']) AS part,
               unnest([document::JSON -> '$.mix', document::JSON -> '$.dimensions']) AS held
        FROM weights
    )
);

-- Per day, domain and kind: how many signals people gave, how many people did, the mean value, and how many taught
-- something. Words (correction) and declined lists (abstention) are kinds, too.
CREATE VIEW signals AS
WITH every AS (
    SELECT user_id, domain, event_id, occurred_at, signal, value FROM feedback
    UNION ALL BY NAME
    SELECT user_id, domain, event_id, occurred_at, 'correction' AS signal FROM corrections
    UNION ALL BY NAME
    SELECT user_id, domain, event_id, occurred_at, 'abstention' AS signal FROM abstentions
)
SELECT every.occurred_at::DATE AS day, domain, signal, count(*) AS signals, count(DISTINCT user_id) AS users,
       avg(every.value) AS mean_value, count(*) FILTER (understood) AS learned
FROM every LEFT JOIN skill_diffs USING (user_id, domain, event_id)
GROUP BY ALL;

-- Per domain and arm: how many lists were answered, how many of them the user declined, and their share.
CREATE VIEW abstention_rate AS
SELECT domain, arm, count(*) AS lists, count(*) FILTER (none_taken) AS abstentions, avg(none_taken::INT) AS rate
FROM (
    SELECT domain, arm, false AS none_taken FROM contrasts
    UNION ALL
    SELECT domain, arm, true AS none_taken FROM abstentions
)
GROUP BY ALL;

-- One row per correction: its words, whether anything in it was understood, and the statements that the skill has from
-- it. why_not has the reason if nothing was understood: then it has changed nothing.
CREATE VIEW corrections_understood AS
SELECT c.user_id, c.domain, c.occurred_at, c.event_id, c.text, c.scope, c.answers,
       coalesce(d.understood, false) AS understood,
       CASE WHEN d.version IS NULL THEN 'not heard yet' WHEN d.understood THEN NULL
            ELSE coalesce(nullif(d.by_pattern, ''), 'not understood') END AS why_not,
       d.by_pattern, d.version, coalesce(s.said, []) AS said,
       coalesce(d.taste_changed, false) AS taste_changed
FROM corrections c LEFT JOIN skill_diffs d USING (user_id, domain, event_id)
LEFT JOIN (
    SELECT user_id, domain, version,
           list(stance || ' ' || dimension || ': ' || value ORDER BY seq) AS said
    FROM statement_changes WHERE kind = 'stated' GROUP BY ALL
) s USING (user_id, domain, version);

-- One row per line that fell because a taste may have changed: observed (choices suggest it; some are false alarms),
-- overtaken (older than such a change) or faded (not confirmed for long). A change that the person reported is one row,
-- with the attribute that they named.
CREATE VIEW shifts AS
SELECT d.user_id, d.domain, d.version, d.occurred_at,
       CASE WHEN c.kind <> 'shifted' THEN c.kind WHEN d.heard = 'correction' THEN 'stated' ELSE 'observed' END AS how,
       c.attribute_id, c.before, c.after, c.reason, d.words, d.event_id
FROM skill_diffs d JOIN skill_changes c
    ON c.user_id = d.user_id AND c.domain = d.domain AND c.version = d.version
    AND c.kind IN ('shifted', 'faded', 'overtaken')
UNION ALL
SELECT d.user_id, d.domain, d.version, d.occurred_at,
       CASE WHEN d.heard = 'correction' THEN 'stated' ELSE 'observed' END AS how,
       (SELECT min(s.attribute_id) FROM statement_changes s
        WHERE s.user_id = d.user_id AND s.domain = d.domain AND s.version = d.version AND s.stance = 'avoids'),
       NULL, NULL, NULL, d.words, d.event_id
FROM skill_diffs d WHERE d.taste_changed AND d.shifted = 0;

-- Statements of users about their taste, without those that had expired when this file was published. Within a session
-- only its own statements and those of no session count.
CREATE VIEW statements_now AS
SELECT user_id, domain, statement_id, stance, dimension, value, over, item_id, measure, above, below, words, scope,
       session_id, said_at, until, times, doubtful, evidence_event_id
FROM statements
WHERE until IS NULL OR until > coalesce((SELECT max(published_at) FROM snapshot_info), TIMESTAMP 'epoch');

-- One row per question in a ranking: when it was answered, the statements understood from the answer, and the ranks of
-- the items taken of that list and of the next one after the answer. Null: not answered, nothing taken.
CREATE VIEW questions_asked AS
SELECT r.user_id, r.domain, r.ranking_id, r.occurred_at AS asked_at, r.question_id, r.question_dimension AS dimension,
       r.question, c.occurred_at AS answered_at, c.understood, c.said, o.item_rank, n.item_rank AS next_rank
FROM (
    FROM rankings WHERE question_id IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY user_id, ranking_id ORDER BY logged_at, kafka_offset) = 1
) r
LEFT JOIN (
    FROM corrections_understood WHERE answers IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY user_id, domain, answers ORDER BY occurred_at, event_id) = 1
) c ON c.user_id = r.user_id AND c.domain = r.domain AND c.answers = r.question_id
LEFT JOIN outcomes o ON o.user_id = r.user_id AND o.domain = r.domain AND o.ranking_id = r.ranking_id
ASOF LEFT JOIN outcomes n ON n.user_id = r.user_id AND n.domain = r.domain AND c.occurred_at < n.ranked_at;

-- Per domain and tenth: the chance that rankings predicted for the person to want none of their items, and the share of
-- them that the person declined. error: standard error of that share. Rankings without an answer do not count.
CREATE VIEW calibration AS
SELECT domain, least(floor(10 * nothing), 9) / 10 AS predicted_from, count(*) AS rankings, avg(nothing) AS predicted,
       avg(abstained::INT) AS happened, sqrt(avg(abstained::INT) * (1 - avg(abstained::INT)) / count(*)) AS error,
       count(*) FILTER (NOT suits) AS said_unsuited
FROM (
    SELECT r.domain, r.nothing, r.suits, a.ranking_id IS NOT NULL AS abstained
    FROM rankings r
    LEFT JOIN abstentions a ON a.user_id = r.user_id AND a.ranking_id = r.ranking_id
    LEFT JOIN contrasts k ON k.user_id = r.user_id AND k.ranking_id = r.ranking_id
    WHERE r.nothing IS NOT NULL AND (a.ranking_id IS NOT NULL OR k.ranking_id IS NOT NULL)
    QUALIFY row_number() OVER (PARTITION BY r.user_id, r.ranking_id ORDER BY r.logged_at, r.kafka_offset) = 1
)
GROUP BY ALL;

-- Per domain (null: anywhere), dimension, stance and value: how many people stated it in conversations and have not
-- overtaken it since, how often, and when last.
CREATE VIEW said_of_themselves AS
SELECT domain, dimension, stance, value, count(*) AS users, sum(times)::BIGINT AS times,
       count(*) FILTER (strength = 'implied') AS implied, min(since) AS since, max(confirmed_at) AS last_said_at
FROM card_lines
WHERE NOT is_past
GROUP BY ALL;

-- Per week: how many chunks of conversations were understood, commands and signals counted apart, their changes of cards,
-- how often a known line was overtaken or withdrawn, how many statements were not kept, and the cost in tokens.
CREATE VIEW card_activity AS
WITH changed AS (
    SELECT user_id, version,
           count(*) FILTER (kind = 'added') AS added,
           count(*) FILTER (kind = 'confirmed') AS confirmed,
           count(*) FILTER (kind = 'overtaken') AS overtaken,
           count(*) FILTER (kind = 'withdrawn') AS withdrawn,
           count(*) FILTER (kind IN ('removed', 'forgotten')) AS forgotten
    FROM card_changes GROUP BY ALL
)
SELECT date_trunc('week', occurred_at)::DATE AS week, count(*) FILTER (conversation_id IS NOT NULL) AS chunks,
       count(*) FILTER (conversation_id IS NULL) AS others, count(DISTINCT user_id) AS users,
       coalesce(sum(added), 0)::BIGINT AS added, coalesce(sum(confirmed), 0)::BIGINT AS confirmed,
       coalesce(sum(overtaken), 0)::BIGINT AS overtaken, coalesce(sum(withdrawn), 0)::BIGINT AS withdrawn,
       coalesce(sum(forgotten), 0)::BIGINT AS forgotten, sum(not_kept)::BIGINT AS not_kept,
       sum(calls)::BIGINT AS calls, sum(prompt_tokens + completion_tokens)::BIGINT AS tokens
FROM card_diffs LEFT JOIN changed USING (user_id, version)
GROUP BY ALL;
