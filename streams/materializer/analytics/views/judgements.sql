-- One row per line that a model was asked about: its verdict (supports, unrelated, contradicts), the fact of the chosen
-- item that it quoted, its analysis of the choice, and what became of the line; null where it stayed as it was.
CREATE VIEW judgements AS
SELECT d.user_id, d.domain, d.version, d.occurred_at, d.event_id, d.evidence_item_id, d.model, d.prompt, d.prompt_hash,
       j.said ->> '$.attribute_id' AS attribute_id, j.said ->> '$.verdict' AS verdict,
       (j.said ->> '$.quoted.dimension') || ': ' || (j.said ->> '$.quoted.value') AS quoted,
       d.analysis, c.kind AS led_to, c.before, c.after
FROM skill_diffs d,
     LATERAL (SELECT unnest(from_json(d.document::JSON -> '$.judged', '["JSON"]')) AS said) j
LEFT JOIN skill_changes c
    ON c.user_id = d.user_id AND c.domain = d.domain AND c.version = d.version
    AND c.attribute_id = j.said ->> '$.attribute_id' AND c.kind <> 'seeded'
WHERE d.calls > 0
