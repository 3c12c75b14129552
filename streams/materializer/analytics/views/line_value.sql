-- What each line was worth, per user and domain: in how many choices it moved what was taken in its list by the skill
-- alone, the places that it won and lost, and when it last did. Lines that are gone are there too.
CREATE VIEW line_value AS
SELECT user_id, domain, attribute_id, count(*) AS choices, sum(greatest(places, 0)) AS won,
       sum(greatest(-places, 0)) AS lost, sum(places) AS net, max(occurred_at) AS last_at
FROM skill_places
GROUP BY ALL
