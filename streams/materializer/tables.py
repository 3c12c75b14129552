"""The tables: one per topic, with its child tables. Comments go into the DuckDB file.

An event's key is (user_id, event_id), not event_id alone: agents deduplicate events per user, so that an app may number
its events per user.
"""

from streams.materializer.columns import Column, Keep, Table, flag, moment, number, real, text, texts
from streams.materializer.fields import (
    ATTRIBUTE_ID,
    DIFF_KEY,
    DOCUMENT,
    DOMAIN,
    ENVELOPE,
    EVENT_ID,
    EVENT_KEY,
    ITEM_ID,
    OCCURRED_AT,
    PROVENANCE,
    SKILL_KEY,
    USER,
    VERSION,
)
from streams.materializer.ranking_tables import CONTRASTS, RANK_REQUESTS, RANKINGS, SELECTIONS
from streams.materializer.shadow_tables import SHADOW_OUTCOMES
from streams.materializer.weight_tables import WEIGHTS

ITEMS = Table(
    "items",
    "The catalogue: the newest entry per item",
    ("item_id",),
    (
        ITEM_ID,
        DOMAIN,
        text("title", "As sent by the app"),
        text("description", "As sent by the app"),
        text("metadata", "Raw facts as JSON text: metadata ->> '$.genre'"),
        EVENT_ID,
        OCCURRED_AT,
        *PROVENANCE,
    ),
    Keep.LAST,
)
INTERACTIONS = Table(
    "interactions",
    "Past positive events that feed the statistical prior",
    EVENT_KEY,
    (*ENVELOPE, DOMAIN, ITEM_ID, text("title", "The item's title"), *PROVENANCE),
)
SKILL_CHANGES = Table(
    "skill_changes",
    "One row per change of an attribute, those of the seed included; comes with its row of skill_diffs",
    DIFF_KEY,
    (
        USER,
        DOMAIN,
        VERSION,
        number("seq", "Place within the diff, from 1"),
        text(
            "kind",
            "seeded, reinforced, discovered, weakened, removed, evicted, pinned, unpinned, added, reworded, set, "
            "restored or forgotten",
        ),
        ATTRIBUTE_ID,
        text("before", "Tier before; null for a new attribute"),
        text("after", "Tier after; null for a removed attribute"),
        text("reason", "Why, in the reasoner's words"),
        EVENT_ID,
        OCCURRED_AT,
        real("taken", "What was added to how often it was taken, in choices; of a new line its count; null: nothing"),
        real("expected", "What was added to how often that was to be expected, likewise"),
    ),
)
SKILL_REFUSALS = Table(
    "skill_refusals",
    "What a reasoner proposed and the merge refused; comes with its row of skill_diffs",
    DIFF_KEY,
    (
        USER,
        DOMAIN,
        VERSION,
        number("seq", "Place within the diff, from 1"),
        ATTRIBUTE_ID,
        text("proposed", "The kind of change that was proposed"),
        text("why", "The merge's reason"),
        EVENT_ID,
        OCCURRED_AT,
    ),
)
SKILL_PLACES = Table(
    "skill_places",
    "One row per line that moved what was taken in its list, by the skill alone; comes with its row of skill_diffs",
    DIFF_KEY,
    (
        USER,
        DOMAIN,
        VERSION,
        ATTRIBUTE_ID,
        real("places", "Places that the line won for what was taken; below 0: lost, to what was left"),
        EVENT_ID,
        OCCURRED_AT,
    ),
)
CHANGE_COUNTS = ("seeded", "reinforced", "discovered", "weakened", "removed", "evicted", "pinned", "unpinned")
SKILL_DIFFS = Table(
    "skill_diffs",
    "The log of truth: one row per version of a skill; the first diff of a version is kept",
    DIFF_KEY,
    (
        USER,
        DOMAIN,
        VERSION,
        number("base_version", "The version it was merged into"),
        text("event_id", "The contrast or command behind it"),
        OCCURRED_AT,
        flag("is_contrast", "true: a contrast was learned from; false: a command was carried out"),
        text("evidence_event_id", "The event that is its evidence"),
        text("evidence_item_id", "The item that is its evidence"),
        text("reasoner", "rules, llm, ..."),
        text("model", "The LLM, if any"),
        text("prompt_hash", "Hash of the complete prompt"),
        number("prompt_tokens", "Tokens in, all calls"),
        number("completion_tokens", "Tokens out, all calls"),
        number("calls", "LLM calls"),
        number("latency_ms", "The reasoner's time, in milliseconds"),
        text("fallback", "Why a reasoner other than the configured one answered"),
        *(number(kind, f"How many attributes were {kind}") for kind in CHANGE_COUNTS),
        number("refused", "How many proposals the merge refused"),
        text("analysis", "The reasoner's text"),
        DOCUMENT,
        *PROVENANCE,
        text("prompt", "The prompt's file and version"),
        flag("gated", "Whether the LLM call was skipped: there was nothing new to judge"),
        number("by_person", "How many attributes a person added, reworded, set, restored or had forgotten"),
        flag("frozen", "Whether the skill stops learning from this version on; null: unchanged"),
        number("rolled_back_to", "The version that this one restores"),
        number("rewritten", "How often this log was rewritten to remove a line"),
        text("chain", "The version's seal, which includes the seal before"),
    ),
    Keep.FIRST,
    (SKILL_CHANGES, SKILL_REFUSALS, SKILL_PLACES),
)
SKILL_ATTRIBUTES = Table(
    "skill_attributes",
    "The attributes of all current skills; replaced together with the row of skills",
    SKILL_KEY,
    (
        USER,
        DOMAIN,
        number("version", "The skill's version"),
        number("place", "Place within the skill, from 1"),
        ATTRIBUTE_ID,
        text("kind", "preference, pattern or criterion"),
        text("dimension", "Such as genre"),
        text("value", "Such as science fiction"),
        text("tier", "silent, low, medium or high; silent: counted, and says nothing"),
        text("source", "prior, global, discovered or stated"),
        number("support", "Choices that confirmed it, the prior's included"),
        number("contradictions", "Contradictions since it was last confirmed or demoted"),
        number("confirmed_at", "When it was last supported, counted in the user's contrasts"),
        number("weakened_at", "When it was last weakened, counted in the user's contrasts"),
        flag("pinned", "Whether a person has pinned it"),
        texts("evidence_event_ids", "The events that are its evidence"),
        real("taken", "How often what it says was taken, in choices; older ones count less. 0: not counted yet"),
        real("expected", "How often that was to be expected of somebody who chooses blindly, in choices"),
        real("gained", "Places that it won for what was taken; below 0: lost. Older choices count less"),
    ),
)
SKILLS = Table(
    "skills",
    "The current policy skill per user and domain",
    SKILL_KEY,
    (
        USER,
        DOMAIN,
        number("version", "The skill's version"),
        number("contrasts", "How many contrasts it has learned from"),
        number("attributes", "How many attributes it has"),
        number("high", "How many of them have tier high"),
        number("medium", "How many of them have tier medium"),
        number("low", "How many of them have tier low"),
        texts("must_include", "Strategy: what a ranking must include"),
        text("tie_breaker", "Strategy: what breaks ties"),
        text("event_id", "The event of the last diff"),
        moment("updated_at", "When the last diff's event happened"),
        DOCUMENT,
        *PROVENANCE,
        flag("frozen", "Whether a person has stopped it from learning"),
        number("silent", "How many of its attributes are counted and say nothing"),
    ),
    Keep.NEWEST,
    (SKILL_ATTRIBUTES,),
)
SLIM_SKILLS = Table(
    "slim_skills",
    "The current slim skill per user and domain: what an app injects into its prompt",
    SKILL_KEY,
    (
        USER,
        DOMAIN,
        number("skill_version", "The version of the skill that it was made from"),
        text("text", "likes: X, Y, Z | style: phrase"),
        texts("likes", "Two or three likes"),
        text("style", "One phrase"),
        number("tokens", "Length of the text in o200k tokens"),
        EVENT_ID,
        moment("updated_at", "When the skill's last event happened"),
        *PROVENANCE,
        text("seal", "Says that a worker wrote it"),
    ),
    Keep.NEWEST,
)
SKILL_COMMANDS = Table(
    "skill_commands",
    "What people did to skills",
    EVENT_KEY,
    (
        *ENVELOPE,
        DOMAIN,
        text("action", "add, reword, remove, set-tier, pin, unpin, freeze, unfreeze, roll-back or import"),
        ATTRIBUTE_ID,
        text("actor", "Who did it"),
        text("reason", "Why"),
        *PROVENANCE,
        text("value", "add, reword: the line's new text"),
        text("tier", "add, set-tier: the line's new tier"),
        number("to_version", "roll-back: the version to go back to"),
    ),
)
RECEIPTS = Table(
    "receipts",
    "What was forgotten, with people and lines as digests: nothing from before its moments is kept or let in again",
    ("subject",),
    (
        text("subject", "sha256('sager ' || user_id)"),
        moment("forgotten_until", "The whole person is forgotten up to this moment; null: only domains or lines are"),
        text("actor", "Who asked to forget the person"),
        number("domains", "How many domains were forgotten separately"),
        number("lines", "How many lines were forgotten separately"),
        flag("done", "Whether the worker has removed everything"),
        EVENT_ID,
        OCCURRED_AT,
        DOCUMENT,
        *PROVENANCE,
    ),
    Keep.LAST,
)
GLOBAL_SKILLS = Table(
    "global_skills",
    "The population template per domain",
    ("domain",),
    (
        DOMAIN,
        number("users", "How many users it was computed from"),
        texts("attribute_ids", "Its attributes, in order"),
        EVENT_ID,
        moment("updated_at", "When it was computed"),
        DOCUMENT,
        *PROVENANCE,
    ),
    Keep.LAST,
)
# A dead letter's event_id is derived from stage and position, and positions repeat in a topic that was recreated:
# the record's own timestamp distinguishes them.
DEAD_LETTERS = Table(
    "dead_letters",
    "Records that a stage refused, with their original bytes",
    ("event_id", "source_logged_at"),
    (
        text("event_id", "Derived from stage and position"),
        moment("source_logged_at", "The refused record's Kafka timestamp"),
        moment("occurred_at", "When it was refused"),
        text("stage", "The stage that refused it"),
        text("reason", "Why, as one of a closed set of words"),
        text("detail", "Why, for a person"),
        text("source_topic", "The refused record's topic"),
        number("source_partition", "The refused record's partition"),
        number("source_offset", "The refused record's offset"),
        Column("key", "BLOB", "Its original key"),
        Column("value", "BLOB", "Its original value, or the beginning of it"),
        *PROVENANCE,
    ),
)

TABLES = (
    ITEMS,
    INTERACTIONS,
    RANK_REQUESTS,
    RANKINGS,
    SELECTIONS,
    CONTRASTS,
    SKILL_DIFFS,
    SKILLS,
    SLIM_SKILLS,
    SKILL_COMMANDS,
    RECEIPTS,
    GLOBAL_SKILLS,
    DEAD_LETTERS,
    SHADOW_OUTCOMES,
    WEIGHTS,
)
"""Every table with a topic; child tables come with their parents."""
