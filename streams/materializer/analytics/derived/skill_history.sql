INSERT INTO skill_history
SELECT user_id, domain, attribute_id, after AS tier, before, kind AS became_by, version AS from_version, valid_from,
       lead(version) OVER line AS to_version, lead(valid_from) OVER line AS valid_to
FROM skill_changes SEMI JOIN stale_users USING (user_id)
JOIN (FROM skill_versions SEMI JOIN stale_users USING (user_id)) USING (user_id, domain, version)
WHERE before IS DISTINCT FROM after
WINDOW line AS (PARTITION BY user_id, domain, attribute_id ORDER BY version, seq)
QUALIFY after IS NOT NULL
