-- The catalogue: the newest entry per item
CREATE TABLE items (
    item_id VARCHAR PRIMARY KEY, domain VARCHAR, title VARCHAR, description VARCHAR, quoted VARCHAR[],
    metadata VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, logged_at TIMESTAMP, kafka_partition INTEGER,
    kafka_offset BIGINT);

-- Past positive events that feed the statistical prior
CREATE TABLE interactions (
    user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, item_id VARCHAR, title VARCHAR,
    logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (user_id, event_id));

-- Requests for a ranking; the answer in rankings has ranking_id = request_id
CREATE TABLE rank_requests (
    user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, request_id VARCHAR, instruction VARCHAR,
    item_ids VARCHAR[], clarify BOOLEAN, session_id VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER,
    kafka_offset BIGINT, PRIMARY KEY (user_id, event_id));

-- Rankings that users were shown, and the skill behind each
CREATE TABLE rankings (
    user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, ranking_id VARCHAR, instruction VARCHAR,
    item_ids VARCHAR[], ranked_by VARCHAR, skill_version BIGINT, slim_skill VARCHAR, reasoner VARCHAR, facets VARCHAR[],
    memory_version BIGINT, graph_epoch BIGINT, model VARCHAR, prompt VARCHAR, prompt_hash VARCHAR, llm_calls BIGINT,
    prompt_tokens BIGINT, completion_tokens BIGINT, repaired BIGINT, fallback VARCHAR, injected VARCHAR, arm VARCHAR,
    session_id VARCHAR, chances DOUBLE[], nothing DOUBLE, suits BOOLEAN, followed VARCHAR[], question_id VARCHAR,
    question_dimension VARCHAR, question VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT,
    PRIMARY KEY (user_id, event_id));

-- One row per collaborative facet that was injected into a ranking; comes with its row of rankings
CREATE TABLE ranking_facets (
    user_id VARCHAR, event_id VARCHAR, seq BIGINT, domain VARCHAR, occurred_at TIMESTAMP, facet VARCHAR,
    attribute_id VARCHAR, confidence DOUBLE, supporting_neighbors VARCHAR[]);

-- One row per reasoned part of a ranking (order, facets, slim skill) with its cost; comes with its row of rankings
CREATE TABLE ranking_calls (
    user_id VARCHAR, event_id VARCHAR, part VARCHAR, domain VARCHAR, occurred_at TIMESTAMP, reasoner VARCHAR,
    model VARCHAR, prompt VARCHAR, prompt_hash VARCHAR, calls BIGINT, prompt_tokens BIGINT, completion_tokens BIGINT,
    latency_ms BIGINT, fallback VARCHAR);

-- Items that users took from rankings; a list from which the user took nothing has a row, too
CREATE TABLE selections (
    user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, ranking_id VARCHAR, item_id VARCHAR, skill_version BIGINT,
    others VARCHAR[], in_order BOOLEAN, none_taken BOOLEAN, session_id VARCHAR, logged_at TIMESTAMP,
    kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (user_id, event_id));

-- Signals about items that are no choices: ratings, likes, skips, purchases, an app's own. Their effect is in
-- skill_diffs, by event_id
CREATE TABLE feedback (
    user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, item_id VARCHAR, title VARCHAR,
    signal VARCHAR, value DOUBLE, scale_worst DOUBLE, scale_best DOUBLE, ranking_id VARCHAR, session_id VARCHAR,
    logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (user_id, event_id));

-- Statements of users about a ranking, an item or in general, in words or by a form; corrections_understood has
-- their effect
CREATE TABLE corrections (
    user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, text VARCHAR, language VARCHAR,
    item_ids VARCHAR[], item_id VARCHAR, acceptable VARCHAR[], scope VARCHAR, answers VARCHAR, ranking_id VARCHAR,
    session_id VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT,
    PRIMARY KEY (user_id, event_id));

-- Rankings that the user declined as a whole; this counts against no item in them
CREATE TABLE abstentions (
    user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, ranking_id VARCHAR, instruction VARCHAR,
    item_ids VARCHAR[], skill_version BIGINT, arm VARCHAR, session_id VARCHAR, logged_at TIMESTAMP,
    kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (user_id, event_id));

