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
ORDER BY abs(drift) DESC, domain, attribute_id
