-- One row per line that a model judged: its verdict (supports, unrelated, contradicts), the fact of the chosen item that
-- it quoted, its analysis of the choice, and the change of the line; null where it stayed as it was.
CREATE VIEW judgements AS
SELECT d.user_id, d.domain, d.version, d.occurred_at, d.event_id, d.evidence_item_id, d.model, d.prompt, d.prompt_hash,
       j.judgement ->> '$.attribute_id' AS attribute_id, j.judgement ->> '$.verdict' AS verdict,
       (j.judgement ->> '$.quoted[0]') || ': ' || (j.judgement ->> '$.quoted[1]') AS quoted,
       d.analysis, c.kind AS led_to, c.before, c.after
FROM skill_diffs d,
     LATERAL (SELECT unnest(from_json(d.document::JSON -> '$.judged', '["JSON"]')) AS judgement) j
LEFT JOIN skill_changes c
    ON c.user_id = d.user_id AND c.domain = d.domain AND c.version = d.version
    AND c.attribute_id = j.judgement ->> '$.attribute_id' AND c.kind <> 'seeded'
WHERE d.calls > 0;

-- One row per value that a model discovered by quoting an item's text, with the quote.
CREATE VIEW quotations AS
SELECT d.user_id, d.domain, d.version, d.occurred_at, d.event_id, d.evidence_item_id, d.model,
       c.change ->> '$.attribute_id' AS attribute_id, c.change ->> '$.discovered.quote' AS quote
FROM skill_diffs d,
     LATERAL (SELECT unnest(from_json(d.document::JSON -> '$.changes', '["JSON"]')) AS change) c
WHERE d.calls > 0 AND quote IS NOT NULL;

-- One row per item of a ranking for which a model gave its reason (SAGER_RANK_REASONS), with its place; 1 is the top.
CREATE VIEW ranking_reasons AS
SELECT r.user_id, r.domain, r.occurred_at, r.ranking_id, e.entry.key AS item_id,
       list_position(r.item_ids, e.entry.key) AS place, e.entry.value AS reason
FROM rankings r,
     LATERAL (SELECT unnest(map_entries(from_json(r.injected::JSON -> '$.reasons', '"MAP(VARCHAR, VARCHAR)"'))) AS entry) e
WHERE r.llm_calls > 0;

