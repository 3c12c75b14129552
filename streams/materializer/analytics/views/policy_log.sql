-- One row per change of a skill, with the event and the reasoner behind it; versions without changes too.
CREATE VIEW policy_log AS
SELECT d.user_id, d.domain, d.version, d.occurred_at, c.seq, c.kind, c.attribute_id, c.before, c.after,
       c.reason, c.taken, c.expected, d.reasoner, d.model, d.event_id, d.evidence_item_id
FROM skill_diffs d LEFT JOIN skill_changes c USING (user_id, domain, version)
