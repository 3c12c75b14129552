-- The policies of all users at a moment: one row per line, with the version that was in force.
CREATE MACRO policies_at(moment) AS TABLE
SELECT user_id, domain, in_force AS version, attribute_id, last(after ORDER BY version, seq) AS tier
FROM skill_changes JOIN (
    SELECT user_id, domain, max(version) AS in_force FROM skill_versions
    WHERE valid_from <= moment::TIMESTAMP GROUP BY ALL
) USING (user_id, domain)
WHERE version <= in_force
GROUP BY ALL
HAVING tier IS NOT NULL
