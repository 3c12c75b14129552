"""A worker's metrics for Prometheus. Labels are small and closed: never a user, never an id.

Known label values start at 0, so that rates exist before the first event and alerts see the first failure.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from operators.contrast import Arm, ContrastOutcome
from operators.graph import FacetDropReason
from operators.language.chunks import CloseReason
from operators.language.output_policy import Rejection
from operators.language.privacy import UNREADABLE as UNREADABLE_ITEM
from operators.steps.listen import ListenOutcome as Listened
from operators.steps.versions import EvolveOutcome as Evolved
from schemas import CardChangeKind, OptOut, RefusalReason, SkillChangeKind, Tier, WeightAction
from streams.language import KINDS
from streams.metrics import DEAD_LETTERS, UNREADABLE
from streams.settings import OnLlmFailure

_LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
# A tier before an attribute was there, or after it has gone.
NO_TIER = "none"

# Outcomes of events by stage, besides `rerouted` and `dead-lettered`.
OUTCOMES = {
    "prior": ("counted", "repeated", "forgotten"),
    "rank": ("ranked",),
    "contrast": tuple(outcome.value for outcome in ContrastOutcome),
    "evolve": (
        *(outcome.value for outcome in Evolved if outcome.value != "counted"),
        OptOut.NOT_REMEMBERED,
        "given-up",
    ),
    "propagate": ("gathered", "forgotten", "repeated"),
    "listen": (*(outcome.value for outcome in Listened), "given-up"),
    "weigh": ("learned", "repeated", "frozen", *(action.value for action in WeightAction)),
}
SEEDED = "seeded"
# Evidence of a changed taste: the user's words, their choices, a later change, or no confirmation for long.
STATED, OBSERVED, OVERTAKEN, FADED = "stated", "observed", "overtaken", "faded"
CORRECTION = "correction"
# The depths of NDCG, as in the paper's tables.
NDCG_DEPTHS = (3, 5)

# --- rate, errors, duration: per stage

TAKEN = Counter("sager_records_taken", "Records taken from Kafka, by topic.", ["topic"])
SENT = Counter("sager_records_sent", "Records sent to Kafka and confirmed, changelogs included.", ["topic"])
EVENTS = Counter("sager_events", "Events that a stage has finished, by what became of them.", ["stage", "outcome"])
REROUTED = Counter("sager_rerouted", "Records found on another partition than their user's and sent on.", ["stage"])
STALE = Counter("sager_stale", "Events given up because their partition moved to another worker.", ["stage"])
EXPIRED = Counter("sager_rankings_expired", "Rankings that fell out of a user's ring without a selection.")
HELD_BACK = Counter("sager_held_back", "Events that waited for the other topic to come up, by stage.", ["stage"])
STAGE_SECONDS = Histogram(
    "sager_stage_seconds", "From taking an event to its results' delivery.", ["stage"], buckets=_LATENCY
)
END_TO_END_SECONDS = Histogram(
    "sager_end_to_end_seconds", "From a selection's occurred_at to its skill's delivery.", buckets=_LATENCY
)

# --- utilisation and saturation: per stage and process

IN_FLIGHT = Gauge("sager_in_flight", "Events that a stage works on now.", ["stage"])
IN_FLIGHT_LIMIT = Gauge("sager_in_flight_limit", "Most events that a stage works on at once.", ["stage"])
QUEUED = Gauge("sager_queued", "Events taken that wait for room, or for an earlier one of their user.", ["stage"])
UNACKED = Gauge(
    "sager_unacked", "Events taken and not yet acknowledged, finished ones behind a slow one included.", ["stage"]
)
LAG = Gauge("sager_lag_records", "Records on this worker's partitions that it has not committed yet.", ["topic"])
OLDEST = Gauge(
    "sager_oldest_unprocessed_timestamp_seconds",
    "Kafka timestamp of the oldest record that is not committed; now, where there is none.",
    ["topic"],
)
LOOP_DELAY = Histogram(
    "sager_event_loop_delay_seconds",
    "How late the event loop comes to what is due.",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30),
)
STATE_ENTRIES = Gauge("sager_state_entries", "Entries in this worker's share of a table.", ["table"])
STATE_BYTES = Gauge(
    "sager_state_bytes", "Their keys and values: estimated from a sample in memory, on disk with RocksDB.", ["table"]
)
RECOVERY_SECONDS = Histogram(
    "sager_recovery_seconds",
    "From being given partitions to having their tables.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800),
)
REBALANCES = Counter("sager_rebalances", "How often partitions were given out anew.")
PROGRESS = Gauge("sager_progress_timestamp_seconds", "When this worker last finished anything.")

# --- what is learned, and what it is worth

WEIGHT = Gauge("sager_weight", "What a part of a ranking's sum counts in a domain, as learned.", ["domain", "part"])
CHANGES = Counter("sager_skill_changes", "Changes merged into skills, by kind.", ["kind"])
TIER_CHANGES = Counter(
    "sager_tier_changes", "Changes that moved a line to another tier, by kind.", ["kind", "before", "after"]
)
PRIVATE = Counter("sager_private", "What the privacy filter kept out of skills, prompts and rows, by kind.", ["kind"])
UNVOUCHED = Counter(
    "sager_unvouched", "New lines of skills for which nothing vouches, so that no model gets them, by why.", ["why"]
)
FORGOTTEN = Counter("sager_forgotten", "Requests to forget that were carried out, by what was forgotten.", ["scope"])
REFUSED = Counter("sager_proposals_refused", "Proposals that the merge or the validation refused.", ["why"])
SKILL_CHARACTERS = Histogram(
    "sager_skill_characters",
    "Length of the skills that were written, as people read them.",
    buckets=(100, 250, 500, 750, 1_000, 1_250, 1_400, 1_500),
)
SLIM_TOKENS = Histogram(
    "sager_slim_tokens", "Length of the slim skills that were sent.", buckets=(0, 5, 10, 15, 20, 25, 30, 50)
)
SELECTION_RANK = Histogram(
    "sager_selection_rank",
    "The place at which the chosen item was shown; the share up to k is Hit@k.",
    ["domain", "arm"],
    buckets=(1, 2, 3, 4, 5, 10, 20, 50),
)
NDCG = Counter(
    "sager_selection_ndcg", "Sum of NDCG@3 and NDCG@5 over selections, by domain and arm.", ["domain", "arm", "at"]
)
SEVERAL_TAKEN = Counter(
    "sager_several_taken", "Selections of more than one item of a list, by domain and arm.", ["domain", "arm"]
)
ABSTENTIONS = Counter(
    "sager_abstentions", "Lists of which nothing was taken, said so by the app, by domain and arm.", ["domain", "arm"]
)
SIGNALS = Counter(
    "sager_signals", "Signals about items, by domain, kind and what became of them.", ["domain", "signal", "outcome"]
)
CORRECTIONS = Counter(
    "sager_corrections", "What people said about rankings or items, by domain and what became of it.",
    ["domain", "outcome"],
)  # fmt: skip
STATEMENTS = Counter(
    "sager_statements", "Statements of skills that came or went, by domain, stance and change.",
    ["domain", "stance", "change"],
)  # fmt: skip
SHIFTS = Counter(
    "sager_shifts",
    "Tastes that changed, or may have (observed), by domain and kind: stated, observed, overtaken or faded.",
    ["domain", "kind"],
)  # fmt: skip
CHUNKS = Counter(
    "sager_chunks", "Chunks of conversations that were closed: by tokens, silence, their end or for room.", ["reason"]
)
WAITING_TURNS = Gauge("sager_waiting_turns", "Turns of conversations that wait to be thought over.")
CARD_CHANGES = Counter("sager_card_changes", "What became of lines of cards, by kind.", ["kind"])
NOT_KEPT = Counter("sager_card_not_kept", "What was said in conversations and is on no card, by why.", ["kind"])
QUESTIONS = Counter("sager_questions", "Rankings that brought a question along, by domain.", ["domain"])
NOTHING_SUITS = Counter(
    "sager_nothing_suits", "Rankings of ours of which probably nothing suits, by domain.", ["domain"]
)
FACETS_DROPPED = Counter("sager_facets_dropped", "Facets that the quality filter refused, by reason.", ["why"])
RANK_FALLBACKS = Counter(
    "sager_rank_fallbacks", "Parts of rankings for which the LLM had no answer: slim or rank.", ["part"]
)
RANK_REPAIRS = Counter("sager_rank_repairs", "Ids that a model left out of a ranking, invented or repeated.")

# --- the LLM endpoint

LLM_CALLS = Counter("sager_llm_calls", "Calls to the LLM endpoint, by prompt and outcome.", ["prompt", "outcome"])
LLM_TOKENS = Counter("sager_llm_tokens", "Tokens sent and received, by prompt.", ["prompt", "direction"])
LLM_COST = Counter("sager_llm_cost_dollars", "What they cost by the configured prices, by prompt.", ["prompt"])
LLM_BUDGET = Gauge("sager_llm_budget_dollars", "What all workers may spend in a day; 0: not limited.")
LLM_SECONDS = Histogram("sager_llm_seconds", "Duration of one call, by prompt.", ["prompt"], buckets=_LATENCY)
LLM_CIRCUIT = Gauge(
    "sager_llm_circuit_state", "Whether calls go out to the LLM endpoint: 0 closed, they do; 1 half-open; 2 open."
)
LLM_OPENINGS = Counter(
    "sager_llm_circuit_openings", "Outages: how often the circuit opened, by the failure that did it.", ["outcome"]
)
LLM_WAITING = Gauge("sager_llm_waiting", "Contrasts that wait until the LLM endpoint has answers again.")
GATED = Counter("sager_llm_gated", "Choices that the LLM was not asked about: they could teach it nothing.")
REASONER_FAILURES = Counter(
    "sager_reasoner_failures", "Contrasts for which the reasoner had no answer, by what was done.", ["action"]
)

MAX_LABELS = 20
OTHER = "other"


class BoundedLabels(dict[str, str]):
    """Bounds label values that users choose: the first ones keep their names, the rest share `other`."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        super().__init__((name, name) for name in known)

    def __missing__(self, name: str) -> str:
        if len(self) >= MAX_LABELS:
            return OTHER
        self[name] = name
        return name


