-- What LLM calls bought between two moments, per domain: the gain in hit rate at 1 of rankings outside the arm
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
ORDER BY domain
