-- The queries of the figures. Headings are shown as they are named here.

-- figure: learning-curve
-- The place of the chosen item, by the number of a user's choice; the interval is Wilson's.
WITH found AS (
    SELECT *, 1.96 ** 2 / users AS square FROM learning_curve WHERE domain = $domain AND nth <= 100
), bounded AS (
    SELECT *, (hit_at_1 + square / 2) / (1 + square) AS middle,
           1.96 * sqrt(hit_at_1 * (1 - hit_at_1) / users + square / (4 * users)) / (1 + square) AS half
    FROM found
)
SELECT nth AS choice, users AS people, 100 * hit_at_1 AS "at the top, %",
       printf('%.1f to %.1f', 100 * greatest(0, middle - half), 100 * least(1, middle + half)) AS "95 % interval",
       100 * hit_at_3 AS "in the first 3, %", 100 * hit_at_5 AS "in the first 5, %", ndcg_at_5 AS "NDCG@5",
       mean_reciprocal_rank AS "mean reciprocal rank"
FROM bounded ORDER BY nth

-- figure: cold-start
-- The number of choices before a skill has its first line of tier medium or high.
WITH counted AS (
    SELECT CASE WHEN choices > 10 THEN 11 ELSE choices END AS step, count(*) AS skills
    FROM cold_start_age WHERE domain = $domain GROUP BY ALL
), steps AS (
    SELECT unnest(range(12)) AS step UNION ALL SELECT NULL
), filled AS (
    SELECT steps.step, coalesce(skills, 0) AS skills
    FROM steps LEFT JOIN counted ON steps.step IS NOT DISTINCT FROM counted.step
    WHERE EXISTS (FROM counted)
)
SELECT CASE WHEN step IS NULL THEN 'still cold' WHEN step = 0 THEN 'at once' WHEN step = 11 THEN 'more than 10'
            ELSE step::VARCHAR END AS choices,
       skills, 100 * skills / sum(skills) OVER () AS "share, %",
       100 * sum(skills) OVER (ORDER BY step NULLS LAST) / sum(skills) OVER () AS "so far, %"
FROM filled ORDER BY step NULLS LAST

-- figure: tier-flow
-- The moves of lines between tiers, in one week or ever.
SELECT replace(source, 'was ', '') AS was, replace(target, 'is ', '') AS "is", sum(value)::BIGINT AS lines,
       100 * sum(value) / sum(sum(value)) OVER () AS "share, %"
FROM tier_flow WHERE domain = $domain AND week = coalesce($week, week)
GROUP BY source, target
ORDER BY list_position(['new', 'high', 'medium', 'low', 'silent'], was),
         list_position(['high', 'medium', 'low', 'silent', 'gone'], "is")

-- figure: adoption
SELECT value AS line, kind, dimension, users AS people, 100 * share AS "share of skills, %", high, medium, low,
       discovered
FROM attribute_adoption WHERE domain = $domain ORDER BY users DESC, high DESC, attribute_id LIMIT 100

-- figure: arms
-- The error is that of a ratio of sums over users, linearised: a user's choices are not independent.
WITH per_user AS (
    SELECT arm, user_id, count(*)::DOUBLE AS n, sum(ndcg_at_5) AS s, count(*) FILTER (hit_at_1) AS one,
           count(*) FILTER (hit_at_3) AS three, sum(reciprocal_rank) AS mrr
    FROM outcomes WHERE domain = $domain GROUP BY ALL
), per_arm AS (
    SELECT arm, count(*) AS users, sum(n)::BIGINT AS choices, sum(s) / sum(n) AS ndcg,
           CASE WHEN count(*) > 1 THEN
               sqrt(greatest(0, sum(s * s) - 2 * ndcg * sum(s * n) + ndcg ** 2 * sum(n * n))
                    * count(*) / (count(*) - 1)) / sum(n)
           END AS error,
           sum(one) / sum(n) AS one, sum(three) / sum(n) AS three, sum(mrr) / sum(n) AS mrr
    FROM per_user GROUP BY arm
)
SELECT arm, users AS people, choices, ndcg AS "NDCG@5",
       printf('%.3f to %.3f', ndcg - 1.96 * error, ndcg + 1.96 * error) AS "95 % interval",
       100 * one AS "at the top, %", 100 * three AS "in the first 3, %", mrr AS "mean reciprocal rank"
