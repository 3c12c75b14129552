-- Per domain and part of a ranking's sum, or dimension of a skill's lines: what it counts now, as learned from choices.
-- spread: standard deviation of the estimate. What no choice has said anything about has its start value, and no row.
CREATE VIEW learned_weights AS
SELECT domain, version, choices, frozen, part, name, (held ->> '$.weight')::DOUBLE / 1048576 AS weight,
       sqrt(1024 / (held ->> '$.precision')::DOUBLE) AS spread
FROM (
    SELECT domain, version, choices, frozen, part, unnest(json_keys(held)) AS name,
           held -> ('$."' || name || '"') AS held
    FROM (
        SELECT domain, version, choices, frozen, unnest(['mix', 'dimension']) AS part,
               unnest([document::JSON -> '$.mix', document::JSON -> '$.dimensions']) AS held
        FROM weights
    )
)