-- Chosen against unchosen, in the context of their ranking; unchosen is not disliked
CREATE TABLE contrasts (
    user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, ranking_id VARCHAR, instruction VARCHAR,
    chosen_item_id VARCHAR, chosen_title VARCHAR, chosen_rank BIGINT, unchosen_item_ids VARCHAR[], skill_version BIGINT,
    arm VARCHAR, also_item_ids VARCHAR[], in_order BOOLEAN, session_id VARCHAR,
    items STRUCT(item_id VARCHAR, facts STRUCT(dimension VARCHAR, "value" VARCHAR)[], measures MAP(VARCHAR, DOUBLE))[],
    logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (user_id, event_id));

-- The log of truth: one row per version of a skill; the first diff of a version is kept
CREATE TABLE skill_diffs (
    user_id VARCHAR, domain VARCHAR, version BIGINT, base_version BIGINT, event_id VARCHAR, occurred_at TIMESTAMP,
    is_contrast BOOLEAN, evidence_event_id VARCHAR, evidence_item_id VARCHAR, reasoner VARCHAR, model VARCHAR,
    prompt VARCHAR, prompt_hash VARCHAR, prompt_tokens BIGINT, completion_tokens BIGINT, calls BIGINT,
    latency_ms BIGINT, fallback VARCHAR, seeded BIGINT, reinforced BIGINT, discovered BIGINT,
    weakened BIGINT, removed BIGINT, evicted BIGINT, pinned BIGINT, unpinned BIGINT, by_person BIGINT, shifted BIGINT,
    faded BIGINT, refused BIGINT, statements BIGINT, analysis VARCHAR, frozen BOOLEAN, rolled_back_to BIGINT,
    rewritten BIGINT, chain VARCHAR, trigger VARCHAR, understood BOOLEAN, words VARCHAR, value DOUBLE, by_pattern VARCHAR,
    taste_changed BOOLEAN, session_id VARCHAR, document VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER,
    kafka_offset BIGINT, PRIMARY KEY (user_id, domain, version));

-- One row per change of an attribute, those of the seed included; comes with its row of skill_diffs
CREATE TABLE skill_changes (
    user_id VARCHAR, domain VARCHAR, version BIGINT, seq BIGINT, kind VARCHAR, attribute_id VARCHAR, before VARCHAR,
    after VARCHAR, reason VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, taken DOUBLE, expected DOUBLE);

-- One row per proposal of a reasoner that the merge refused; comes with its row of skill_diffs
CREATE TABLE skill_refusals (
    user_id VARCHAR, domain VARCHAR, version BIGINT, seq BIGINT, attribute_id VARCHAR, proposed VARCHAR, why VARCHAR,
    event_id VARCHAR, occurred_at TIMESTAMP);

-- One row per statement that a version added, replaced or removed; comes with its row of skill_diffs
CREATE TABLE statement_changes (
    user_id VARCHAR, domain VARCHAR, version BIGINT, seq BIGINT, kind VARCHAR, statement_id VARCHAR, reason VARCHAR,
    stance VARCHAR, attribute_id VARCHAR, dimension VARCHAR, value VARCHAR, over VARCHAR, item_id VARCHAR,
    measure VARCHAR, above DOUBLE, below DOUBLE, words VARCHAR, scope VARCHAR, session_id VARCHAR, stated_at TIMESTAMP,
    until TIMESTAMP, since BIGINT, times BIGINT, evidence_event_id VARCHAR, evidence_item_id VARCHAR, event_id VARCHAR,
    occurred_at TIMESTAMP);

-- The current policy skill per user and domain
CREATE TABLE skills (
    user_id VARCHAR, domain VARCHAR, version BIGINT, contrasts BIGINT, attributes BIGINT, high BIGINT, medium BIGINT,
    low BIGINT, silent BIGINT, must_include VARCHAR[], tie_breaker VARCHAR, frozen BOOLEAN, statements BIGINT,
    shifted BIGINT, event_id VARCHAR, updated_at TIMESTAMP, document VARCHAR, logged_at TIMESTAMP,
    kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (user_id, domain));