-- One row per change of a skill, with the event and the reasoner behind it; versions without changes too. From a model:
-- its analysis of the choice, its verdict on the line, and the fact that it quoted. Without a choice: the signal,
-- correction or abstention behind it, and the person's words. Their statements are in statement_changes.
CREATE VIEW policy_log AS
SELECT d.user_id, d.domain, d.version, d.occurred_at, c.seq, c.kind, c.attribute_id, c.before, c.after,
       c.reason, c.taken, c.expected, d.reasoner, d.model, d.event_id, d.evidence_item_id, d.analysis, j.verdict,
       j.quoted, d.trigger, d.words
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
    SELECT 'slim' AS part, user_id, domain, event_id, occurred_at, unnest(from_json(document::JSON -> '$.slim_by',
               '{"reasoner": "VARCHAR", "model": "VARCHAR", "prompt": "VARCHAR", "prompt_hash": "VARCHAR",
                 "calls": "BIGINT", "prompt_tokens": "BIGINT", "completion_tokens": "BIGINT", "latency_ms": "BIGINT",
                 "fallback": "VARCHAR"}'))
    FROM skill_diffs WHERE contains(document, '"slim_by"')
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

-- Per domain and persona of its users: light (fewer than 15 interactions), moderate (15 to 50), and of the others broad
-- or narrow; with its share of users and its exploration strategy. established: null for guided discovery.
CREATE VIEW personas AS
SELECT domain, unnest(from_json(document::JSON -> '$.personas',
           '[{"name": "VARCHAR", "users": "BIGINT", "share": "DOUBLE", "established": "DOUBLE",
              "strategy": "VARCHAR"}]'), recursive := true),
       coalesce(document::JSON ->> '$.reasoned_by.reasoner', 'rules') AS reasoner
FROM global_skills;

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
       CASE WHEN d.version IS NULL THEN 'not processed yet' WHEN d.understood THEN NULL
            ELSE coalesce(nullif(d.by_pattern, ''), 'not understood') END AS why_not,
       d.by_pattern, d.version, coalesce(s.statements, []) AS statements,
       coalesce(d.taste_changed, false) AS taste_changed
FROM corrections c LEFT JOIN skill_diffs d USING (user_id, domain, event_id)
LEFT JOIN (
    SELECT user_id, domain, version,
           list(stance || ' ' || dimension || ': ' || value ORDER BY seq) AS statements
    FROM statement_changes WHERE kind = 'stated' GROUP BY ALL
) s USING (user_id, domain, version);

-- One row per line that fell because a taste may have changed: observed (choices suggest it; some are false alarms),
-- overtaken (older than such a change) or faded (not confirmed for long). A change that the person reported is one row,
-- with the attribute that they named.
CREATE VIEW shifts AS
SELECT d.user_id, d.domain, d.version, d.occurred_at,
       CASE WHEN c.kind <> 'shifted' THEN c.kind WHEN d.trigger = 'correction' THEN 'stated' ELSE 'observed' END AS how,
       c.attribute_id, c.before, c.after, c.reason, d.words, d.event_id
FROM skill_diffs d JOIN skill_changes c
    ON c.user_id = d.user_id AND c.domain = d.domain AND c.version = d.version
    AND c.kind IN ('shifted', 'faded', 'overtaken')
UNION ALL
SELECT d.user_id, d.domain, d.version, d.occurred_at,
       CASE WHEN d.trigger = 'correction' THEN 'stated' ELSE 'observed' END AS how,
       (SELECT min(s.attribute_id) FROM statement_changes s
        WHERE s.user_id = d.user_id AND s.domain = d.domain AND s.version = d.version AND s.stance = 'avoids'),
       NULL, NULL, NULL, d.words, d.event_id
FROM skill_diffs d WHERE d.taste_changed AND d.shifted = 0;

-- Statements of users about their taste, without those that had expired when this file was published. Within a session
-- only its own statements and those of no session count.
CREATE VIEW statements_now AS
SELECT user_id, domain, statement_id, stance, dimension, value, over, item_id, measure, above, below, words, scope,
       session_id, stated_at, until, times, doubtful, evidence_event_id
FROM statements
WHERE until IS NULL OR until > coalesce((SELECT max(published_at) FROM snapshot_info), TIMESTAMP 'epoch');

-- One row per question in a ranking: when it was answered, the statements understood from the answer, and the ranks of
-- the items taken of that list and of the next one after the answer. Null: not answered, nothing taken. The answer to a
-- repeated question belongs to the last ranking before it.
CREATE VIEW questions_asked AS
SELECT r.user_id, r.domain, r.ranking_id, r.occurred_at AS asked_at, r.question_id, r.question_dimension AS dimension,
       r.question, c.occurred_at AS answered_at, c.understood, c.statements, o.item_rank, n.item_rank AS next_rank
FROM (
    SELECT *, lead(occurred_at) OVER (PARTITION BY user_id, domain, question_id ORDER BY occurred_at) AS repeated_at
    FROM (
        FROM rankings WHERE question_id IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY user_id, ranking_id ORDER BY logged_at, kafka_offset) = 1
    )
) r
LEFT JOIN (
    FROM corrections_understood WHERE answers IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY user_id, domain, answers ORDER BY occurred_at, event_id) = 1
) c ON c.user_id = r.user_id AND c.domain = r.domain AND c.answers = r.question_id
    AND (c.occurred_at < r.repeated_at OR r.repeated_at IS NULL)
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
CREATE VIEW stated_preferences AS
SELECT domain, dimension, stance, value, count(*) AS users, sum(times)::BIGINT AS times,
       count(*) FILTER (strength = 'implied') AS implied, min(since) AS since, max(confirmed_at) AS last_stated_at
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

-- The policy of one user at a moment: every line with its tier, and the time and version since which it has had it.
CREATE MACRO policy_at(person, moment) AS TABLE
SELECT domain, attribute_id, tier, became_by, from_version, valid_from AS since
FROM skill_history
WHERE user_id = person
  AND valid_from <= moment::TIMESTAMP AND (valid_to > moment::TIMESTAMP OR valid_to IS NULL)
ORDER BY domain, list_position(['high', 'medium', 'low', 'silent'], tier), attribute_id;

-- The policies of all users at a moment: one row per line, with its tier.
CREATE MACRO policies_at(moment) AS TABLE
SELECT user_id, domain, attribute_id, tier, from_version, valid_from AS since
FROM skill_history
WHERE valid_from <= moment::TIMESTAMP AND (valid_to > moment::TIMESTAMP OR valid_to IS NULL);

-- Changes in skills since a moment: per domain and attribute, how many users gained it, rose, fell or lost it.
-- Each user counts by their state then and now: changes in between that cancel out do not count.
CREATE MACRO changed_since(moment) AS TABLE
SELECT domain, attribute_id, count(*) AS users,
       count(*) FILTER (earlier IS NULL) AS came, count(*) FILTER (later > earlier) AS rose,
       count(*) FILTER (later < earlier) AS fell, count(*) FILTER (later IS NULL) AS lost
