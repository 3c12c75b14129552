-- Per day, domain and kind: how many signals people gave, how many people did, the mean value, and of how many something
-- was learned. Words (correction) and lists of which nothing was taken (abstention) are kinds, too.
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
GROUP BY ALL
