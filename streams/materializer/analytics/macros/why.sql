-- The evidence behind a line of a user's skill: every event that changed it, with the chosen item, its rank and the
-- request. A seeded line comes from earlier interactions and has no event of its own.
CREATE MACRO why(who, line) AS TABLE
SELECT c.domain, c.version, c.occurred_at, c.kind, c.before, c.after, c.reason, d.reasoner, d.model,
       CASE WHEN c.kind <> 'seeded' THEN d.evidence_event_id END AS event_id,
       CASE WHEN c.kind <> 'seeded' THEN d.evidence_item_id END AS item_id,
       CASE WHEN c.kind <> 'seeded' THEN coalesce(nullif(k.chosen_title, ''), i.title) END AS title,
       CASE WHEN c.kind <> 'seeded' THEN k.chosen_rank END AS item_rank,
       CASE WHEN c.kind <> 'seeded' THEN k.instruction END AS instruction
FROM skill_changes c JOIN skill_diffs d USING (user_id, domain, version)
LEFT JOIN contrasts k ON k.user_id = c.user_id AND k.event_id = d.evidence_event_id
LEFT JOIN items i ON i.item_id = d.evidence_item_id
WHERE c.user_id = who AND c.attribute_id = line
ORDER BY c.domain, c.version, c.seq
