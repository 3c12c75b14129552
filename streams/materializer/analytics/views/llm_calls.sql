-- Every LLM call, and every call that a fallback answered instead: its part (evolve, listen, rank,
-- facets, slim, global-skill), with tokens, time and dollars at the prices in meta.
CREATE VIEW llm_calls AS
WITH every AS (
    SELECT 'evolve' AS part, user_id, domain, event_id, occurred_at, reasoner, model, prompt, prompt_hash,
           calls, prompt_tokens, completion_tokens, latency_ms, fallback
    FROM skill_diffs
    UNION ALL BY NAME
    SELECT part, user_id, domain, event_id, occurred_at, reasoner, model, prompt, prompt_hash,
           calls, prompt_tokens, completion_tokens, latency_ms, fallback
    FROM ranking_calls
    UNION ALL BY NAME
    SELECT 'listen' AS part, user_id, event_id, occurred_at, reasoner, model, prompt, prompt_hash,
           calls, prompt_tokens, completion_tokens, latency_ms, fallback
    FROM card_diffs
    UNION ALL BY NAME
    SELECT 'global-skill' AS part, domain, event_id, updated_at AS occurred_at,
           told ->> '$.reasoner' AS reasoner, told ->> '$.model' AS model,
           told ->> '$.prompt' AS prompt, told ->> '$.prompt_hash' AS prompt_hash,
           (told ->> '$.calls')::BIGINT AS calls, (told ->> '$.prompt_tokens')::BIGINT AS prompt_tokens,
           (told ->> '$.completion_tokens')::BIGINT AS completion_tokens,
           (told ->> '$.latency_ms')::BIGINT AS latency_ms, told ->> '$.fallback' AS fallback
    FROM (SELECT *, document::JSON -> '$.reasoned_by' AS told FROM global_skills)
)
SELECT every.*,
       (prompt_tokens * meta.llm_price_prompt + completion_tokens * meta.llm_price_completion) / 1e6 AS cost_dollars
FROM every CROSS JOIN meta
WHERE calls > 0 OR fallback IS NOT NULL
