-- Per domain and nth selection of a user: how high the selected items ranked, over all users.
CREATE VIEW learning_curve AS
SELECT domain, nth, count(*) AS users, avg(hit_at_1::INT) AS hit_at_1, avg(hit_at_3::INT) AS hit_at_3,
       avg(hit_at_5::INT) AS hit_at_5, avg(ndcg_at_5) AS ndcg_at_5, avg(reciprocal_rank) AS mean_reciprocal_rank
FROM outcomes
GROUP BY domain, nth
