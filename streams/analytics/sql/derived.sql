INSERT INTO skill_versions
SELECT *, lead(valid_from) OVER (PARTITION BY user_id, domain ORDER BY version) AS valid_to
FROM (
    SELECT user_id, domain, version, event_id, is_contrast,
           count(*) FILTER (is_contrast) OVER skill AS contrasts,
           max(least(occurred_at, logged_at)) OVER skill AS valid_from
    FROM skill_diffs SEMI JOIN stale_users USING (user_id)
    WINDOW skill AS (PARTITION BY user_id, domain ORDER BY version)
);

INSERT INTO skill_history
SELECT user_id, domain, attribute_id, after AS tier, before, kind AS became_by, version AS from_version, valid_from,
       lead(version) OVER line AS to_version, lead(valid_from) OVER line AS valid_to
FROM skill_changes SEMI JOIN stale_users USING (user_id)
JOIN (FROM skill_versions SEMI JOIN stale_users USING (user_id)) USING (user_id, domain, version)
WHERE before IS DISTINCT FROM after
WINDOW line AS (PARTITION BY user_id, domain, attribute_id ORDER BY version, seq)
QUALIFY after IS NOT NULL;

INSERT INTO outcomes
WITH matched AS (
    SELECT s.user_id, r.domain, s.ranking_id, r.occurred_at AS ranked_at, s.occurred_at AS selected_at, s.item_id,
           nullif(list_position(r.item_ids, s.item_id), 0) AS item_rank, len(r.item_ids) AS candidates,
           r.arm, r.ranked_by, r.reasoner, coalesce(s.skill_version, r.skill_version) AS skill_version
    FROM (FROM selections SEMI JOIN stale_users USING (user_id)) s
    JOIN (FROM rankings SEMI JOIN stale_users USING (user_id)) r USING (user_id, ranking_id)
    -- The first answer, as the pipeline has it: a shown item, of several the first, or none; an item that was not shown
    -- counts if there is no other.
    QUALIFY row_number() OVER (
        PARTITION BY s.user_id, s.ranking_id
        ORDER BY s.item_id IS NOT NULL AND item_rank IS NULL,
                 s.logged_at, s.kafka_offset, r.logged_at, r.kafka_offset) = 1
)
SELECT m.user_id, m.domain, ranking_id, ranked_at, selected_at,
       row_number() OVER (PARTITION BY m.user_id, m.domain ORDER BY selected_at, ranking_id) AS nth,
       item_id, item_rank, candidates,
       coalesce(item_rank <= 1, false) AS hit_at_1, coalesce(item_rank <= 3, false) AS hit_at_3,
       coalesce(item_rank <= 5, false) AS hit_at_5,
       coalesce(1 / item_rank, 0) AS reciprocal_rank,
       CASE WHEN item_rank <= 3 THEN 1 / log2(1 + item_rank) ELSE 0 END AS ndcg_at_3,
       CASE WHEN item_rank <= 5 THEN 1 / log2(1 + item_rank) ELSE 0 END AS ndcg_at_5,
       arm, ranked_by, reasoner, skill_version, coalesce(v.version, 0) AS version_in_force
-- Versions that a late event follows have the same start: ASOF would take any of them.
FROM (FROM matched WHERE item_id IS NOT NULL) m ASOF LEFT JOIN (
    FROM skill_versions SEMI JOIN stale_users USING (user_id) WHERE valid_to IS DISTINCT FROM valid_from) v
  ON m.user_id = v.user_id AND m.domain = v.domain AND m.ranked_at >= v.valid_from;