FROM (
    SELECT domain, attribute_id, user_id,
           list_position(['silent', 'low', 'medium', 'high'], first(before ORDER BY version, seq)) AS earlier,
           list_position(['silent', 'low', 'medium', 'high'], last(after ORDER BY version, seq)) AS later
    FROM skill_changes JOIN skill_versions USING (user_id, domain, version)
    WHERE valid_from >= moment::TIMESTAMP AND before IS DISTINCT FROM after
    GROUP BY ALL
)
WHERE earlier IS DISTINCT FROM later
GROUP BY ALL
ORDER BY users DESC, domain, attribute_id;

-- How the adoption of attributes drifted between two moments: the users who held a line at medium or high then, and the
-- share of all skills at that time.
CREATE MACRO attribute_drift(earlier, later) AS TABLE
SELECT domain, attribute_id, users_before, users_after,
       users_before / nullif(skills_before, 0) AS share_before, users_after / nullif(skills_after, 0) AS share_after,
       coalesce(share_after, 0) - coalesce(share_before, 0) AS drift
FROM (
    SELECT domain, attribute_id,
           count(*) FILTER (
               valid_from <= earlier::TIMESTAMP AND (valid_to > earlier::TIMESTAMP OR valid_to IS NULL)) AS users_before,
           count(*) FILTER (
               valid_from <= later::TIMESTAMP AND (valid_to > later::TIMESTAMP OR valid_to IS NULL)) AS users_after
    FROM skill_history WHERE tier IN ('medium', 'high') GROUP BY ALL
) JOIN (
    SELECT domain, count(*) FILTER (valid_from <= earlier::TIMESTAMP) AS skills_before,
           count(*) FILTER (valid_from <= later::TIMESTAMP) AS skills_after
    FROM skill_versions WHERE version = 1 GROUP BY ALL
) USING (domain)
WHERE users_before + users_after > 0
ORDER BY abs(drift) DESC, domain, attribute_id;

-- The evidence behind a line of a user's skill: every event that changed it, with the chosen item, its rank and the
-- request. A seeded line comes from earlier interactions and has no event of its own. From a model: its verdict, the fact
-- that it quoted, and its analysis; kind is judged where its verdict changed nothing. Without a choice: the signal,
-- correction or abstention, and the person's words.
CREATE MACRO why(person, line) AS TABLE
WITH judged AS (SELECT * FROM judgements WHERE user_id = person AND attribute_id = line),
changed AS (
    SELECT domain, version, seq, kind, before, after, reason
    FROM skill_changes WHERE user_id = person AND attribute_id = line
    UNION ALL
    SELECT domain, version, 0, 'judged', NULL, NULL, '' FROM judged WHERE led_to IS NULL
)
SELECT c.domain, c.version, d.occurred_at, c.kind, c.before, c.after, c.reason, d.reasoner, d.model,
       e.evidence_event_id AS event_id, e.evidence_item_id AS item_id,
       coalesce(nullif(k.chosen_title, ''), nullif(f.title, ''), i.title) AS title, k.chosen_rank AS item_rank,
       k.instruction, j.verdict, j.quoted, e.analysis, d.trigger, d.words
FROM changed c JOIN skill_diffs d ON d.user_id = person AND d.domain = c.domain AND d.version = c.version
LEFT JOIN skill_diffs e ON e.user_id = person AND e.domain = c.domain AND e.version = c.version AND c.kind <> 'seeded'
LEFT JOIN judged j ON j.domain = c.domain AND j.version = c.version AND coalesce(j.led_to, 'judged') = c.kind
LEFT JOIN contrasts k ON k.user_id = person AND k.event_id = e.evidence_event_id
LEFT JOIN feedback f ON f.user_id = person AND f.event_id = e.event_id
LEFT JOIN items i ON i.item_id = e.evidence_item_id
ORDER BY c.domain, c.version, c.seq;

-- Users whose policy stopped helping: the mean reciprocal rank of their last n choices from rankings that used
-- a skill is below that of the n before by more than so many standard errors. By chance alone about one user in forty
-- is beyond two, more where n is small: use it as a list of users to look at.
CREATE MACRO stopped_helping(n := 10, errors := 2) AS TABLE
SELECT user_id, domain, avg(reciprocal_rank) FILTER (nth_last > n) AS before,
       avg(reciprocal_rank) FILTER (nth_last <= n) AS lately, before - lately AS loss,
       sqrt((var_samp(reciprocal_rank) FILTER (nth_last > n) + var_samp(reciprocal_rank) FILTER (nth_last <= n)) / n)
           AS standard_error,
       max(selected_at) AS last_choice_at
