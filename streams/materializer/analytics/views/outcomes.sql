-- One row per ranking from which somebody selected: at which rank the item was shown, and the measures of one relevant
-- item that follow. Repeated deliveries count once; item_rank is null, and every measure 0, if it was not shown.
CREATE VIEW outcomes AS
SELECT user_id, domain, ranking_id, ranked_at, selected_at, item_id, item_rank, candidates,
       coalesce(item_rank <= 1, false) AS hit_at_1, coalesce(item_rank <= 3, false) AS hit_at_3,
       coalesce(item_rank <= 5, false) AS hit_at_5,
       coalesce(1 / item_rank, 0) AS reciprocal_rank,
       CASE WHEN item_rank <= 3 THEN 1 / log2(1 + item_rank) ELSE 0 END AS ndcg_at_3,
       CASE WHEN item_rank <= 5 THEN 1 / log2(1 + item_rank) ELSE 0 END AS ndcg_at_5,
       arm, ranked_by, reasoner, skill_version
FROM (
    SELECT s.user_id, r.domain, s.ranking_id, r.occurred_at AS ranked_at, s.occurred_at AS selected_at, s.item_id,
           nullif(list_position(r.item_ids, s.item_id), 0) AS item_rank, len(r.item_ids) AS candidates,
           r.arm, r.ranked_by, r.reasoner, coalesce(s.skill_version, r.skill_version) AS skill_version,
           s.logged_at, s.kafka_offset, r.logged_at AS shown_at, r.kafka_offset AS shown_offset
    FROM selections s JOIN rankings r USING (user_id, ranking_id)
)
QUALIFY row_number() OVER (
    PARTITION BY user_id, ranking_id
    ORDER BY item_rank IS NULL, logged_at, kafka_offset, shown_at, shown_offset) = 1
