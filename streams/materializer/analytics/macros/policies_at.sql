-- The policies of all users at a moment: one row per line, with its tier.
CREATE MACRO policies_at(moment) AS TABLE
SELECT user_id, domain, attribute_id, tier, from_version, valid_from AS since
FROM skill_history
WHERE valid_from <= moment::TIMESTAMP AND (valid_to > moment::TIMESTAMP OR valid_to IS NULL)
