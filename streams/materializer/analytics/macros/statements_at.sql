-- What a user had said of their taste and still meant at a moment, with the version that brought it. What was said for a
-- session or for now counts until its time was over.
CREATE MACRO statements_at(who, moment) AS TABLE
SELECT domain, stance, dimension, value, over, words, scope, session_id, said_at, until, times, version AS from_version
FROM (
    SELECT c.*, v.valid_from
    FROM statement_changes c JOIN skill_versions v USING (user_id, domain, version)
    WHERE user_id = who AND v.valid_from <= moment::TIMESTAMP
    QUALIFY row_number() OVER (PARTITION BY domain, statement_id ORDER BY version DESC, seq DESC) = 1
)
WHERE stance IS NOT NULL AND (until IS NULL OR until > moment::TIMESTAMP)
ORDER BY domain, said_at, statement_id
