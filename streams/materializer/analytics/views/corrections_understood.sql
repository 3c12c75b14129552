-- One row per correction: what was said, whether anything in it was understood, and what the skill holds of it since. What
-- was not understood has changed nothing; why_not tells it from what is about somebody else, or not heard yet.
CREATE VIEW corrections_understood AS
SELECT c.user_id, c.domain, c.occurred_at, c.event_id, c.text, c.scope, c.answers,
       coalesce(d.understood, false) AS understood,
       CASE WHEN d.version IS NULL THEN 'not heard yet' WHEN d.understood THEN NULL
            ELSE coalesce(nullif(d.by_pattern, ''), 'not understood') END AS why_not,
       d.by_pattern, d.version, coalesce(s.said, []) AS said,
       coalesce(d.taste_changed, false) AS taste_changed
FROM corrections c LEFT JOIN skill_diffs d USING (user_id, domain, event_id)
LEFT JOIN (
    SELECT user_id, domain, version,
           list(stance || ' ' || dimension || ': ' || value ORDER BY seq) AS said
    FROM statement_changes WHERE kind = 'stated' GROUP BY ALL
) s USING (user_id, domain, version)
