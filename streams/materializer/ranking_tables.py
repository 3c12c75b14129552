"""The tables of rank requests, rankings and selections."""

from streams.materializer.columns import Keep, Table, flag, number, real, reals, text, texts
from streams.materializer.fields import (
    DOMAIN,
    ENVELOPE,
    EVENT_ID,
    EVENT_KEY,
    INSTRUCTION,
    OCCURRED_AT,
    PROVENANCE,
    RANKING_ID,
    REASONED,
    SESSION_ID,
    SKILL_VERSION,
    USER,
)

INJECTED = (
    texts("facets", "The collaborative facets that were injected, in order"),
    number("memory_version", "The version of the user's memory behind the facets"),
    number("graph_epoch", "The version of their neighbourhood; together they identify the graph that was read"),
    text("model", "The LLM that ranked, if one did"),
    text("prompt", "The prompt's file and version"),
    text("prompt_hash", "Hash of the complete prompt"),
    number("llm_calls", "Calls for this ranking: facets, slim skill and order"),
    number("prompt_tokens", "Prompt tokens of all these calls"),
    number("completion_tokens", "Completion tokens of all these calls"),
    number("repaired", "How many ids a model left out, invented or repeated"),
    text("fallback", "Why a ranker other than the configured one answered"),
    text("injected", "All that influenced the order, as JSON text: injected ->> '$.companions'"),
)
"""What a ranking logs of its making."""

FIT = (
    SESSION_ID,
    reals("chances", "How probable it was that the person would accept each candidate, in the order shown"),
    real("nothing", "How probable it was that they would want none of these; null: nothing was known of it"),
    flag("suits", "false: better to show nothing, or to ask"),
    texts("honoured", "The statements that the ranking went by: statement_id in statements"),
    text("question_id", "The question that came along with it; a correction answers it"),
    text("question_dimension", "What it asks for, such as genre"),
    text("question", "The question, as the person saw it"),
)
"""How well a ranking suits, as it says itself."""

RANKING_FACETS = Table(
    "ranking_facets",
    "One row per collaborative facet that was injected into a ranking; comes with its row of rankings",
    EVENT_KEY,
    (
        USER,
        EVENT_ID,
        number("seq", "Place among the ranking's facets, from 1"),
        DOMAIN,
        OCCURRED_AT,
        text("facet", "The line as it appears in a prompt"),
        text("attribute_id", "The attribute that it names, if the parsers can find it in an item"),
        real("confidence", "Confidence, from 0 to 1"),
        texts("supporting_neighbors", "The supporting items, as item:ID; never another user"),
    ),
)
RANKING_CALLS = Table(
    "ranking_calls",
    "One row per reasoned part of a ranking (order, facets, slim skill) with its cost; comes with its row of rankings",
    EVENT_KEY,
    (
        USER,
        EVENT_ID,
        text("part", "rank, facets or slim"),
        DOMAIN,
        OCCURRED_AT,
        *REASONED,
    ),
)
ARM = text("arm", "The experiment arm of the ranking: as named by the app, or derived from what was injected")
RANK_REQUESTS = Table(
    "rank_requests",
    "Requests for a ranking; the answer in rankings has ranking_id = request_id",
    EVENT_KEY,
    (
        *ENVELOPE,
        DOMAIN,
        text("request_id", "The ranking_id of the answer"),
        INSTRUCTION,
        texts("item_ids", "The candidates in the order received"),
        *PROVENANCE,
        flag("clarify", "Whether the ranking was to bring a question along"),
        SESSION_ID,
    ),
)
RANKINGS = Table(
    "rankings",
    "What users were shown, and the skill it was ranked by",
    EVENT_KEY,
    (
        *ENVELOPE,
        DOMAIN,
        RANKING_ID,
        INSTRUCTION,
        texts("item_ids", "The candidates in the order shown, first place first"),
        text("ranked_by", "app or sager"),
        SKILL_VERSION,
        text("slim_skill", "The slim skill that was injected"),
        text("reasoner", "The ranker, if not the app"),
        *PROVENANCE,
        *INJECTED,
        ARM,
        *FIT,
    ),
    Keep.FIRST,
    (RANKING_FACETS, RANKING_CALLS),
)
SELECTIONS = Table(
    "selections",
    "What users took from rankings; that they took nothing is one, too",
    EVENT_KEY,
    (
        *ENVELOPE,
        RANKING_ID,
        text("item_id", "The item, or the first of several; null: nothing was taken"),
        number("skill_version", "The version of the slim skill that the app used, if any"),
        *PROVENANCE,
        texts("others", "What else was taken"),
        flag("in_order", "Whether several are in the order in which they were taken"),
        flag("none_taken", "Whether the person said that they want none of these"),
        SESSION_ID,
    ),
)
CONTRASTS = Table(
    "contrasts",
    "Chosen against unchosen, in the context of their ranking; unchosen is not disliked",
    EVENT_KEY,
    (
        *ENVELOPE,
        DOMAIN,
        RANKING_ID,
        INSTRUCTION,
        text("chosen_item_id", "The item that was taken, or the first of several"),
        text("chosen_title", "Its title"),
        number("chosen_rank", "The rank at which it was shown; 1 is the top"),
        texts("unchosen_item_ids", "The others in reverse rank order: near-misses last"),
        SKILL_VERSION,
        *PROVENANCE,
        ARM,
        texts("also_item_ids", "What else was taken of the list"),
        flag("in_order", "Whether several are in the order in which they were taken"),
        SESSION_ID,
    ),
)
