-- Per domain and attribute: how many current skills hold it, at which tier, and their share of all skills. Silent lines
-- are not counted: they say nothing.
CREATE VIEW attribute_adoption AS
SELECT domain, attribute_id, any_value(kind) AS kind, any_value(dimension) AS dimension, any_value(value) AS value,
       count(*) AS users, count(*) FILTER (tier = 'high') AS high, count(*) FILTER (tier = 'medium') AS medium,
       count(*) FILTER (tier = 'low') AS low, count(*) FILTER (source = 'discovered') AS discovered,
       count(*) / any_value(skills) AS share
FROM skill_attributes JOIN (SELECT domain, count(*) AS skills FROM skills GROUP BY domain) USING (domain)
WHERE tier <> 'silent'
GROUP BY domain, attribute_id
