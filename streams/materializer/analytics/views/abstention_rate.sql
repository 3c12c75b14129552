-- Per domain and arm: of how many lists something was taken or nothing, and the share of those of which nothing was.
CREATE VIEW abstention_rate AS
SELECT domain, arm, count(*) AS lists, count(*) FILTER (none_taken) AS abstentions, avg(none_taken::INT) AS rate
FROM (
    SELECT domain, arm, false AS none_taken FROM contrasts
    UNION ALL
    SELECT domain, arm, true AS none_taken FROM abstentions
)
GROUP BY ALL
