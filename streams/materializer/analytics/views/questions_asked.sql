-- One row per question that came along with a ranking: when it was answered, what was understood of the answer, the rank of
-- what was taken of that list, and of the next one after the answer. Null: not answered, nothing taken.
CREATE VIEW questions_asked AS
SELECT r.user_id, r.domain, r.ranking_id, r.occurred_at AS asked_at, r.question_id, r.question_dimension AS dimension,
       r.question, c.occurred_at AS answered_at, c.understood, c.said, o.item_rank, n.item_rank AS next_rank
FROM (
    FROM rankings WHERE question_id IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY user_id, ranking_id ORDER BY logged_at, kafka_offset) = 1
) r
LEFT JOIN (
    FROM corrections_understood WHERE answers IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY user_id, domain, answers ORDER BY occurred_at, event_id) = 1
) c ON c.user_id = r.user_id AND c.domain = r.domain AND c.answers = r.question_id
LEFT JOIN outcomes o ON o.user_id = r.user_id AND o.domain = r.domain AND o.ranking_id = r.ranking_id
ASOF LEFT JOIN outcomes n ON n.user_id = r.user_id AND n.domain = r.domain AND c.occurred_at < n.ranked_at