DOMAINS = BoundedLabels()
ARMS = BoundedLabels(arm.value for arm in Arm)
_PRIVATE_KINDS = (*KINDS, UNREADABLE_ITEM)
NOT_KEPT_KINDS = BoundedLabels(_PRIVATE_KINDS)


_WITH_ONE_LABEL: dict[MetricWrapperBase, Iterable[str]] = {
    PRIVATE: _PRIVATE_KINDS,
    UNVOUCHED: [held.value for held in Rejection],
    FORGOTTEN: ("person", "domain", "line"),
    CHUNKS: [why.value for why in CloseReason],
    NOT_KEPT: _PRIVATE_KINDS,
    CARD_CHANGES: [kind.value for kind in CardChangeKind],
    CHANGES: [SEEDED, *(kind.value for kind in SkillChangeKind)],
    REFUSED: [refusal.value for refusal in RefusalReason],
    FACETS_DROPPED: [reason.value for reason in FacetDropReason],
    RANK_FALLBACKS: ("slim", "rank"),
    REASONER_FAILURES: [action.value for action in OnLlmFailure],
}


_MetricT = TypeVar("_MetricT", bound=MetricWrapperBase)


@lru_cache(maxsize=4_096)
def labelled(metric: _MetricT, *labels: object) -> _MetricT:
    """Return the series of a metric with these labels, from a cache: some are counted at every choice."""
    return metric.labels(*labels)


