-- One row per line that fell because a taste changed or may have: stated (the person said so), observed (it may have
-- changed: choices suggest it, and a few people whose taste holds are here too), overtaken (of before such a change) or
-- faded (nothing confirmed it for long). A change without a line of its own has a row without a line.
CREATE VIEW shifts AS
SELECT d.user_id, d.domain, d.version, d.occurred_at,
       CASE WHEN c.kind = 'faded' AND (d.taste_changed OR d.shifted > 0) THEN 'overtaken' WHEN c.kind = 'faded' THEN 'faded'
            WHEN d.heard = 'correction' THEN 'stated' ELSE 'observed' END AS how,
       c.attribute_id, c.before, c.after, c.reason, d.words, d.event_id
FROM skill_diffs d LEFT JOIN skill_changes c
    ON c.user_id = d.user_id AND c.domain = d.domain AND c.version = d.version AND c.kind IN ('shifted', 'faded')
WHERE d.taste_changed OR c.kind IS NOT NULL
