-- What people said of their taste, without what had expired when this file was published. Within a session only its own
-- statements and those of no session count.
CREATE VIEW statements_now AS
SELECT user_id, domain, statement_id, stance, dimension, value, over, item_id, measure, above, below, words, scope,
       session_id, said_at, until, times, doubtful, evidence_event_id
FROM statements
WHERE until IS NULL OR until > coalesce((SELECT max(published_at) FROM snapshot_info), TIMESTAMP 'epoch')