def start_at_zero() -> None:
    """Make a series of every known label value."""
    for stage, outcomes in OUTCOMES.items():
        for outcome in (*outcomes, "rerouted", "dead-lettered"):
            EVENTS.labels(stage, outcome)
        for reason in (*UNREADABLE, "internal-error"):
            DEAD_LETTERS.labels(stage, reason)
        for by_stage in (REROUTED, STALE, STAGE_SECONDS, IN_FLIGHT, IN_FLIGHT_LIMIT, QUEUED, UNACKED):
            by_stage.labels(stage)
    HELD_BACK.labels("contrast")
    for outcome in filter(lambda one: one.refused, ContrastOutcome):
        DEAD_LETTERS.labels("contrast", outcome.value)
    for stage in ("evolve", "listen"):
        DEAD_LETTERS.labels(stage, "reasoner-unavailable")
        DEAD_LETTERS.labels(stage, "log-incomplete")
    tiers = [str(tier) for tier in sorted(Tier)]
    for tier in tiers:
        TIER_CHANGES.labels(SEEDED, NO_TIER, tier)
    for tier in tiers[:2]:
        TIER_CHANGES.labels(SkillChangeKind.DISCOVERED.value, NO_TIER, tier)
        TIER_CHANGES.labels(SkillChangeKind.EVICTED.value, tier, NO_TIER)
    for lower, upper in pairwise(tiers):
        TIER_CHANGES.labels(SkillChangeKind.REINFORCED.value, lower, upper)
        TIER_CHANGES.labels(SkillChangeKind.WEAKENED.value, upper, lower)
    for metric, known in _WITH_ONE_LABEL.items():
        for label in known:
            metric.labels(label)


start_at_zero()
