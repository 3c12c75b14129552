-- One row per line that fell because a taste may have changed: observed (choices suggest it; some are false alarms),
-- overtaken (older than such a change) or faded (not confirmed for long). A change that the person reported is one row,
-- with the attribute that they named.
CREATE VIEW shifts AS
SELECT d.user_id, d.domain, d.version, d.occurred_at,
       CASE WHEN c.kind <> 'shifted' THEN c.kind WHEN d.heard = 'correction' THEN 'stated' ELSE 'observed' END AS how,
       c.attribute_id, c.before, c.after, c.reason, d.words, d.event_id
FROM skill_diffs d JOIN skill_changes c
    ON c.user_id = d.user_id AND c.domain = d.domain AND c.version = d.version
    AND c.kind IN ('shifted', 'faded', 'overtaken')
UNION ALL
SELECT d.user_id, d.domain, d.version, d.occurred_at,
       CASE WHEN d.heard = 'correction' THEN 'stated' ELSE 'observed' END AS how,
       (SELECT min(s.attribute_id) FROM statement_changes s
        WHERE s.user_id = d.user_id AND s.domain = d.domain AND s.version = d.version AND s.stance = 'avoids'),
       NULL, NULL, NULL, d.words, d.event_id
FROM skill_diffs d WHERE d.taste_changed AND d.shifted = 0
