-- A file of layout 3 with some rows, as the program of that time made it. Never changed.
BEGIN;
CREATE TABLE items ("item_id" VARCHAR, "domain" VARCHAR, "title" VARCHAR, "description" VARCHAR, "metadata" VARCHAR, "event_id" VARCHAR, "occurred_at" TIMESTAMP, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, PRIMARY KEY (item_id));
CREATE TABLE interactions ("user_id" VARCHAR, "event_id" VARCHAR, "occurred_at" TIMESTAMP, "domain" VARCHAR, "item_id" VARCHAR, "title" VARCHAR, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, PRIMARY KEY (user_id, event_id));
CREATE TABLE rank_requests ("user_id" VARCHAR, "event_id" VARCHAR, "occurred_at" TIMESTAMP, "domain" VARCHAR, "request_id" VARCHAR, "instruction" VARCHAR, "item_ids" VARCHAR[], "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, PRIMARY KEY (user_id, event_id));
CREATE TABLE rankings ("user_id" VARCHAR, "event_id" VARCHAR, "occurred_at" TIMESTAMP, "domain" VARCHAR, "ranking_id" VARCHAR, "instruction" VARCHAR, "item_ids" VARCHAR[], "ranked_by" VARCHAR, "skill_version" BIGINT, "slim_skill" VARCHAR, "reasoner" VARCHAR, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, "facets" VARCHAR[], "memory_version" BIGINT, "graph_epoch" BIGINT, "model" VARCHAR, "prompt" VARCHAR, "prompt_hash" VARCHAR, "llm_calls" BIGINT, "prompt_tokens" BIGINT, "completion_tokens" BIGINT, "repaired" BIGINT, "fallback" VARCHAR, "injected" VARCHAR, "arm" VARCHAR, PRIMARY KEY (user_id, event_id));
CREATE TABLE ranking_facets ("user_id" VARCHAR, "event_id" VARCHAR, "seq" BIGINT, "domain" VARCHAR, "occurred_at" TIMESTAMP, "facet" VARCHAR, "attribute_id" VARCHAR, "confidence" DOUBLE, "supporting_neighbors" VARCHAR[]);
CREATE TABLE ranking_calls ("user_id" VARCHAR, "event_id" VARCHAR, "part" VARCHAR, "domain" VARCHAR, "occurred_at" TIMESTAMP, "reasoner" VARCHAR, "model" VARCHAR, "prompt" VARCHAR, "prompt_hash" VARCHAR, "calls" BIGINT, "prompt_tokens" BIGINT, "completion_tokens" BIGINT, "latency_ms" BIGINT, "fallback" VARCHAR, "gated" BOOLEAN);
CREATE TABLE selections ("user_id" VARCHAR, "event_id" VARCHAR, "occurred_at" TIMESTAMP, "ranking_id" VARCHAR, "item_id" VARCHAR, "skill_version" BIGINT, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, PRIMARY KEY (user_id, event_id));
CREATE TABLE contrasts ("user_id" VARCHAR, "event_id" VARCHAR, "occurred_at" TIMESTAMP, "domain" VARCHAR, "ranking_id" VARCHAR, "instruction" VARCHAR, "chosen_item_id" VARCHAR, "chosen_title" VARCHAR, "chosen_rank" BIGINT, "unchosen_item_ids" VARCHAR[], "skill_version" BIGINT, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, "arm" VARCHAR, PRIMARY KEY (user_id, event_id));
CREATE TABLE skill_diffs ("user_id" VARCHAR, "domain" VARCHAR, "version" BIGINT, "base_version" BIGINT, "event_id" VARCHAR, "occurred_at" TIMESTAMP, "is_contrast" BOOLEAN, "evidence_event_id" VARCHAR, "evidence_item_id" VARCHAR, "reasoner" VARCHAR, "model" VARCHAR, "prompt_hash" VARCHAR, "prompt_tokens" BIGINT, "completion_tokens" BIGINT, "calls" BIGINT, "latency_ms" BIGINT, "fallback" VARCHAR, "seeded" BIGINT, "reinforced" BIGINT, "discovered" BIGINT, "weakened" BIGINT, "removed" BIGINT, "evicted" BIGINT, "pinned" BIGINT, "unpinned" BIGINT, "refused" BIGINT, "analysis" VARCHAR, "document" VARCHAR, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, "prompt" VARCHAR, "gated" BOOLEAN, PRIMARY KEY (user_id, domain, version));
CREATE TABLE skill_changes ("user_id" VARCHAR, "domain" VARCHAR, "version" BIGINT, "seq" BIGINT, "kind" VARCHAR, "attribute_id" VARCHAR, "before" VARCHAR, "after" VARCHAR, "reason" VARCHAR, "event_id" VARCHAR, "occurred_at" TIMESTAMP);
CREATE TABLE skill_refusals ("user_id" VARCHAR, "domain" VARCHAR, "version" BIGINT, "seq" BIGINT, "attribute_id" VARCHAR, "proposed" VARCHAR, "why" VARCHAR, "event_id" VARCHAR, "occurred_at" TIMESTAMP);
CREATE TABLE skills ("user_id" VARCHAR, "domain" VARCHAR, "version" BIGINT, "contrasts" BIGINT, "attributes" BIGINT, "high" BIGINT, "medium" BIGINT, "low" BIGINT, "must_include" VARCHAR[], "tie_breaker" VARCHAR, "exploration" DOUBLE, "event_id" VARCHAR, "updated_at" TIMESTAMP, "document" VARCHAR, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, PRIMARY KEY (user_id, domain));
CREATE TABLE skill_attributes ("user_id" VARCHAR, "domain" VARCHAR, "version" BIGINT, "place" BIGINT, "attribute_id" VARCHAR, "kind" VARCHAR, "dimension" VARCHAR, "value" VARCHAR, "tier" VARCHAR, "source" VARCHAR, "support" BIGINT, "contradictions" BIGINT, "confirmed_at" BIGINT, "weakened_at" BIGINT, "pinned" BOOLEAN, "evidence_event_ids" VARCHAR[]);
CREATE TABLE slim_skills ("user_id" VARCHAR, "domain" VARCHAR, "skill_version" BIGINT, "text" VARCHAR, "likes" VARCHAR[], "style" VARCHAR, "tokens" BIGINT, "event_id" VARCHAR, "updated_at" TIMESTAMP, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, PRIMARY KEY (user_id, domain));
CREATE TABLE skill_commands ("user_id" VARCHAR, "event_id" VARCHAR, "occurred_at" TIMESTAMP, "domain" VARCHAR, "action" VARCHAR, "attribute_id" VARCHAR, "actor" VARCHAR, "reason" VARCHAR, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, PRIMARY KEY (user_id, event_id));
CREATE TABLE global_skills ("domain" VARCHAR, "users" BIGINT, "attribute_ids" VARCHAR[], "event_id" VARCHAR, "updated_at" TIMESTAMP, "document" VARCHAR, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, PRIMARY KEY (domain));
CREATE TABLE dead_letters ("event_id" VARCHAR, "source_logged_at" TIMESTAMP, "occurred_at" TIMESTAMP, "stage" VARCHAR, "reason" VARCHAR, "detail" VARCHAR, "source_topic" VARCHAR, "source_partition" BIGINT, "source_offset" BIGINT, "key" BLOB, "value" BLOB, "logged_at" TIMESTAMP, "kafka_partition" INTEGER, "kafka_offset" BIGINT, PRIMARY KEY (event_id, source_logged_at));
CREATE TABLE skill_versions ("user_id" VARCHAR, "domain" VARCHAR, "version" BIGINT, "event_id" VARCHAR, "is_contrast" BOOLEAN, "contrasts" BIGINT, "valid_from" TIMESTAMP, "valid_to" TIMESTAMP);
CREATE TABLE skill_history ("user_id" VARCHAR, "domain" VARCHAR, "attribute_id" VARCHAR, "tier" VARCHAR, "before" VARCHAR, "became_by" VARCHAR, "from_version" BIGINT, "valid_from" TIMESTAMP, "to_version" BIGINT, "valid_to" TIMESTAMP);
CREATE TABLE outcomes ("user_id" VARCHAR, "domain" VARCHAR, "ranking_id" VARCHAR, "ranked_at" TIMESTAMP, "selected_at" TIMESTAMP, "nth" BIGINT, "item_id" VARCHAR, "item_rank" BIGINT, "candidates" BIGINT, "hit_at_1" BOOLEAN, "hit_at_3" BOOLEAN, "hit_at_5" BOOLEAN, "reciprocal_rank" DOUBLE, "ndcg_at_3" DOUBLE, "ndcg_at_5" DOUBLE, "arm" VARCHAR, "ranked_by" VARCHAR, "reasoner" VARCHAR, "skill_version" BIGINT, "version_in_force" BIGINT);
CREATE TABLE sink_offsets ("topic" VARCHAR, "kafka_partition" INTEGER, "next_offset" BIGINT, "topic_id" VARCHAR, PRIMARY KEY (topic, kafka_partition));
CREATE TABLE meta ("schema_version" BIGINT, "prefix" VARCHAR, "cluster_id" VARCHAR, "llm_price_prompt" DOUBLE, "llm_price_completion" DOUBLE, "queries" VARCHAR, PRIMARY KEY (schema_version));
CREATE TABLE snapshot_info ("published_at" TIMESTAMP, "newest_record_at" TIMESTAMP, "records" BIGINT, PRIMARY KEY (published_at));
CREATE TABLE stale_users ("user_id" VARCHAR);
COMMENT ON TABLE items IS 'The catalogue: the newest entry per item';
COMMENT ON COLUMN items."item_id" IS 'The item, as the app names it';
COMMENT ON COLUMN items."domain" IS 'The domain, such as books';
COMMENT ON COLUMN items."title" IS 'As sent by the app';
COMMENT ON COLUMN items."description" IS 'As sent by the app';
COMMENT ON COLUMN items."metadata" IS 'Raw facts as JSON text: metadata ->> ''$.genre''';
COMMENT ON COLUMN items."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN items."occurred_at" IS 'When it happened (UTC)';
COMMENT ON COLUMN items."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN items."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN items."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON TABLE interactions IS 'Past positive events that feed the statistical prior';
COMMENT ON COLUMN interactions."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN interactions."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN interactions."occurred_at" IS 'When it happened (UTC)';
COMMENT ON COLUMN interactions."domain" IS 'The domain, such as books';
COMMENT ON COLUMN interactions."item_id" IS 'The item, as the app names it';
COMMENT ON COLUMN interactions."title" IS 'The item''s title';
COMMENT ON COLUMN interactions."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN interactions."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN interactions."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON TABLE rank_requests IS 'Requests for a ranking; the answer in rankings has ranking_id = request_id';
COMMENT ON COLUMN rank_requests."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN rank_requests."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN rank_requests."occurred_at" IS 'When it happened (UTC)';
COMMENT ON COLUMN rank_requests."domain" IS 'The domain, such as books';
COMMENT ON COLUMN rank_requests."request_id" IS 'The ranking_id of the answer';
COMMENT ON COLUMN rank_requests."instruction" IS 'What the user asked for, in their own words';
COMMENT ON COLUMN rank_requests."item_ids" IS 'The candidates as they came';
COMMENT ON COLUMN rank_requests."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN rank_requests."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN rank_requests."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON TABLE rankings IS 'What users were shown, and which skill had its say';
COMMENT ON COLUMN rankings."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN rankings."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN rankings."occurred_at" IS 'When it happened (UTC)';
COMMENT ON COLUMN rankings."domain" IS 'The domain, such as books';
COMMENT ON COLUMN rankings."ranking_id" IS 'The ranking this belongs to; unique per user';
COMMENT ON COLUMN rankings."instruction" IS 'What the user asked for, in their own words';
COMMENT ON COLUMN rankings."item_ids" IS 'The candidates in the order shown, first place first';
COMMENT ON COLUMN rankings."ranked_by" IS 'app or sager';
COMMENT ON COLUMN rankings."skill_version" IS 'The skill''s version that had its say; 0: the prior alone';
COMMENT ON COLUMN rankings."slim_skill" IS 'The words that were injected';
COMMENT ON COLUMN rankings."reasoner" IS 'What ranked, if not the app';
COMMENT ON COLUMN rankings."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN rankings."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN rankings."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON COLUMN rankings."facets" IS 'The collaborative facets that were injected, in order';
COMMENT ON COLUMN rankings."memory_version" IS 'The version of the user''s memory behind the facets';
COMMENT ON COLUMN rankings."graph_epoch" IS 'The version of their neighbourhood; both name the graph that was read';
COMMENT ON COLUMN rankings."model" IS 'The LLM that ranked, if one did';
COMMENT ON COLUMN rankings."prompt" IS 'The prompt''s file and version';
COMMENT ON COLUMN rankings."prompt_hash" IS 'Of all that the model was told';
COMMENT ON COLUMN rankings."llm_calls" IS 'Calls for this ranking: facets, slim skill and order';
COMMENT ON COLUMN rankings."prompt_tokens" IS 'Of all these calls';
COMMENT ON COLUMN rankings."completion_tokens" IS 'Of all these calls';
COMMENT ON COLUMN rankings."repaired" IS 'Ids that a model left out, invented or repeated';
COMMENT ON COLUMN rankings."fallback" IS 'Why another ranker than the configured one answered';
COMMENT ON COLUMN rankings."injected" IS 'All that influenced the order, as JSON text: injected ->> ''$.companions''';
COMMENT ON COLUMN rankings."arm" IS 'The arm of a comparison that the ranking belongs to: as its app named it, or by what was injected';
COMMENT ON TABLE ranking_facets IS 'One row per collaborative facet that was injected into a ranking; comes with its row of rankings';
COMMENT ON COLUMN ranking_facets."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN ranking_facets."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN ranking_facets."seq" IS 'Place among the ranking''s facets, from 1';
COMMENT ON COLUMN ranking_facets."domain" IS 'The domain, such as books';
COMMENT ON COLUMN ranking_facets."occurred_at" IS 'When it happened (UTC)';
COMMENT ON COLUMN ranking_facets."facet" IS 'The line as a prompt shows it';
COMMENT ON COLUMN ranking_facets."attribute_id" IS 'The attribute that it speaks of, if it is one that code can find in an item';
COMMENT ON COLUMN ranking_facets."confidence" IS 'How sure, from 0 to 1';
COMMENT ON COLUMN ranking_facets."supporting_neighbors" IS 'Items on whose account, as item:ID; never another user';
COMMENT ON TABLE ranking_calls IS 'Who did which part of a ranking and what it cost: order, facets, slim skill; comes with its row of rankings';
COMMENT ON COLUMN ranking_calls."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN ranking_calls."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN ranking_calls."part" IS 'rank, facets or slim';
COMMENT ON COLUMN ranking_calls."domain" IS 'The domain, such as books';
COMMENT ON COLUMN ranking_calls."occurred_at" IS 'When it happened (UTC)';
COMMENT ON COLUMN ranking_calls."reasoner" IS 'rules, llm, deterministic, ...';
COMMENT ON COLUMN ranking_calls."model" IS 'The LLM, if one was asked';
COMMENT ON COLUMN ranking_calls."prompt" IS 'The prompt''s file and version';
COMMENT ON COLUMN ranking_calls."prompt_hash" IS 'Of all that the model was told';
COMMENT ON COLUMN ranking_calls."calls" IS 'LLM calls';
COMMENT ON COLUMN ranking_calls."prompt_tokens" IS 'Tokens in, all calls';
COMMENT ON COLUMN ranking_calls."completion_tokens" IS 'Tokens out, all calls';
COMMENT ON COLUMN ranking_calls."latency_ms" IS 'Time that it took';
COMMENT ON COLUMN ranking_calls."fallback" IS 'Why another reasoner than the configured one answered';
COMMENT ON COLUMN ranking_calls."gated" IS 'Whether the LLM was spared: there was nothing new to judge';
COMMENT ON TABLE selections IS 'What users took from rankings';
COMMENT ON COLUMN selections."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN selections."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN selections."occurred_at" IS 'When it happened (UTC)';
COMMENT ON COLUMN selections."ranking_id" IS 'The ranking this belongs to; unique per user';
COMMENT ON COLUMN selections."item_id" IS 'The item, as the app names it';
COMMENT ON COLUMN selections."skill_version" IS 'The slim skill''s version that the app had, if any';
COMMENT ON COLUMN selections."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN selections."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN selections."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON TABLE contrasts IS 'Chosen against unchosen, in the context of their ranking; unchosen is not disliked';
COMMENT ON COLUMN contrasts."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN contrasts."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN contrasts."occurred_at" IS 'When it happened (UTC)';
COMMENT ON COLUMN contrasts."domain" IS 'The domain, such as books';
COMMENT ON COLUMN contrasts."ranking_id" IS 'The ranking this belongs to; unique per user';
COMMENT ON COLUMN contrasts."instruction" IS 'What the user asked for, in their own words';
COMMENT ON COLUMN contrasts."chosen_item_id" IS 'The item that was taken';
COMMENT ON COLUMN contrasts."chosen_title" IS 'Its title';
COMMENT ON COLUMN contrasts."chosen_rank" IS 'The place at which it was shown; 1 is the top';
COMMENT ON COLUMN contrasts."unchosen_item_ids" IS 'The others in reverse rank order: near-misses last';
COMMENT ON COLUMN contrasts."skill_version" IS 'The skill''s version that had its say; 0: the prior alone';
COMMENT ON COLUMN contrasts."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN contrasts."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN contrasts."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON COLUMN contrasts."arm" IS 'The arm of a comparison that the ranking belongs to: as its app named it, or by what was injected';
COMMENT ON TABLE skill_diffs IS 'The log of truth: one row per version of a skill; the first diff of a version is kept';
COMMENT ON COLUMN skill_diffs."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN skill_diffs."domain" IS 'The domain, such as books';
COMMENT ON COLUMN skill_diffs."version" IS 'The skill''s version after this diff';
COMMENT ON COLUMN skill_diffs."base_version" IS 'The version it was merged into';
COMMENT ON COLUMN skill_diffs."event_id" IS 'The contrast or command that it answers';
COMMENT ON COLUMN skill_diffs."occurred_at" IS 'When it happened (UTC)';
COMMENT ON COLUMN skill_diffs."is_contrast" IS 'Whether a contrast was learned from, not a command carried out';
COMMENT ON COLUMN skill_diffs."evidence_event_id" IS 'The event that it rests on';
COMMENT ON COLUMN skill_diffs."evidence_item_id" IS 'The item that it rests on';
COMMENT ON COLUMN skill_diffs."reasoner" IS 'rules, llm, ...';
COMMENT ON COLUMN skill_diffs."model" IS 'The LLM, if any';
COMMENT ON COLUMN skill_diffs."prompt_hash" IS 'Which prompt';
COMMENT ON COLUMN skill_diffs."prompt_tokens" IS 'Tokens in, all calls';
COMMENT ON COLUMN skill_diffs."completion_tokens" IS 'Tokens out, all calls';
COMMENT ON COLUMN skill_diffs."calls" IS 'LLM calls';
COMMENT ON COLUMN skill_diffs."latency_ms" IS 'Time the reasoner took';
COMMENT ON COLUMN skill_diffs."fallback" IS 'Why another reasoner than the configured one answered';
COMMENT ON COLUMN skill_diffs."seeded" IS 'How many attributes were seeded';
COMMENT ON COLUMN skill_diffs."reinforced" IS 'How many attributes were reinforced';
COMMENT ON COLUMN skill_diffs."discovered" IS 'How many attributes were discovered';
COMMENT ON COLUMN skill_diffs."weakened" IS 'How many attributes were weakened';
COMMENT ON COLUMN skill_diffs."removed" IS 'How many attributes were removed';
COMMENT ON COLUMN skill_diffs."evicted" IS 'How many attributes were evicted';
COMMENT ON COLUMN skill_diffs."pinned" IS 'How many attributes were pinned';
COMMENT ON COLUMN skill_diffs."unpinned" IS 'How many attributes were unpinned';
COMMENT ON COLUMN skill_diffs."refused" IS 'How many proposals the merge refused';
COMMENT ON COLUMN skill_diffs."analysis" IS 'The reasoner''s text';
COMMENT ON COLUMN skill_diffs."document" IS 'The record''s exact bytes as text';
COMMENT ON COLUMN skill_diffs."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN skill_diffs."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN skill_diffs."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON COLUMN skill_diffs."prompt" IS 'The prompt''s file and version';
COMMENT ON COLUMN skill_diffs."gated" IS 'Whether the LLM was spared: there was nothing new to judge';
COMMENT ON TABLE skill_changes IS 'One row per change of an attribute, with those of the seed; comes with its row of skill_diffs';
COMMENT ON COLUMN skill_changes."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN skill_changes."domain" IS 'The domain, such as books';
COMMENT ON COLUMN skill_changes."version" IS 'The skill''s version after this diff';
COMMENT ON COLUMN skill_changes."seq" IS 'Place within the diff, from 1';
COMMENT ON COLUMN skill_changes."kind" IS 'seeded, reinforced, discovered, weakened, removed, evicted, pinned or unpinned';
COMMENT ON COLUMN skill_changes."attribute_id" IS 'The attribute; the same as in skill_attributes';
COMMENT ON COLUMN skill_changes."before" IS 'Tier before; null for a new attribute';
COMMENT ON COLUMN skill_changes."after" IS 'Tier after; null for one that is gone';
COMMENT ON COLUMN skill_changes."reason" IS 'Why, in the reasoner''s words';
COMMENT ON COLUMN skill_changes."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN skill_changes."occurred_at" IS 'When it happened (UTC)';
COMMENT ON TABLE skill_refusals IS 'What a reasoner proposed and the merge refused; comes with its row of skill_diffs';
COMMENT ON COLUMN skill_refusals."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN skill_refusals."domain" IS 'The domain, such as books';
COMMENT ON COLUMN skill_refusals."version" IS 'The skill''s version after this diff';
COMMENT ON COLUMN skill_refusals."seq" IS 'Place within the diff, from 1';
COMMENT ON COLUMN skill_refusals."attribute_id" IS 'The attribute; the same as in skill_attributes';
COMMENT ON COLUMN skill_refusals."proposed" IS 'The kind of change that was proposed';
COMMENT ON COLUMN skill_refusals."why" IS 'The merge''s reason';
COMMENT ON COLUMN skill_refusals."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN skill_refusals."occurred_at" IS 'When it happened (UTC)';
COMMENT ON TABLE skills IS 'The current policy skill per user and domain';
COMMENT ON COLUMN skills."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN skills."domain" IS 'The domain, such as books';
COMMENT ON COLUMN skills."version" IS 'The skill''s version';
COMMENT ON COLUMN skills."contrasts" IS 'How many contrasts it has learned from';
COMMENT ON COLUMN skills."attributes" IS 'How many attributes it has';
COMMENT ON COLUMN skills."high" IS 'How many of them are of tier high';
COMMENT ON COLUMN skills."medium" IS 'How many of them are of tier medium';
COMMENT ON COLUMN skills."low" IS 'How many of them are of tier low';
COMMENT ON COLUMN skills."must_include" IS 'Strategy: what a ranking must include';
COMMENT ON COLUMN skills."tie_breaker" IS 'Strategy: what decides between equals';
COMMENT ON COLUMN skills."exploration" IS 'Strategy: share of exploration';
COMMENT ON COLUMN skills."event_id" IS 'The event of the last diff';
COMMENT ON COLUMN skills."updated_at" IS 'When the last diff''s event happened (UTC)';
COMMENT ON COLUMN skills."document" IS 'The record''s exact bytes as text';
COMMENT ON COLUMN skills."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN skills."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN skills."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON TABLE skill_attributes IS 'The attributes of all current skills; replaced together with the row of skills';
COMMENT ON COLUMN skill_attributes."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN skill_attributes."domain" IS 'The domain, such as books';
COMMENT ON COLUMN skill_attributes."version" IS 'The skill''s version';
COMMENT ON COLUMN skill_attributes."place" IS 'Place within the skill, from 1';
COMMENT ON COLUMN skill_attributes."attribute_id" IS 'The attribute; the same as in skill_attributes';
COMMENT ON COLUMN skill_attributes."kind" IS 'preference, pattern or criterion';
COMMENT ON COLUMN skill_attributes."dimension" IS 'Such as genre';
COMMENT ON COLUMN skill_attributes."value" IS 'Such as science fiction';
COMMENT ON COLUMN skill_attributes."tier" IS 'low, medium or high';
COMMENT ON COLUMN skill_attributes."source" IS 'prior, global, discovered or stated';
COMMENT ON COLUMN skill_attributes."support" IS 'Choices that confirmed it, the prior''s included';
COMMENT ON COLUMN skill_attributes."contradictions" IS 'Contradictions since it was last confirmed or demoted';
COMMENT ON COLUMN skill_attributes."confirmed_at" IS 'In the user''s contrasts: when it was last supported';
COMMENT ON COLUMN skill_attributes."weakened_at" IS 'In the user''s contrasts: when it was last weakened';
COMMENT ON COLUMN skill_attributes."pinned" IS 'Whether a person has pinned it';
COMMENT ON COLUMN skill_attributes."evidence_event_ids" IS 'The events that it rests on';
COMMENT ON TABLE slim_skills IS 'The current slim skill per user and domain: what an app injects into its prompt';
COMMENT ON COLUMN slim_skills."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN slim_skills."domain" IS 'The domain, such as books';
COMMENT ON COLUMN slim_skills."skill_version" IS 'The skill''s version it was made from';
COMMENT ON COLUMN slim_skills."text" IS 'likes: X, Y, Z | style: phrase';
COMMENT ON COLUMN slim_skills."likes" IS 'Two or three likes';
COMMENT ON COLUMN slim_skills."style" IS 'One phrase';
COMMENT ON COLUMN slim_skills."tokens" IS 'Length of the text in o200k tokens';
COMMENT ON COLUMN slim_skills."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN slim_skills."updated_at" IS 'When the skill''s last event happened (UTC)';
COMMENT ON COLUMN slim_skills."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN slim_skills."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN slim_skills."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON TABLE skill_commands IS 'What people did to skills';
COMMENT ON COLUMN skill_commands."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN skill_commands."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN skill_commands."occurred_at" IS 'When it happened (UTC)';
COMMENT ON COLUMN skill_commands."domain" IS 'The domain, such as books';
COMMENT ON COLUMN skill_commands."action" IS 'pin, unpin or remove';
COMMENT ON COLUMN skill_commands."attribute_id" IS 'The attribute; the same as in skill_attributes';
COMMENT ON COLUMN skill_commands."actor" IS 'Who did it';
COMMENT ON COLUMN skill_commands."reason" IS 'Why';
COMMENT ON COLUMN skill_commands."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN skill_commands."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN skill_commands."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON TABLE global_skills IS 'The population template per domain';
COMMENT ON COLUMN global_skills."domain" IS 'The domain, such as books';
COMMENT ON COLUMN global_skills."users" IS 'How many users it was computed from';
COMMENT ON COLUMN global_skills."attribute_ids" IS 'Its attributes, in order';
COMMENT ON COLUMN global_skills."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN global_skills."updated_at" IS 'When it was computed (UTC)';
COMMENT ON COLUMN global_skills."document" IS 'The record''s exact bytes as text';
COMMENT ON COLUMN global_skills."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN global_skills."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN global_skills."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON TABLE dead_letters IS 'Records that a stage refused, with their original bytes';
COMMENT ON COLUMN dead_letters."event_id" IS 'Derived from stage and position';
COMMENT ON COLUMN dead_letters."source_logged_at" IS 'The refused record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN dead_letters."occurred_at" IS 'When it was refused (UTC)';
COMMENT ON COLUMN dead_letters."stage" IS 'Who refused it';
COMMENT ON COLUMN dead_letters."reason" IS 'Why, one of a few words';
COMMENT ON COLUMN dead_letters."detail" IS 'Why, for a person';
COMMENT ON COLUMN dead_letters."source_topic" IS 'Where the refused record stands';
COMMENT ON COLUMN dead_letters."source_partition" IS 'Where the refused record stands';
COMMENT ON COLUMN dead_letters."source_offset" IS 'Where the refused record stands';
COMMENT ON COLUMN dead_letters."key" IS 'Its original key';
COMMENT ON COLUMN dead_letters."value" IS 'Its original value, or the beginning of it';
COMMENT ON COLUMN dead_letters."logged_at" IS 'The record''s Kafka timestamp (UTC)';
COMMENT ON COLUMN dead_letters."kafka_partition" IS 'Where the record stands in its topic';
COMMENT ON COLUMN dead_letters."kafka_offset" IS 'Where the record stands in its topic';
COMMENT ON TABLE skill_versions IS 'One row per version of a skill and the time in which it was in force. An event takes effect when it happened, though never later than it was logged, which makes good a clock that is ahead, and never before the version that it follows, which is where a late event comes in';
COMMENT ON COLUMN skill_versions."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN skill_versions."domain" IS 'The domain, such as books';
COMMENT ON COLUMN skill_versions."version" IS 'The skill''s version after this diff';
COMMENT ON COLUMN skill_versions."event_id" IS 'Unique per event and user';
COMMENT ON COLUMN skill_versions."is_contrast" IS 'Whether a contrast was learned from, not a command carried out';
COMMENT ON COLUMN skill_versions."contrasts" IS 'How many contrasts it has learned from';
COMMENT ON COLUMN skill_versions."valid_from" IS 'Since when it was in force (UTC)';
COMMENT ON COLUMN skill_versions."valid_to" IS 'Until when, itself not in it; null: still (UTC)';
COMMENT ON TABLE skill_history IS 'One row per line of a skill and tier: from when until when it was of that tier';
COMMENT ON COLUMN skill_history."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN skill_history."domain" IS 'The domain, such as books';
COMMENT ON COLUMN skill_history."attribute_id" IS 'The attribute; the same as in skill_attributes';
COMMENT ON COLUMN skill_history."tier" IS 'low, medium or high';
COMMENT ON COLUMN skill_history."before" IS 'The tier before; null for a new line';
COMMENT ON COLUMN skill_history."became_by" IS 'The kind of change that made it so';
COMMENT ON COLUMN skill_history."from_version" IS 'The first version with it';
COMMENT ON COLUMN skill_history."valid_from" IS 'Since when it was in force (UTC)';
COMMENT ON COLUMN skill_history."to_version" IS 'The first version without it; null: still';
COMMENT ON COLUMN skill_history."valid_to" IS 'Until when, itself not in it; null: still (UTC)';
COMMENT ON TABLE outcomes IS 'One row per ranking from which somebody selected: at which rank the item was shown, and the measures of one relevant item that follow. Repeated deliveries count once';
COMMENT ON COLUMN outcomes."user_id" IS 'The user, as the app names them';
COMMENT ON COLUMN outcomes."domain" IS 'The domain, such as books';
COMMENT ON COLUMN outcomes."ranking_id" IS 'The ranking this belongs to; unique per user';
COMMENT ON COLUMN outcomes."ranked_at" IS 'When the ranking was made (UTC)';
COMMENT ON COLUMN outcomes."selected_at" IS 'When the item was taken (UTC)';
COMMENT ON COLUMN outcomes."nth" IS 'The user''s first, second, ... selection in this domain';
COMMENT ON COLUMN outcomes."item_id" IS 'The item, as the app names it';
COMMENT ON COLUMN outcomes."item_rank" IS 'The place at which it was shown; 1 is the top; null: it was not';
COMMENT ON COLUMN outcomes."candidates" IS 'How many were shown';
COMMENT ON COLUMN outcomes."hit_at_1" IS 'Whether it was the first';
COMMENT ON COLUMN outcomes."hit_at_3" IS 'Whether it was among the first three';
COMMENT ON COLUMN outcomes."hit_at_5" IS 'Whether it was among the first five';
COMMENT ON COLUMN outcomes."reciprocal_rank" IS '1 / item_rank; 0 if it was not shown. Its mean is the MRR';
COMMENT ON COLUMN outcomes."ndcg_at_3" IS '1 / log2(1 + item_rank) among the first three, 0 beyond';
COMMENT ON COLUMN outcomes."ndcg_at_5" IS 'Likewise among the first five';
COMMENT ON COLUMN outcomes."arm" IS 'The ranking''s arm: as its app named it, or no-skill, prior, evolved';
COMMENT ON COLUMN outcomes."ranked_by" IS 'app or sager';
COMMENT ON COLUMN outcomes."reasoner" IS 'What ranked, if not the app';
COMMENT ON COLUMN outcomes."skill_version" IS 'The skill''s version that had its say; 0: the prior alone, or none';
COMMENT ON COLUMN outcomes."version_in_force" IS 'The version that the skill had when the ranking was made (ASOF); 0: none yet';
COMMENT ON TABLE sink_offsets IS 'Up to where each partition is in this file; written in the transaction that writes the rows';
COMMENT ON COLUMN sink_offsets."topic" IS 'The topic''s full name';
COMMENT ON COLUMN sink_offsets."kafka_partition" IS 'The partition';
COMMENT ON COLUMN sink_offsets."next_offset" IS 'The first offset that is not in this file';
COMMENT ON COLUMN sink_offsets."topic_id" IS 'Kafka''s id of the topic: another one means that it was recreated, and is read again';
COMMENT ON TABLE meta IS 'One row: what this file is';
COMMENT ON COLUMN meta."schema_version" IS 'The layout of these tables';
COMMENT ON COLUMN meta."prefix" IS 'The deployment''s topic prefix';
COMMENT ON COLUMN meta."cluster_id" IS 'The Kafka cluster that the rows came from';
COMMENT ON COLUMN meta."llm_price_prompt" IS 'US dollars per million prompt tokens, as configured at the last start';
COMMENT ON COLUMN meta."llm_price_completion" IS 'US dollars per million completion tokens, likewise';
COMMENT ON COLUMN meta."queries" IS 'Fingerprint of the views, macros and derivations in this file';
COMMENT ON TABLE snapshot_info IS 'One row: how fresh this file is';
COMMENT ON COLUMN snapshot_info."published_at" IS 'When this copy was made (UTC)';
COMMENT ON COLUMN snapshot_info."newest_record_at" IS 'The newest Kafka timestamp in it (UTC)';
COMMENT ON COLUMN snapshot_info."records" IS 'Records read into it, from sink_offsets';
COMMENT ON TABLE stale_users IS 'Users whose derived rows are behind; empty in a published file';
COMMENT ON COLUMN stale_users."user_id" IS 'The user, as the app names them';
CREATE VIEW policy_log AS
SELECT d.user_id, d.domain, d.version, d.occurred_at, c.seq, c.kind, c.attribute_id, c.before, c.after,
       c.reason, d.reasoner, d.model, d.event_id, d.evidence_item_id
FROM skill_diffs d LEFT JOIN skill_changes c USING (user_id, domain, version);
COMMENT ON VIEW policy_log IS 'One row per change of a skill, with the event and the reasoner behind it; versions without changes too.';
CREATE VIEW learning_curve AS
SELECT domain, nth, count(*) AS users, avg(hit_at_1::INT) AS hit_at_1, avg(hit_at_3::INT) AS hit_at_3,
       avg(hit_at_5::INT) AS hit_at_5, avg(ndcg_at_5) AS ndcg_at_5, avg(reciprocal_rank) AS mean_reciprocal_rank
FROM outcomes
GROUP BY domain, nth;
COMMENT ON VIEW learning_curve IS 'Per domain and nth selection of a user: how high the selected items stood, over all users.';
CREATE VIEW arm_results AS
SELECT date_trunc('week', ranked_at)::DATE AS week, domain, arm, count(DISTINCT user_id) AS users, count(*) AS choices,
       avg(hit_at_1::INT) AS hit_at_1, avg(hit_at_3::INT) AS hit_at_3, avg(hit_at_5::INT) AS hit_at_5,
       avg(ndcg_at_3) AS ndcg_at_3, avg(ndcg_at_5) AS ndcg_at_5, avg(reciprocal_rank) AS mean_reciprocal_rank
FROM outcomes
GROUP BY ALL;
COMMENT ON VIEW arm_results IS 'Per week, domain and arm: how high the selected items stood. Arms compare only as far as users came to them by chance.';
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
WHERE calls > 0 OR fallback IS NOT NULL;
COMMENT ON VIEW llm_calls IS 'Everything that an LLM was asked, or was to be asked and another answered (fallback): for which part (evolve, rank, facets, slim, global-skill), with tokens, time and dollars at the prices in meta.';
CREATE VIEW tier_flow AS
SELECT date_trunc('week', occurred_at)::DATE AS week, domain, 'was ' || coalesce(before, 'new') AS source,
       'is ' || coalesce(after, 'gone') AS target, count(*) AS value
FROM skill_changes
WHERE before IS DISTINCT FROM after
GROUP BY ALL;
COMMENT ON VIEW tier_flow IS 'Ready for a Sankey diagram: per week and domain, how many lines of skills took the step from source to target.';
CREATE VIEW skill_change_rates AS
SELECT date_trunc('week', occurred_at)::DATE AS week, domain, count(*) AS choices,
       avg(reinforced) AS reinforced, avg(discovered) AS discovered, avg(weakened) AS weakened, avg(evicted) AS evicted,
       avg(refused) AS refused,
       avg((reinforced + discovered + weakened + removed + evicted = 0)::INT) AS share_without_change
FROM skill_diffs
WHERE is_contrast
GROUP BY ALL;
COMMENT ON VIEW skill_change_rates IS 'Per week and domain: how many lines a choice reinforces, discovers and weakens on average, how many proposals the merge refuses, and the share of choices that change nothing.';
CREATE VIEW attribute_adoption AS
SELECT domain, attribute_id, any_value(kind) AS kind, any_value(dimension) AS dimension, any_value(value) AS value,
       count(*) AS users, count(*) FILTER (tier = 'high') AS high, count(*) FILTER (tier = 'medium') AS medium,
       count(*) FILTER (tier = 'low') AS low, count(*) FILTER (source = 'discovered') AS discovered,
       count(*) / any_value(skills) AS share
FROM skill_attributes JOIN (SELECT domain, count(*) AS skills FROM skills GROUP BY domain) USING (domain)
GROUP BY domain, attribute_id;
COMMENT ON VIEW attribute_adoption IS 'Per domain and attribute: how many current skills hold it, at which tier, and which share of all skills that is.';
CREATE VIEW slim_skill_tokens AS
SELECT domain, count(*) AS users, count(*) FILTER (text = '') AS empty, avg(tokens) AS mean,
       quantile_disc(tokens, 0.5) AS p50, quantile_disc(tokens, 0.95) AS p95, max(tokens) AS most
FROM slim_skills
GROUP BY domain;
COMMENT ON VIEW slim_skill_tokens IS 'Per domain: how long the current slim skills are, in tokens, and how many are still empty.';
CREATE VIEW cold_start_age AS
WITH skill AS (
    SELECT user_id, domain, min(valid_from) AS started_at, max(contrasts) AS choices_so_far
    FROM skill_versions GROUP BY ALL
), warm AS (
    SELECT user_id, domain, min(from_version) AS version, bool_or(became_by = 'seeded') AS seeded
    FROM skill_history WHERE tier <> 'low' GROUP BY ALL
)
SELECT skill.*, if(seeded, 0, v.contrasts) AS choices,
       if(seeded, 0, epoch(v.valid_from - started_at) / 86400) AS days
FROM skill LEFT JOIN warm USING (user_id, domain)
LEFT JOIN skill_versions v ON v.user_id = skill.user_id AND v.domain = skill.domain AND v.version = warm.version;
COMMENT ON VIEW cold_start_age IS 'Per user and domain: how long it took until the first line of tier medium or high, which is when a slim skill can say something: in choices, and in days since the first version. 0: the prior had one. Null: still cold.';
CREATE MACRO policy_at(who, moment) AS TABLE
SELECT domain, attribute_id, tier, became_by, from_version, valid_from AS since
FROM skill_history
WHERE user_id = who
  AND valid_from <= moment::TIMESTAMP AND (valid_to > moment::TIMESTAMP OR valid_to IS NULL)
ORDER BY domain, tier = 'low', tier = 'medium', attribute_id;
COMMENT ON MACRO TABLE policy_at IS 'The policy of one user at a moment: every line with its tier, since when and since which version it was of that tier.';
CREATE MACRO policies_at(moment) AS TABLE
SELECT user_id, domain, attribute_id, tier, from_version, valid_from AS since
FROM skill_history
WHERE valid_from <= moment::TIMESTAMP AND (valid_to > moment::TIMESTAMP OR valid_to IS NULL);
COMMENT ON MACRO TABLE policies_at IS 'The policies of all users at a moment: one row per line, with its tier.';
CREATE MACRO changed_since(moment) AS TABLE
SELECT domain, attribute_id, count(*) AS users,
       count(*) FILTER (earlier IS NULL) AS came, count(*) FILTER (later > earlier) AS rose,
       count(*) FILTER (later < earlier) AS fell, count(*) FILTER (later IS NULL) AS lost
FROM (
    SELECT domain, attribute_id, user_id,
           list_position(['low', 'medium', 'high'], first(before ORDER BY version, seq)) AS earlier,
           list_position(['low', 'medium', 'high'], last(after ORDER BY version, seq)) AS later
    FROM skill_changes
    WHERE occurred_at >= moment::TIMESTAMP AND before IS DISTINCT FROM after
    GROUP BY ALL
)
WHERE earlier IS DISTINCT FROM later
GROUP BY ALL
ORDER BY users DESC, domain, attribute_id;
COMMENT ON MACRO TABLE changed_since IS 'What changed in skills since a moment: per domain and attribute, how many users came to it, rose, fell or lost it. Each user counts by their state then and now: what went up and down again in between is no change.';
CREATE MACRO attribute_drift(earlier, later) AS TABLE
SELECT domain, attribute_id, users_before, users_after,
       users_before / nullif(skills_before, 0) AS share_before, users_after / nullif(skills_after, 0) AS share_after,
       coalesce(share_after, 0) - coalesce(share_before, 0) AS drift
FROM (
    SELECT domain, attribute_id,
           count(*) FILTER (
               valid_from <= earlier::TIMESTAMP AND (valid_to > earlier::TIMESTAMP OR valid_to IS NULL)) AS users_before,
           count(*) FILTER (
               valid_from <= later::TIMESTAMP AND (valid_to > later::TIMESTAMP OR valid_to IS NULL)) AS users_after
    FROM skill_history WHERE tier <> 'low' GROUP BY ALL
) JOIN (
    SELECT domain, count(*) FILTER (valid_from <= earlier::TIMESTAMP) AS skills_before,
           count(*) FILTER (valid_from <= later::TIMESTAMP) AS skills_after
    FROM skill_versions WHERE version = 1 GROUP BY ALL
) USING (domain)
WHERE users_before + users_after > 0
ORDER BY abs(drift) DESC, domain, attribute_id;
COMMENT ON MACRO TABLE attribute_drift IS 'How the adoption of attributes drifted between two moments: users who held a line at medium or high then, and the share of all skills of that time.';
CREATE MACRO why(who, line) AS TABLE
SELECT c.domain, c.version, c.occurred_at, c.kind, c.before, c.after, c.reason, d.reasoner, d.model,
       CASE WHEN c.kind <> 'seeded' THEN d.evidence_event_id END AS event_id,
       CASE WHEN c.kind <> 'seeded' THEN d.evidence_item_id END AS item_id,
       CASE WHEN c.kind <> 'seeded' THEN coalesce(nullif(k.chosen_title, ''), i.title) END AS title,
       CASE WHEN c.kind <> 'seeded' THEN k.chosen_rank END AS item_rank,
       CASE WHEN c.kind <> 'seeded' THEN k.instruction END AS instruction
FROM skill_changes c JOIN skill_diffs d USING (user_id, domain, version)
LEFT JOIN contrasts k ON k.user_id = c.user_id AND k.event_id = d.evidence_event_id
LEFT JOIN items i ON i.item_id = d.evidence_item_id
WHERE c.user_id = who AND c.attribute_id = line
ORDER BY c.domain, c.version, c.seq;
COMMENT ON MACRO TABLE why IS 'Which evidence led to a line of a user''s skill: every event that touched it, with the item that was taken, its place and the request. A seeded line rests on the history before, in interactions, and has no event of its own.';
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
ORDER BY loss DESC, user_id, domain;
COMMENT ON MACRO TABLE stopped_helping IS 'Users whose policy stopped helping: the mean reciprocal rank of their last n choices from rankings in which a skill had its say is under that of the n before by more than so many standard errors. By chance alone about one user in forty is beyond two, more where n is small: take it for a list of whom to look at.';
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
ORDER BY cohort, domain;
COMMENT ON MACRO TABLE cohort_before_after IS 'Hit rates before and after a skill evolved, by the week in which a user''s first choice was learned from. Before: rankings made until version `evolved` was in force; after: rankings in which it or a later one had its say. Only users with both, each with the same weight; gain_error is the standard error of the gain at 3.';
CREATE MACRO cost_per_point(since, until, baseline := 'no-skill') AS TABLE
SELECT domain, choices_baseline, choices, hit_rate_baseline, hit_rate, points, calls, dollars,
       CASE WHEN points > 0 THEN dollars / points END AS dollars_per_point
FROM (
    SELECT domain, count(*) FILTER (arm = baseline) AS choices_baseline, count(*) FILTER (arm <> baseline) AS choices,
           avg(hit_at_1::INT) FILTER (arm = baseline) AS hit_rate_baseline,
           avg(hit_at_1::INT) FILTER (arm <> baseline) AS hit_rate,
           100 * (hit_rate - hit_rate_baseline) AS points
    FROM outcomes WHERE ranked_at >= since::TIMESTAMP AND ranked_at < until::TIMESTAMP
    GROUP BY domain
) LEFT JOIN (
    SELECT domain, sum(calls)::BIGINT AS calls, sum(cost_dollars) AS dollars
    FROM llm_calls WHERE occurred_at >= since::TIMESTAMP AND occurred_at < until::TIMESTAMP
    GROUP BY domain
) USING (domain)
ORDER BY domain;
COMMENT ON MACRO TABLE cost_per_point IS 'What LLM calls bought between two moments, per domain: the hit rate at 1 of rankings outside the arm `baseline`, in points (hundredths) over that of the baseline, and the dollars for each. Null where nothing was gained, and only as good as the comparison: users should have come to the arms by chance.';
INSERT INTO contrasts VALUES ('ann', 'c1', TIMESTAMP '2026-01-01 12:00:00', 'books', 'r1', '', 'a', 'A', 1, ['b']::VARCHAR[], 3, TIMESTAMP '2026-01-01 12:00:00', 0, 7, 'evolved');
INSERT INTO meta VALUES (3, 'sager.', NULL, NULL, NULL, '0c1200c1d444456b');
INSERT INTO outcomes VALUES ('ann', 'books', 'r1', TIMESTAMP '2026-01-01 12:00:00', TIMESTAMP '2026-01-01 12:01:00', 1, 'a', 1, 3, true, true, true, 1.0, 1.0, 1.0, 'evolved', 'sager', 'llm', 3, 1);
INSERT INTO outcomes VALUES ('ann', 'books', 'r2', TIMESTAMP '2026-01-01 12:00:00', TIMESTAMP '2026-01-01 12:01:00', 2, 'c', 3, 3, false, true, true, 0.3333333333333333, 0.5, 0.5, 'no-skill', 'sager', 'deterministic', 0, 1);
INSERT INTO outcomes VALUES ('ann', 'books', 'r3', TIMESTAMP '2026-01-01 12:00:00', TIMESTAMP '2026-01-01 12:01:00', 3, 'b', 2, 3, false, true, true, 0.5, 0.6309297535714575, 0.6309297535714575, 'no-skill', 'app', NULL, 0, 1);
INSERT INTO ranking_calls VALUES ('ann', 'rank-r1', 'facets', 'books', TIMESTAMP '2026-01-01 12:00:00', 'rules', NULL, NULL, NULL, 0, 0, 0, 0, 'timeout', false);
INSERT INTO ranking_calls VALUES ('ann', 'rank-r1', 'rank', 'books', TIMESTAMP '2026-01-01 12:00:00', 'llm', 'm1', 'rank-listwise.v1', 'h1', 1, 100, 10, 250, NULL, false);
INSERT INTO ranking_calls VALUES ('ann', 'rank-r2', 'rank', 'books', TIMESTAMP '2026-01-01 12:00:00', 'deterministic', NULL, NULL, NULL, 0, 0, 0, 0, NULL, false);
INSERT INTO ranking_facets VALUES ('ann', 'rank-r1', 1, 'books', TIMESTAMP '2026-01-01 12:00:00', 'Drawn to noir', 'preference:genre:noir', 0.75, ['item:a', 'item:b']::VARCHAR[]);
INSERT INTO ranking_facets VALUES ('ann', 'rank-r1', 2, 'books', TIMESTAMP '2026-01-01 12:00:00', 'No "attribute"; it''s free', NULL, 0.5, []::VARCHAR[]);
INSERT INTO rankings VALUES ('ann', 'rank-r1', TIMESTAMP '2026-01-01 12:00:00', 'books', 'r1', 'it''s dark', ['a', 'b', 'c']::VARCHAR[], 'sager', 3, 'likes: sf', 'llm', TIMESTAMP '2026-01-01 12:00:00', 0, 1, ['Drawn to noir', 'No "attribute"; it''s free']::VARCHAR[], 1, 0, 'm1', 'rank-listwise.v1', 'h1', 1, 100, 10, 0, NULL, '{"skill_version":3,"slim_skill":"likes: sf","rank_skill":null,"reasoner":"llm","facets":[{"facet":"Drawn to noir","confidence":0.75,"supporting_neighbors":["item:a","item:b"],"attribute_id":"preference:genre:noir"},{"facet":"No \"attribute\"; it''s free","confidence":0.5,"supporting_neighbors":[],"attribute_id":null}],"companions":{},"memory_version":1,"graph_epoch":0,"ranked_by":{"reasoner":"llm","model":"m1","prompt":"rank-listwise.v1","prompt_hash":"h1","prompt_tokens":100,"completion_tokens":10,"calls":1,"latency_ms":250,"fallback":null,"gated":false},"facets_by":{"reasoner":"rules","model":null,"prompt":null,"prompt_hash":null,"prompt_tokens":0,"completion_tokens":0,"calls":0,"latency_ms":0,"fallback":"timeout","gated":false},"slim_by":null,"repaired":0}', 'evolved');
INSERT INTO rankings VALUES ('ann', 'rank-r2', TIMESTAMP '2026-01-01 12:00:00', 'books', 'r2', '', ['a', 'b', 'c']::VARCHAR[], 'sager', 0, '', 'deterministic', TIMESTAMP '2026-01-01 12:00:00', 0, 2, []::VARCHAR[], 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, NULL, '{"skill_version":0,"slim_skill":"","rank_skill":null,"reasoner":"deterministic","facets":[],"companions":{},"memory_version":0,"graph_epoch":0,"ranked_by":{"reasoner":"deterministic","model":null,"prompt":null,"prompt_hash":null,"prompt_tokens":0,"completion_tokens":0,"calls":0,"latency_ms":0,"fallback":null,"gated":false},"facets_by":null,"slim_by":null,"repaired":0}', 'no-skill');
INSERT INTO rankings VALUES ('ann', 'rank-r3', TIMESTAMP '2026-01-01 12:00:00', 'books', 'r3', '', ['a', 'b', 'c']::VARCHAR[], 'app', 0, '', NULL, TIMESTAMP '2026-01-01 12:00:00', 0, 3, []::VARCHAR[], 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, NULL, '{"skill_version":0,"slim_skill":"","rank_skill":null,"reasoner":null,"facets":[],"companions":{},"memory_version":0,"graph_epoch":0,"ranked_by":null,"facets_by":null,"slim_by":null,"repaired":0}', 'no-skill');
INSERT INTO selections VALUES ('ann', 'sel-r1', TIMESTAMP '2026-01-01 12:01:00', 'r1', 'a', NULL, TIMESTAMP '2026-01-01 12:00:00', 0, 4);
INSERT INTO selections VALUES ('ann', 'sel-r2', TIMESTAMP '2026-01-01 12:01:00', 'r2', 'c', NULL, TIMESTAMP '2026-01-01 12:00:00', 0, 5);
INSERT INTO selections VALUES ('ann', 'sel-r3', TIMESTAMP '2026-01-01 12:01:00', 'r3', 'b', NULL, TIMESTAMP '2026-01-01 12:00:00', 0, 6);
INSERT INTO sink_offsets VALUES ('sager.rankings', 0, 7, 'id-1');
INSERT INTO skill_changes VALUES ('ann', 'books', 1, 1, 'discovered', 'preference:genre:sf', NULL, 'low', '', 'c1', TIMESTAMP '2026-01-01 12:00:00');
INSERT INTO skill_diffs VALUES ('ann', 'books', 1, 0, 'c1', TIMESTAMP '2026-01-01 12:00:00', true, 'c1', 'a', 'llm', 'm1', 'h2', 900, 90, 1, 700, NULL, 0, 0, 1, 0, 0, 0, 0, 0, 0, '', '{"event_id":"c1","schema_version":1,"occurred_at":"2026-01-01T12:00:00.000000Z","user_id":"ann","domain":"books","base_version":0,"version":1,"seed":null,"changes":[{"kind":"discovered","attribute_id":"preference:genre:sf","before":null,"after":"low","discovered":{"attribute_id":"preference:genre:sf","kind":"preference","dimension":"genre","value":"sf","tier":"low","source":"discovered","support":0,"contradictions":0,"confirmed_at":0,"weakened_at":null,"pinned":false,"evidence":[{"event_id":"c1","item_id":"a"}]},"reason":""}],"refused":[],"evidence":{"event_id":"c1","item_id":"a"},"is_contrast":true,"reasoned_by":{"reasoner":"llm","model":"m1","prompt":"evolve.v2","prompt_hash":"h2","prompt_tokens":900,"completion_tokens":90,"calls":1,"latency_ms":700,"fallback":null,"gated":false},"analysis":"","source":null}', TIMESTAMP '2026-01-01 12:00:00', 0, 8, 'evolve.v2', false);
INSERT INTO skill_diffs VALUES ('ann', 'books', 2, 1, 'c2', TIMESTAMP '2026-01-01 12:00:00', true, 'c2', NULL, 'rules', NULL, NULL, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '{"event_id":"c2","schema_version":1,"occurred_at":"2026-01-01T12:00:00.000000Z","user_id":"ann","domain":"books","base_version":1,"version":2,"seed":null,"changes":[],"refused":[],"evidence":{"event_id":"c2","item_id":null},"is_contrast":true,"reasoned_by":{"reasoner":"rules","model":null,"prompt":null,"prompt_hash":null,"prompt_tokens":0,"completion_tokens":0,"calls":0,"latency_ms":0,"fallback":null,"gated":true},"analysis":"","source":null}', TIMESTAMP '2026-01-01 12:00:00', 0, 9, NULL, true);
INSERT INTO skill_history VALUES ('ann', 'books', 'preference:genre:sf', 'low', NULL, 'discovered', 1, TIMESTAMP '2026-01-01 12:00:00', NULL, NULL);
INSERT INTO skill_versions VALUES ('ann', 'books', 1, 'c1', true, 1, TIMESTAMP '2026-01-01 12:00:00', TIMESTAMP '2026-01-01 12:00:00');
INSERT INTO skill_versions VALUES ('ann', 'books', 2, 'c2', true, 2, TIMESTAMP '2026-01-01 12:00:00', NULL);
COMMIT;
