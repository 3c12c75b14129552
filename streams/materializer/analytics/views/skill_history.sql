-- One row per line of a skill and tier: from when until when it was of that tier, and the version that made it so.
CREATE VIEW skill_history AS
SELECT user_id, domain, attribute_id, after AS tier, kind AS became_by, version AS from_version, valid_from,
       lead(version) OVER line AS to_version, lead(valid_from) OVER line AS valid_to
FROM (
    SELECT c.user_id, c.domain, c.attribute_id, c.after, c.kind, c.version, c.seq, v.valid_from
    FROM skill_changes c JOIN skill_versions v USING (user_id, domain, version)
    WHERE c.before IS DISTINCT FROM c.after
)
WINDOW line AS (PARTITION BY user_id, domain, attribute_id ORDER BY version, seq)
QUALIFY after IS NOT NULL
