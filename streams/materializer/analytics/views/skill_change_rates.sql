-- Per week and domain: how many lines a choice reinforces, discovers and weakens on average, how many proposals the
-- merge refuses, and the share of choices that change nothing.
CREATE VIEW skill_change_rates AS
SELECT date_trunc('week', occurred_at)::DATE AS week, domain, count(*) AS choices,
       avg(reinforced) AS reinforced, avg(discovered) AS discovered, avg(weakened) AS weakened, avg(evicted) AS evicted,
       avg(refused) AS refused,
       avg((reinforced + discovered + weakened + removed + evicted = 0)::INT) AS share_without_change
FROM skill_diffs
WHERE is_contrast
GROUP BY ALL
