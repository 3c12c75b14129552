-- Per domain and tenth: how probable rankings said it was that the person would want none of what they show, and in which
-- share of them the person said so. error: standard error of that share. Rankings that nobody answered do not count.
CREATE VIEW calibration AS
SELECT domain, least(floor(10 * nothing), 9) / 10 AS predicted_from, count(*) AS rankings, avg(nothing) AS predicted,
       avg(abstained::INT) AS happened, sqrt(avg(abstained::INT) * (1 - avg(abstained::INT)) / count(*)) AS error,
       count(*) FILTER (NOT suits) AS said_unsuited
FROM (
    SELECT r.domain, r.nothing, r.suits, a.ranking_id IS NOT NULL AS abstained
    FROM rankings r
    LEFT JOIN abstentions a ON a.user_id = r.user_id AND a.ranking_id = r.ranking_id
    LEFT JOIN contrasts k ON k.user_id = r.user_id AND k.ranking_id = r.ranking_id
    WHERE r.nothing IS NOT NULL AND (a.ranking_id IS NOT NULL OR k.ranking_id IS NOT NULL)
    QUALIFY row_number() OVER (PARTITION BY r.user_id, r.ranking_id ORDER BY r.logged_at, r.kafka_offset) = 1
)
GROUP BY ALL