FROM per_arm ORDER BY choices DESC, arm LIMIT 40

-- figure: calibration
-- The predicted probability that nothing suits against its frequency, by tenth; the interval is Wilson's.
WITH found AS (
    SELECT *, 1.96 ** 2 / rankings AS square FROM calibration WHERE domain = $domain
), bounded AS (
    SELECT *, (happened + square / 2) / (1 + square) AS middle,
           1.96 * sqrt(happened * (1 - happened) / rankings + square / (4 * rankings)) / (1 + square) AS half
    FROM found
)
SELECT printf('%.0f to %.0f %%', 100 * predicted_from, 100 * predicted_from + 10) AS predicted, rankings,
       100 * predicted AS "predicted on average, %", 100 * happened AS "happened, %",
       printf('%.1f to %.1f', 100 * greatest(0, middle - half), 100 * least(1, middle + half)) AS "95 % interval",
       said_unsuited AS "said that nothing suits"
FROM bounded ORDER BY predicted_from

-- figure: shifts
SELECT date_trunc('week', occurred_at)::DATE AS "week from", domain, how AS "how it was seen", count(*) AS lines,
       count(DISTINCT user_id) AS people
FROM shifts WHERE occurred_at >= (SELECT max(occurred_at) FROM shifts) - INTERVAL 26 WEEK
GROUP BY ALL ORDER BY "week from" DESC, domain, how

-- figure: llm-cost
SELECT occurred_at::DATE AS day, part AS "for", sum(calls)::BIGINT AS calls,
       count(*) FILTER (fallback IS NOT NULL) AS "answered by a fallback", sum(prompt_tokens)::BIGINT AS "tokens sent",
       sum(completion_tokens)::BIGINT AS "tokens received", sum(cost_dollars) AS "cost, US$"
FROM llm_calls WHERE occurred_at >= (SELECT max(occurred_at)::DATE FROM llm_calls) - INTERVAL 59 DAY
GROUP BY ALL ORDER BY day DESC, part

-- figure: llm-prompts
SELECT part AS "for", model, prompt, sum(calls)::BIGINT AS calls, count(*) FILTER (fallback IS NOT NULL) AS fallbacks,
       sum(prompt_tokens) / nullif(sum(calls), 0) AS "tokens sent per call",
       sum(completion_tokens) / nullif(sum(calls), 0) AS received,
       avg(latency_ms) FILTER (calls > 0) / 1000 AS "mean time, s",
       quantile_cont(latency_ms, 0.95) FILTER (calls > 0) / 1000 AS "95th percentile, s",
       sum(cost_dollars) AS "cost, US$"
FROM llm_calls WHERE occurred_at >= (SELECT max(occurred_at)::DATE FROM llm_calls) - INTERVAL 59 DAY
GROUP BY ALL ORDER BY calls DESC, part, model, prompt LIMIT 50

-- figure: llm-bought
-- The gain in hit rate over rankings without a skill, in points, and their price.
SELECT domain, choices_baseline AS "choices without a skill", choices AS "choices with one",
       100 * hit_rate_baseline AS "at the top without, %", 100 * hit_rate AS "at the top with, %", points AS "points won",
       calls, dollars AS "cost, US$", dollars_per_point AS "cost of a point, US$"
FROM cost_per_point(
    (SELECT max(occurred_at)::DATE - 59 FROM llm_calls), (SELECT max(occurred_at)::DATE + 1 FROM llm_calls)
)