FROM (
    SELECT user_id, domain, reciprocal_rank, selected_at,
           row_number() OVER (PARTITION BY user_id, domain ORDER BY nth DESC) AS nth_last
    FROM outcomes WHERE skill_version > 0
    QUALIFY nth_last <= 2 * n
)
GROUP BY ALL
HAVING count(*) = 2 * n AND loss > errors * standard_error
ORDER BY loss DESC, user_id, domain;

-- Hit rates before and after a skill evolved, by the week in which a user's first choice was learned from. Before:
-- rankings made until version `evolved` was in force; after: rankings that used it or a later one. Only users
-- with both, equally weighted; gain_error is the standard error of the gain at 3.
CREATE MACRO cohort_before_after(evolved := 1) AS TABLE
SELECT cohort, domain, count(*) AS users, sum(choices_before)::BIGINT AS choices_before,
       sum(choices_after)::BIGINT AS choices_after,
       avg(at_1_before) AS hit_at_1_before, avg(at_1_after) AS hit_at_1_after,
       avg(at_3_before) AS hit_at_3_before, avg(at_3_after) AS hit_at_3_after,
       avg(at_3_after - at_3_before) AS gain_at_3, stddev_samp(at_3_after - at_3_before) / sqrt(users) AS gain_error
FROM (
    SELECT user_id, domain,
           count(*) FILTER (version_in_force < evolved) AS choices_before,
           count(*) FILTER (skill_version >= evolved) AS choices_after,
           avg(hit_at_1::INT) FILTER (version_in_force < evolved) AS at_1_before,
           avg(hit_at_1::INT) FILTER (skill_version >= evolved) AS at_1_after,
           avg(hit_at_3::INT) FILTER (version_in_force < evolved) AS at_3_before,
           avg(hit_at_3::INT) FILTER (skill_version >= evolved) AS at_3_after
    FROM outcomes GROUP BY ALL HAVING choices_before > 0 AND choices_after > 0
) JOIN (
    SELECT user_id, domain, date_trunc('week', valid_from)::DATE AS cohort
    FROM skill_versions WHERE is_contrast AND contrasts = 1
) USING (user_id, domain)
GROUP BY cohort, domain
ORDER BY cohort, domain;

-- The gain from LLM calls between two moments, per domain: the difference in hit rate at 1 of rankings outside the arm
-- `baseline`, in points (hundredths) over the baseline, and the dollars per point. Null where nothing was gained. Only as
-- good as the comparison: users should be assigned to arms at random.
CREATE MACRO cost_per_point(since, until, baseline := 'no-skill') AS TABLE
SELECT domain, choices_baseline, choices, hit_rate_baseline, hit_rate, points, calls, dollars,
       CASE WHEN points > 0 THEN dollars / points END AS dollars_per_point
FROM (
    SELECT domain, count(*) FILTER (arm = baseline) AS choices_baseline, count(*) FILTER (arm <> baseline) AS choices,
           avg(hit_at_1::INT) FILTER (arm = baseline) AS hit_rate_baseline,
           avg(hit_at_1::INT) FILTER (arm <> baseline) AS hit_rate,
           100 * (hit_rate - hit_rate_baseline) AS points
    FROM outcomes WHERE ranked_at >= since::TIMESTAMP AND ranked_at < until::TIMESTAMP
    GROUP BY domain
) LEFT JOIN (
    SELECT domain, sum(calls)::BIGINT AS calls, sum(cost_dollars) AS dollars
    FROM llm_calls WHERE occurred_at >= since::TIMESTAMP AND occurred_at < until::TIMESTAMP
    GROUP BY domain
) USING (domain)
ORDER BY domain;

-- The statements of a user that held at a moment, with the version that brought them. One for a session or for now
-- counts until it expires.
CREATE MACRO statements_at(person, moment) AS TABLE
SELECT domain, stance, dimension, value, over, words, scope, session_id, stated_at, until, times, version AS from_version
FROM (
    SELECT c.*, v.valid_from
    FROM statement_changes c JOIN skill_versions v USING (user_id, domain, version)
    WHERE user_id = person AND v.valid_from <= moment::TIMESTAMP
    QUALIFY row_number() OVER (PARTITION BY domain, statement_id ORDER BY version DESC, seq DESC) = 1
)
WHERE stance IS NOT NULL AND (until IS NULL OR until > moment::TIMESTAMP)
ORDER BY domain, stated_at, statement_id;
