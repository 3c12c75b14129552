-- The evidence behind a line of a user's skill: every event that changed it, with the chosen item, its rank and the
-- request. A seeded line comes from earlier interactions and has no event of its own. Where a model was asked: its
-- verdict, the fact that it quoted, and its analysis; kind is judged where its verdict changed nothing. Where no choice
-- was behind it: what was heard, and the person's words.
CREATE MACRO why(who, line) AS TABLE
WITH said AS (SELECT * FROM judgements WHERE user_id = who AND attribute_id = line),
told AS (
    SELECT domain, version, seq, kind, before, after, reason
    FROM skill_changes WHERE user_id = who AND attribute_id = line
    UNION ALL
    SELECT domain, version, 0, 'judged', NULL, NULL, '' FROM said WHERE led_to IS NULL
)
SELECT c.domain, c.version, d.occurred_at, c.kind, c.before, c.after, c.reason, d.reasoner, d.model,
       CASE WHEN c.kind <> 'seeded' THEN d.evidence_event_id END AS event_id,
       CASE WHEN c.kind <> 'seeded' THEN d.evidence_item_id END AS item_id,
       CASE WHEN c.kind <> 'seeded'
            THEN coalesce(nullif(k.chosen_title, ''), nullif(f.title, ''), i.title) END AS title,
       CASE WHEN c.kind <> 'seeded' THEN k.chosen_rank END AS item_rank,
       CASE WHEN c.kind <> 'seeded' THEN k.instruction END AS instruction,
       CASE WHEN c.kind <> 'seeded' THEN j.verdict END AS verdict,
       CASE WHEN c.kind <> 'seeded' THEN j.quoted END AS quoted,
       CASE WHEN c.kind <> 'seeded' THEN d.analysis END AS analysis, d.heard, d.words
FROM told c JOIN skill_diffs d ON d.user_id = who AND d.domain = c.domain AND d.version = c.version
LEFT JOIN said j ON j.domain = c.domain AND j.version = c.version AND coalesce(j.led_to, 'judged') = c.kind
LEFT JOIN contrasts k ON k.user_id = who AND k.event_id = d.evidence_event_id
LEFT JOIN feedback f ON f.user_id = who AND f.event_id = d.event_id
LEFT JOIN items i ON i.item_id = d.evidence_item_id
ORDER BY c.domain, c.version, c.seq