-- The attributes of all current skills; replaced together with the row of skills
CREATE TABLE skill_attributes (
    user_id VARCHAR, domain VARCHAR, version BIGINT, place BIGINT, attribute_id VARCHAR, kind VARCHAR,
    dimension VARCHAR, value VARCHAR, tier VARCHAR, source VARCHAR, support BIGINT, contradictions BIGINT,
    confirmed_at BIGINT, weakened_at BIGINT, pinned BOOLEAN, evidence_event_ids VARCHAR[], taken DOUBLE,
    expected DOUBLE, proof DOUBLE, drift DOUBLE);

-- Statements of users about their taste, as in the current skills; replaced together with the row of skills.
-- statements_now leaves out expired ones
CREATE TABLE statements (
    user_id VARCHAR, domain VARCHAR, version BIGINT, place BIGINT, statement_id VARCHAR, stance VARCHAR,
    attribute_id VARCHAR, dimension VARCHAR, value VARCHAR, over VARCHAR, item_id VARCHAR, measure VARCHAR,
    above DOUBLE, below DOUBLE, words VARCHAR, scope VARCHAR, session_id VARCHAR, stated_at TIMESTAMP, until TIMESTAMP,
    since BIGINT, times BIGINT, evidence_event_id VARCHAR, evidence_item_id VARCHAR, doubtful BOOLEAN);

-- The current slim skill per user and domain, which an app injects into its prompt
CREATE TABLE slim_skills (
    user_id VARCHAR, domain VARCHAR, skill_version BIGINT, text VARCHAR, likes VARCHAR[], avoids VARCHAR[],
    style VARCHAR, tokens BIGINT, session_id VARCHAR, session_until TIMESTAMP, now VARCHAR[], session_text VARCHAR,
    seal VARCHAR, event_id VARCHAR, updated_at TIMESTAMP, logged_at TIMESTAMP, kafka_partition INTEGER,
    kafka_offset BIGINT, PRIMARY KEY (user_id, domain));

-- Changes that people made to skills
CREATE TABLE skill_commands (
    user_id VARCHAR, event_id VARCHAR, occurred_at TIMESTAMP, domain VARCHAR, action VARCHAR, attribute_id VARCHAR,
    actor VARCHAR, reason VARCHAR, value VARCHAR, tier VARCHAR, to_version BIGINT, logged_at TIMESTAMP,
    kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (user_id, event_id));

-- The log of cards: one row per version. A version that was rewritten to erase a line replaces the first
CREATE TABLE card_diffs (
    user_id VARCHAR, version BIGINT, event_id VARCHAR, occurred_at TIMESTAMP, conversation_id VARCHAR, changes BIGINT,
    not_kept BIGINT, reasoner VARCHAR, model VARCHAR, prompt VARCHAR, prompt_hash VARCHAR, calls BIGINT,
    prompt_tokens BIGINT, completion_tokens BIGINT, latency_ms BIGINT, fallback VARCHAR,
    document VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT,
    PRIMARY KEY (user_id, version));

-- One row per change of a line; comes with its row of card_diffs
CREATE TABLE card_changes (
    user_id VARCHAR, version BIGINT, seq BIGINT, kind VARCHAR, line_id VARCHAR, reason VARCHAR, stance VARCHAR,
    dimension VARCHAR, value VARCHAR, domain VARCHAR, strength VARCHAR, overtaken_by VARCHAR, event_id VARCHAR,
    occurred_at TIMESTAMP);

-- One row per kind of statement that was not kept, without a quotation; comes with its row of card_diffs
CREATE TABLE card_receipts (
    user_id VARCHAR, version BIGINT, kind VARCHAR, times BIGINT, event_id VARCHAR, occurred_at TIMESTAMP);

-- The current card per person, across domains
CREATE TABLE cards (
    user_id VARCHAR PRIMARY KEY, version BIGINT, lines BIGINT, past BIGINT, pinned BIGINT,
    event_id VARCHAR, updated_at TIMESTAMP, document VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER,
    kafka_offset BIGINT);

-- The lines of all current cards, and the past ones; replaced together with the row of cards
CREATE TABLE card_lines (
    user_id VARCHAR, version BIGINT, place BIGINT, line_id VARCHAR, stance VARCHAR, dimension VARCHAR, value VARCHAR,
    domain VARCHAR, strength VARCHAR, words VARCHAR, weight DOUBLE, against DOUBLE, since TIMESTAMP,
    confirmed_at TIMESTAMP, since_version BIGINT, times BIGINT, evidence VARCHAR[], pinned BOOLEAN, is_past BOOLEAN,
    overtaken_by VARCHAR, overtaken_at TIMESTAMP);

