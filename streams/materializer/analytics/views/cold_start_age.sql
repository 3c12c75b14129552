-- Per user and domain: how long it took until the first line of tier medium or high, from which on the slim skill is not
-- empty: in choices, and in days since the first version. 0: the prior had one. Null: still cold.
CREATE VIEW cold_start_age AS
WITH skill AS (
    SELECT user_id, domain, min(valid_from) AS started_at, max(contrasts) AS choices_so_far
    FROM skill_versions GROUP BY ALL
), warm AS (
    SELECT user_id, domain, min(from_version) AS version, bool_or(became_by = 'seeded') AS seeded
    FROM skill_history WHERE tier IN ('medium', 'high') GROUP BY ALL
)
SELECT skill.*, if(seeded, 0, v.contrasts) AS choices,
       if(seeded, 0, epoch(v.valid_from - started_at) / 86400) AS days
FROM skill LEFT JOIN warm USING (user_id, domain)
LEFT JOIN skill_versions v ON v.user_id = skill.user_id AND v.domain = skill.domain AND v.version = warm.version
