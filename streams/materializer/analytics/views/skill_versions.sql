-- One row per version of a skill and the time in which it was in force: from valid_from on, before valid_to;
-- null: still. An event takes effect when it happened, though never later than it was logged, which makes good a
-- clock that is ahead, and never before the version that it follows, which is where a late event comes in.
CREATE VIEW skill_versions AS
SELECT *, lead(valid_from) OVER (PARTITION BY user_id, domain ORDER BY version) AS valid_to
FROM (
    SELECT user_id, domain, version,
           max(least(occurred_at, logged_at)) OVER (PARTITION BY user_id, domain ORDER BY version) AS valid_from,
           event_id, is_contrast, reasoner, model
    FROM skill_diffs
)
