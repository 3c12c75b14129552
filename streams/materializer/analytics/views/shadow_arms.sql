-- Per week, domain and shadow arm: how high the live and the shadow skills rank the chosen items, on the same choices.
-- difference is shadow minus live in NDCG@5, difference_error its standard error by users; beyond twice that, it is
-- significant. choices_behind: choices where the shadow skill had learned from fewer choices than the live one.
CREATE VIEW shadow_arms AS
SELECT week, domain, arm, count(*) AS users, sum(choices)::BIGINT AS choices, sum(behind)::BIGINT AS choices_behind,
       sum(live_at_1) / sum(choices) AS live_hit_at_1, sum(shadow_at_1) / sum(choices) AS shadow_hit_at_1,
       sum(live_at_3) / sum(choices) AS live_hit_at_3, sum(shadow_at_3) / sum(choices) AS shadow_hit_at_3,
       sum(live_at_5) / sum(choices) AS live_hit_at_5, sum(shadow_at_5) / sum(choices) AS shadow_hit_at_5,
       sum(live_ndcg) / sum(choices) AS live_ndcg_at_5, sum(shadow_ndcg) / sum(choices) AS shadow_ndcg_at_5,
       sum(delta) / sum(choices) AS difference,
       -- Of a ratio of sums over users, linearised; sum((d - r n)^2) written out.
       CASE WHEN count(*) > 1 THEN
           sqrt(greatest(0, sum(delta * delta) - 2 * sum(delta) / sum(choices) * sum(delta * choices)
                            + (sum(delta) / sum(choices)) ** 2 * sum(choices * choices)) * count(*) / (count(*) - 1))
           / sum(choices)
       END AS difference_error
FROM (
    SELECT date_trunc('week', occurred_at)::DATE AS week, domain, arm, user_id, count(*)::DOUBLE AS choices,
           count(*) FILTER (shadow_contrasts < live_contrasts) AS behind,
           count(*) FILTER (live_rank <= 1) AS live_at_1, count(*) FILTER (shadow_rank <= 1) AS shadow_at_1,
           count(*) FILTER (live_rank <= 3) AS live_at_3, count(*) FILTER (shadow_rank <= 3) AS shadow_at_3,
           count(*) FILTER (live_rank <= 5) AS live_at_5, count(*) FILTER (shadow_rank <= 5) AS shadow_at_5,
           sum(CASE WHEN live_rank <= 5 THEN 1 / log2(1 + live_rank) ELSE 0 END) AS live_ndcg,
           sum(CASE WHEN shadow_rank <= 5 THEN 1 / log2(1 + shadow_rank) ELSE 0 END) AS shadow_ndcg,
           shadow_ndcg - live_ndcg AS delta
    FROM shadow_outcomes GROUP BY ALL
)
GROUP BY week, domain, arm
