-- The policy of one user at a moment: every line with its tier, and the time and version since which it has had it.
CREATE MACRO policy_at(who, moment) AS TABLE
SELECT domain, attribute_id, tier, became_by, from_version, valid_from AS since
FROM skill_history
WHERE user_id = who
  AND valid_from <= moment::TIMESTAMP AND (valid_to > moment::TIMESTAMP OR valid_to IS NULL)
ORDER BY domain, list_position(['high', 'medium', 'low', 'silent'], tier), attribute_id
