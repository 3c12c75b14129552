INSERT INTO skill_versions
SELECT *, lead(valid_from) OVER (PARTITION BY user_id, domain ORDER BY version) AS valid_to
FROM (
    SELECT user_id, domain, version, event_id, is_contrast,
           count(*) FILTER (is_contrast) OVER skill AS contrasts,
           max(least(occurred_at, logged_at)) OVER skill AS valid_from
    FROM skill_diffs SEMI JOIN stale_users USING (user_id)
    WINDOW skill AS (PARTITION BY user_id, domain ORDER BY version)
)
