-- Per week, domain and arm: how high the selected items ranked. Arms are comparable only if users were assigned at random.
CREATE VIEW arm_results AS
SELECT date_trunc('week', ranked_at)::DATE AS week, domain, arm, count(DISTINCT user_id) AS users, count(*) AS choices,
       avg(hit_at_1::INT) AS hit_at_1, avg(hit_at_3::INT) AS hit_at_3, avg(hit_at_5::INT) AS hit_at_5,
       avg(ndcg_at_3) AS ndcg_at_3, avg(ndcg_at_5) AS ndcg_at_5, avg(reciprocal_rank) AS mean_reciprocal_rank
FROM outcomes
GROUP BY ALL
