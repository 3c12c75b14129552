-- Per week: how many chunks of conversations were understood, commands and signals counted apart, what they changed on
-- cards, how often something known was overtaken or taken back, what was not kept, and what the models cost in tokens.
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
GROUP BY ALL
