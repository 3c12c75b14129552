-- What changed in skills since a moment: per domain and attribute, how many users gained it, rose, fell or lost it.
-- Each user counts by their state then and now: changes in between that cancel out do not count.
CREATE MACRO changed_since(moment) AS TABLE
SELECT domain, attribute_id, count(*) AS users,
       count(*) FILTER (earlier IS NULL) AS came, count(*) FILTER (later > earlier) AS rose,
       count(*) FILTER (later < earlier) AS fell, count(*) FILTER (later IS NULL) AS lost
FROM (
    SELECT domain, attribute_id, user_id,
           list_position(['silent', 'low', 'medium', 'high'], first(before ORDER BY version, seq)) AS earlier,
           list_position(['silent', 'low', 'medium', 'high'], last(after ORDER BY version, seq)) AS later
    FROM skill_changes
    WHERE occurred_at >= moment::TIMESTAMP AND before IS DISTINCT FROM after
    GROUP BY ALL
)
WHERE earlier IS DISTINCT FROM later
GROUP BY ALL
ORDER BY users DESC, domain, attribute_id
