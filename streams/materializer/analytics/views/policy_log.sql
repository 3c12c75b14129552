-- One row per change of a skill, with the event and the reasoner behind it; versions without changes too. Where a model
-- was asked: its analysis of the choice, its verdict on the line, and the fact that it quoted. Where no choice was behind
-- it: what was heard (a signal, correction, abstention), and the person's words. What they said is in statement_changes.
CREATE VIEW policy_log AS
SELECT d.user_id, d.domain, d.version, d.occurred_at, c.seq, c.kind, c.attribute_id, c.before, c.after,
       c.reason, c.taken, c.expected, d.reasoner, d.model, d.event_id, d.evidence_item_id, d.analysis, j.verdict,
       j.quoted, d.heard, d.words
FROM skill_diffs d LEFT JOIN skill_changes c USING (user_id, domain, version)
LEFT JOIN judgements j
    ON j.user_id = d.user_id AND j.domain = d.domain AND j.version = d.version
    AND j.attribute_id = c.attribute_id AND j.led_to = c.kind
