-- Users whose policy stopped helping: the mean reciprocal rank of their last n choices from rankings that used
-- a skill is below that of the n before by more than so many standard errors. By chance alone about one user in forty
-- is beyond two, more where n is small: use it as a list of users to look at.
CREATE MACRO stopped_helping(n := 10, errors := 2) AS TABLE
SELECT user_id, domain, avg(reciprocal_rank) FILTER (nth_last > n) AS before,
       avg(reciprocal_rank) FILTER (nth_last <= n) AS lately, before - lately AS loss,
       sqrt((var_samp(reciprocal_rank) FILTER (nth_last > n) + var_samp(reciprocal_rank) FILTER (nth_last <= n)) / n)
           AS standard_error,
       max(selected_at) AS last_choice_at
FROM (
    SELECT user_id, domain, reciprocal_rank, selected_at,
           row_number() OVER (PARTITION BY user_id, domain ORDER BY nth DESC) AS nth_last
    FROM outcomes WHERE skill_version > 0
    QUALIFY nth_last <= 2 * n
)
GROUP BY ALL
HAVING count(*) = 2 * n AND loss > errors * standard_error
ORDER BY loss DESC, user_id, domain
