-- Ready for a Sankey diagram: per week and domain, how many lines moved from tier source to tier target.
CREATE VIEW tier_flow AS
SELECT date_trunc('week', occurred_at)::DATE AS week, domain, 'was ' || coalesce(before, 'new') AS source,
       'is ' || coalesce(after, 'gone') AS target, count(*) AS value
FROM skill_changes
WHERE before IS DISTINCT FROM after
GROUP BY ALL
