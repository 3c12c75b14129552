-- Per domain (null: anywhere), dimension, stance and value: how many people said it of themselves in conversations and
-- still mean it, how often, and when last.
CREATE VIEW said_of_themselves AS
SELECT domain, dimension, stance, value, count(*) AS users, sum(times)::BIGINT AS times,
       count(*) FILTER (strength = 'implied') AS implied, min(since) AS since, max(confirmed_at) AS last_said_at
FROM card_lines
WHERE NOT is_past
GROUP BY ALL
