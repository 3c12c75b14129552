-- Per domain: how long the current slim skills are, in tokens, and how many are still empty.
CREATE VIEW slim_skill_tokens AS
SELECT domain, count(*) AS users, count(*) FILTER (text = '') AS empty, avg(tokens) AS mean,
       quantile_disc(tokens, 0.5) AS p50, quantile_disc(tokens, 0.95) AS p95, max(tokens) AS most
FROM slim_skills
GROUP BY domain
