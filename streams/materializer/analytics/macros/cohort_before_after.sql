-- Hit rates before and after a skill evolved, by the week in which a user's first choice was learned from. Before:
-- rankings made until version `evolved` was in force; after: rankings that used it or a later one. Only users
-- with both, equally weighted; gain_error is the standard error of the gain at 3.
CREATE MACRO cohort_before_after(evolved := 1) AS TABLE
SELECT cohort, domain, count(*) AS users, sum(choices_before)::BIGINT AS choices_before,
       sum(choices_after)::BIGINT AS choices_after,
       avg(at_1_before) AS hit_at_1_before, avg(at_1_after) AS hit_at_1_after,
       avg(at_3_before) AS hit_at_3_before, avg(at_3_after) AS hit_at_3_after,
       avg(at_3_after - at_3_before) AS gain_at_3, stddev_samp(at_3_after - at_3_before) / sqrt(users) AS gain_error
FROM (
    SELECT user_id, domain,
           count(*) FILTER (version_in_force < evolved) AS choices_before,
           count(*) FILTER (skill_version >= evolved) AS choices_after,
           avg(hit_at_1::INT) FILTER (version_in_force < evolved) AS at_1_before,
           avg(hit_at_1::INT) FILTER (skill_version >= evolved) AS at_1_after,
           avg(hit_at_3::INT) FILTER (version_in_force < evolved) AS at_3_before,
           avg(hit_at_3::INT) FILTER (skill_version >= evolved) AS at_3_after
    FROM outcomes GROUP BY ALL HAVING choices_before > 0 AND choices_after > 0
) JOIN (
    SELECT user_id, domain, date_trunc('week', valid_from)::DATE AS cohort
    FROM skill_versions WHERE is_contrast AND contrasts = 1
) USING (user_id, domain)
GROUP BY cohort, domain
ORDER BY cohort, domain
