-- The policy of one user at a moment: every line with its tier, and the time and version since which it has had it.
CREATE MACRO policy_at(who, moment) AS TABLE
SELECT domain, attribute_id, tier, became_by, from_version, valid_from AS since
FROM skill_history
WHERE user_id = who
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
    FROM skill_changes
    WHERE occurred_at >= moment::TIMESTAMP AND before IS DISTINCT FROM after
    GROUP BY ALL
)
WHERE earlier IS DISTINCT FROM later
GROUP BY ALL
ORDER BY users DESC, domain, attribute_id;

-- How the adoption of attributes drifted between two moments: users who held a line at medium or high then, and the
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
CREATE MACRO why(who, line) AS TABLE
WITH judged AS (SELECT * FROM judgements WHERE user_id = who AND attribute_id = line),
changed AS (
    SELECT domain, version, seq, kind, before, after, reason
    FROM skill_changes WHERE user_id = who AND attribute_id = line
    UNION ALL
    SELECT domain, version, 0, 'judged', NULL, NULL, '' FROM judged WHERE led_to IS NULL
)
SELECT c.domain, c.version, d.occurred_at, c.kind, c.before, c.after, c.reason, d.reasoner, d.model,
       e.evidence_event_id AS event_id, e.evidence_item_id AS item_id,
       coalesce(nullif(k.chosen_title, ''), nullif(f.title, ''), i.title) AS title, k.chosen_rank AS item_rank,
       k.instruction, j.verdict, j.quoted, e.analysis, d.heard, d.words
FROM changed c JOIN skill_diffs d ON d.user_id = who AND d.domain = c.domain AND d.version = c.version
LEFT JOIN skill_diffs e ON e.user_id = who AND e.domain = c.domain AND e.version = c.version AND c.kind <> 'seeded'
LEFT JOIN judged j ON j.domain = c.domain AND j.version = c.version AND coalesce(j.led_to, 'judged') = c.kind
LEFT JOIN contrasts k ON k.user_id = who AND k.event_id = e.evidence_event_id
LEFT JOIN feedback f ON f.user_id = who AND f.event_id = e.event_id
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
CREATE MACRO statements_at(who, moment) AS TABLE
SELECT domain, stance, dimension, value, over, words, scope, session_id, said_at, until, times, version AS from_version
FROM (
    SELECT c.*, v.valid_from
    FROM statement_changes c JOIN skill_versions v USING (user_id, domain, version)
    WHERE user_id = who AND v.valid_from <= moment::TIMESTAMP
    QUALIFY row_number() OVER (PARTITION BY domain, statement_id ORDER BY version DESC, seq DESC) = 1
)
WHERE stance IS NOT NULL AND (until IS NULL OR until > moment::TIMESTAMP)
ORDER BY domain, said_at, statement_id;
