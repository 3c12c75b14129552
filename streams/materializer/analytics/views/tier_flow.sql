-- Ready for a Sankey diagram: per week and domain, how many lines of skills went from where (source, at the week's
-- beginning) to where (target, at its end). Lines that no event touched, or that ended as they began, are left out.
CREATE VIEW tier_flow AS
SELECT week, domain, 'was ' || coalesce(first_tier, 'new') AS source, 'is ' || coalesce(last_tier, 'gone') AS target,
       count(*) AS value
FROM (
    SELECT date_trunc('week', occurred_at)::DATE AS week, domain,
           first(before ORDER BY version, seq) AS first_tier, last(after ORDER BY version, seq) AS last_tier
    FROM skill_changes
    WHERE before IS DISTINCT FROM after
    GROUP BY week, user_id, domain, attribute_id
)
WHERE first_tier IS DISTINCT FROM last_tier
GROUP BY ALL
