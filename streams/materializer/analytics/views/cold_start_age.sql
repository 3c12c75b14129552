-- Per user and domain: how long it took until the first line of tier medium or high, which is when a slim skill can
-- say something: in choices, and in days since the first version. 0: the prior had one. Null: still cold.
CREATE VIEW cold_start_age AS
WITH warm AS (
    SELECT user_id, domain, min(version) AS version, bool_or(kind = 'seeded') AS seeded
    FROM skill_changes WHERE after IN ('medium', 'high') GROUP BY ALL
)
SELECT v.user_id, v.domain, min(valid_from) AS started_at, count(*) FILTER (is_contrast) AS choices_so_far,
       CASE WHEN bool_or(warm.seeded) THEN 0
            WHEN count(warm.version) > 0 THEN count(*) FILTER (is_contrast AND v.version <= warm.version) END AS choices,
       CASE WHEN bool_or(warm.seeded) THEN 0
            ELSE epoch(max(valid_from) FILTER (v.version <= warm.version) - started_at) / 86400 END AS days
FROM skill_versions v LEFT JOIN warm USING (user_id, domain)
GROUP BY ALL