-- Receipts of erasures, with people and lines as digests: nothing from before their moments is kept or accepted again
CREATE TABLE receipts (
    subject VARCHAR PRIMARY KEY, forgotten_until TIMESTAMP, actor VARCHAR, domains BIGINT, lines BIGINT, done BOOLEAN,
    event_id VARCHAR, occurred_at TIMESTAMP, document VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER,
    kafka_offset BIGINT);

-- The population template per domain
CREATE TABLE global_skills (
    domain VARCHAR PRIMARY KEY, users BIGINT, attribute_ids VARCHAR[], event_id VARCHAR, updated_at TIMESTAMP,
    document VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT);

-- Records that a stage refused, with their original bytes. The id follows from stage and position, and positions
-- repeat in a topic that was recreated: the record's own timestamp tells them apart
CREATE TABLE dead_letters (
    event_id VARCHAR, source_logged_at TIMESTAMP, occurred_at TIMESTAMP, stage VARCHAR, reason VARCHAR, detail VARCHAR,
    source_topic VARCHAR, source_partition BIGINT, source_offset BIGINT, key BLOB, value BLOB, logged_at TIMESTAMP,
    kafka_partition INTEGER, kafka_offset BIGINT, PRIMARY KEY (event_id, source_logged_at));

-- How much each part counts in a domain's rankings, as learned from its choices; learned_weights has it by part
CREATE TABLE weights (
    domain VARCHAR PRIMARY KEY, version BIGINT, choices BIGINT, frozen BOOLEAN, event_id VARCHAR, updated_at TIMESTAMP,
    document VARCHAR, logged_at TIMESTAMP, kafka_partition INTEGER, kafka_offset BIGINT);

-- One row per version of a skill, with the period in which it was in force. An event takes effect when it happened,
-- but not later than it was logged (a clock may be ahead) and not before the version that it follows (an event may
-- be late)
CREATE TABLE skill_versions (
    user_id VARCHAR, domain VARCHAR, version BIGINT, event_id VARCHAR, is_contrast BOOLEAN, contrasts BIGINT,
    valid_from TIMESTAMP, valid_to TIMESTAMP);

-- One row per line of a skill and tier, with the period in which it had that tier
CREATE TABLE skill_history (
    user_id VARCHAR, domain VARCHAR, attribute_id VARCHAR, tier VARCHAR, before VARCHAR, became_by VARCHAR,
    from_version BIGINT, valid_from TIMESTAMP, to_version BIGINT, valid_to TIMESTAMP);

-- One row per ranking with a selection: the rank at which the selected item (of several, the first) was shown, and
-- the measures for one relevant item. Repeated deliveries count once
CREATE TABLE outcomes (
    user_id VARCHAR, domain VARCHAR, ranking_id VARCHAR, ranked_at TIMESTAMP, selected_at TIMESTAMP, nth BIGINT,
    item_id VARCHAR, item_rank BIGINT, candidates BIGINT, hit_at_1 BOOLEAN, hit_at_3 BOOLEAN, hit_at_5 BOOLEAN,
    reciprocal_rank DOUBLE, ndcg_at_3 DOUBLE, ndcg_at_5 DOUBLE, arm VARCHAR, ranked_by VARCHAR, reasoner VARCHAR,
    skill_version BIGINT, version_in_force BIGINT);

-- Users whose derived rows are out of date; empty in a published file
CREATE TABLE stale_users (user_id VARCHAR);

-- How far each partition has been read into this file; written in the same transaction as the rows
CREATE TABLE sink_offsets (
    topic VARCHAR, kafka_partition INTEGER, next_offset BIGINT, topic_id VARCHAR,
    PRIMARY KEY (topic, kafka_partition));

-- One row: the identity of this file
CREATE TABLE meta (
    schema_version BIGINT PRIMARY KEY, prefix VARCHAR, llm_price_prompt DOUBLE, llm_price_completion DOUBLE,
    queries VARCHAR, is_stained BOOLEAN);

-- One row: the freshness of this file
CREATE TABLE snapshot_info (published_at TIMESTAMP PRIMARY KEY, newest_record_at TIMESTAMP, records BIGINT);
