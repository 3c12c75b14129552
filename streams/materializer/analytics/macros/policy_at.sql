-- The policy of one user at a moment: every line with its tier, since when it was of that tier, and at which version.
CREATE MACRO policy_at(who, moment) AS TABLE
SELECT h.domain, v.version, h.attribute_id, h.tier, h.valid_from AS since, h.from_version AS since_version, h.became_by
FROM skill_history h JOIN skill_versions v USING (user_id, domain)
WHERE h.user_id = who
  AND h.valid_from <= moment::TIMESTAMP AND (h.valid_to > moment::TIMESTAMP OR h.valid_to IS NULL)
  AND v.valid_from <= moment::TIMESTAMP AND (v.valid_to > moment::TIMESTAMP OR v.valid_to IS NULL)
ORDER BY h.domain, h.tier = 'low', h.tier = 'medium', h.attribute_id
