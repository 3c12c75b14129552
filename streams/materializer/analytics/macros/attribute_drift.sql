-- How the adoption of attributes drifted between two moments: users who hold a line at medium or high, the share of
-- all skills of their time, and how many users came to it and lost it.
CREATE MACRO attribute_drift(earlier, later) AS TABLE
WITH skills_of AS (
    SELECT domain, count(*) FILTER (valid_from <= earlier::TIMESTAMP) AS skills_before,
           count(*) FILTER (valid_from <= later::TIMESTAMP) AS skills_after
    FROM (SELECT user_id, domain, min(valid_from) AS valid_from FROM skill_versions GROUP BY ALL)
    GROUP BY domain
)
SELECT domain, attribute_id, count(b.tier) AS users_before, count(a.tier) AS users_after,
       count(*) FILTER (b.tier IS NULL) AS came, count(*) FILTER (a.tier IS NULL) AS lost,
       users_before / nullif(any_value(skills_before), 0) AS share_before,
       users_after / nullif(any_value(skills_after), 0) AS share_after,
       coalesce(share_after, 0) - coalesce(share_before, 0) AS drift
FROM (SELECT user_id, domain, attribute_id, tier FROM policies_at(earlier) WHERE tier <> 'low') b
FULL JOIN (SELECT user_id, domain, attribute_id, tier FROM policies_at(later) WHERE tier <> 'low') a
    USING (user_id, domain, attribute_id)
JOIN skills_of USING (domain)
GROUP BY domain, attribute_id
ORDER BY abs(drift) DESC, domain, attribute_id
