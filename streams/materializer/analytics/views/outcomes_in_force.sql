-- Outcomes with the version that the user's skill had when the ranking was made (ASOF), next to the version that had
-- its say: behind tells by how many versions the ranking lagged. 0: the prior alone.
CREATE VIEW outcomes_in_force AS
SELECT o.user_id, o.domain, o.ranking_id, o.ranked_at, o.item_rank, o.reciprocal_rank, o.arm,
       o.skill_version AS version_used, coalesce(v.version, 0) AS version_in_force,
       version_in_force - version_used AS behind
FROM outcomes o ASOF LEFT JOIN skill_versions v
  ON o.user_id = v.user_id AND o.domain = v.domain AND o.ranked_at >= v.valid_from
