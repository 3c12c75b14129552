"""Prometheus metrics of a worker, without users or ids in labels."""

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from operators.contrast import Arm, ContrastOutcome
from operators.language.chunks import CloseReason
from operators.language.output_policy import Rejection
from operators.language.privacy import UNREADABLE as UNREADABLE_ITEM
from operators.steps.evolve import EvolveOutcome as Evolved
from operators.steps.listen import ListenOutcome as Listened
from schemas import CardChangeKind, OptOut, RefusalReason, SkillChangeKind, WeightAction
from streams.language import KINDS
from streams.metrics import DEAD_LETTERS, UNREADABLE
from streams.settings import OnLlmFailure

_LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

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
    "enrich": ("enriched", "skipped", "replaced", "restored", "unavailable"),
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
EVENTS = Counter("sager_events", "Events that a stage has finished, by outcome.", ["stage", "outcome"])
REROUTED = Counter("sager_rerouted", "Records on the wrong partition, forwarded to their user's.", ["stage"])
STALE = Counter("sager_stale", "Events abandoned because their partition moved to another worker.", ["stage"])
EXPIRED = Counter("sager_rankings_expired", "Rankings that a user's ring dropped without a selection.")
STAGE_SECONDS = Histogram(
    "sager_stage_seconds", "From an event to the delivery of its results.", ["stage"], buckets=_LATENCY
)
END_TO_END_SECONDS = Histogram(
    "sager_end_to_end_seconds", "From a selection to its skill's delivery.", buckets=_LATENCY
)

# --- utilisation and saturation: per stage and process

IN_FLIGHT = Gauge("sager_in_flight", "Events that a stage processes now.", ["stage"])
IN_FLIGHT_LIMIT = Gauge("sager_in_flight_limit", "Limit of events that a stage processes at once.", ["stage"])
QUEUED = Gauge("sager_queued", "Events that wait for a free slot, or for an earlier event of their user.", ["stage"])
UNACKED = Gauge("sager_unacked", "Events taken and not acknowledged, also finished ones behind a slow one.", ["stage"])
LAG = Gauge("sager_lag_records", "Records on this worker's partitions that it has not committed yet.", ["topic"])
OLDEST = Gauge(
    "sager_oldest_unprocessed_timestamp_seconds",
    "Kafka timestamp of the oldest fetched and unfinished record; the current time if there is none.",
    ["topic"],
)
LOOP_DELAY = Histogram(
    "sager_event_loop_delay_seconds",
    "How late the event loop runs callbacks.",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30),
)
STATE_ENTRIES = Gauge("sager_state_entries", "Entries in this worker's share of a table.", ["table"])
RECOVERY_SECONDS = Histogram(
    "sager_recovery_seconds",
    "From the assignment of partitions to the end of their tables' recovery.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800),
)
REBALANCES = Counter("sager_rebalances", "Rebalances of the consumer group.")
PROGRESS = Gauge("sager_progress_timestamp_seconds", "When this worker last finished an event.")

# --- learning and its quality

WEIGHT = Gauge("sager_weight", "Learned weight of a part of the ranking score, by domain.", ["domain", "part"])
CHANGES = Counter("sager_skill_changes", "Changes merged into skills, by kind.", ["kind"])
PRIVATE = Counter("sager_private", "Values that the privacy filter removed, by kind.", ["kind"])
UNVOUCHED = Counter("sager_unvouched", "New skill lines that the output policy withholds from models.", ["why"])
FORGOTTEN = Counter("sager_forgotten", "Erasures carried out, by scope.", ["scope"])
REFUSED = Counter("sager_proposals_refused", "Proposals that the merge or the validation refused, by reason.", ["why"])
SLIM_TOKENS = Histogram("sager_slim_tokens", "Length of sent slim skills.", buckets=(0, 5, 10, 15, 20, 25, 30, 50))
SELECTION_RANK = Histogram(
    "sager_selection_rank",
    "Rank of the chosen item; the share up to k is Hit@k.",
    ["domain", "arm"],
    buckets=(1, 2, 3, 4, 5, 10, 20, 50),
)
NDCG = Counter("sager_selection_ndcg", "Sum of NDCG@3 and NDCG@5 over selections.", ["domain", "arm", "at"])
ABSTENTIONS = Counter("sager_abstentions", "Lists that apps report without a selection.", ["domain", "arm"])
SIGNALS = Counter("sager_signals", "Signals about items, by domain, kind and outcome.", ["domain", "signal", "outcome"])
CORRECTIONS = Counter("sager_corrections", "Corrections of rankings or items.", ["domain", "outcome"])
STATEMENTS = Counter("sager_statements", "Statements added to skills or removed.", ["domain", "stance", "change"])
SHIFTS = Counter("sager_shifts", "Changes of taste: stated, observed, overtaken or faded.", ["domain", "kind"])
CHUNKS = Counter("sager_chunks", "Closed chunks of conversations, by reason.", ["reason"])
WAITING_TURNS = Gauge("sager_waiting_turns", "Conversation turns that wait for processing.")
CARD_CHANGES = Counter("sager_card_changes", "Changes of card lines, by kind.", ["kind"])
QUESTIONS = Counter("sager_questions", "Rankings with a clarifying question, by domain.", ["domain"])
NOTHING_SUITS = Counter("sager_nothing_suits", "Rankings whose items probably all fit the user badly.", ["domain"])
RANK_FALLBACKS = Counter("sager_rank_fallbacks", "Parts of rankings without an answer of the LLM.", ["part"])
RANK_REPAIRS = Counter("sager_rank_repairs", "Item ids that a model omitted from a ranking, invented or repeated.")

# --- the LLM endpoint

LLM_CALLS = Counter("sager_llm_calls", "Calls to the LLM endpoint, by prompt and outcome.", ["prompt", "outcome"])
LLM_TOKENS = Counter("sager_llm_tokens", "Tokens sent and received, by prompt.", ["prompt", "direction"])
LLM_COST = Counter("sager_llm_cost_dollars", "Cost of the calls at the configured prices, by prompt.", ["prompt"])
LLM_BUDGET = Gauge("sager_llm_budget_dollars", "Daily budget of all workers; 0: no budget.")
LLM_SECONDS = Histogram("sager_llm_seconds", "Duration of one call, by prompt.", ["prompt"], buckets=_LATENCY)
LLM_CIRCUIT = Gauge("sager_llm_circuit_state", "State of the circuit breaker: 0 closed, 1 half-open, 2 open.")
LLM_OPENINGS = Counter("sager_llm_circuit_openings", "Openings of the circuit breaker.", ["outcome"])
LLM_WAITING = Gauge("sager_llm_waiting", "Contrasts that wait for the LLM endpoint to recover.")
REASONER_FAILURES = Counter("sager_reasoner_failures", "Contrasts without an answer of the reasoner.", ["action"])

MAX_LABELS = 20
OTHER = "other"


class BoundedLabels(dict[str, str]):
    """Label values that users choose; beyond the first, all are `other`."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        super().__init__((name, name) for name in known)

    def __missing__(self, name: str) -> str:
        if len(self) >= MAX_LABELS:
            return OTHER
        self[name] = name
        return name


DOMAINS = BoundedLabels()
ARMS = BoundedLabels(arm.value for arm in Arm)

_WITH_ONE_LABEL: dict[MetricWrapperBase, Iterable[str]] = {
    PRIVATE: (*KINDS, UNREADABLE_ITEM),
    UNVOUCHED: [reason.value for reason in Rejection],
    FORGOTTEN: ("person", "domain", "line"),
    CHUNKS: [why.value for why in CloseReason],
    CARD_CHANGES: [kind.value for kind in CardChangeKind],
    CHANGES: [SEEDED, *(kind.value for kind in SkillChangeKind)],
    REFUSED: [refusal.value for refusal in RefusalReason],
    RANK_FALLBACKS: ("slim", "rank"),
    REASONER_FAILURES: [action.value for action in OnLlmFailure],
}


_MetricT = TypeVar("_MetricT", bound=MetricWrapperBase)


@lru_cache(maxsize=4_096)
def labelled(metric: _MetricT, *labels: object) -> _MetricT:
    """Return the series of a metric with these labels."""
    # Cached: a choice counts some of them, and prometheus_client looks each up under a lock.
    return metric.labels(*labels)


def start_at_zero() -> None:
    """Create a series for every known label value."""
    # Otherwise rates do not exist before the first event, and alerts miss the first failure.
    for stage, outcomes in OUTCOMES.items():
        for outcome in (*outcomes, "rerouted", "dead-lettered"):
            EVENTS.labels(stage, outcome)
        for reason in (*UNREADABLE, "internal-error"):
            DEAD_LETTERS.labels(stage, reason)
        for by_stage in (REROUTED, STALE, STAGE_SECONDS, IN_FLIGHT, IN_FLIGHT_LIMIT, QUEUED, UNACKED):
            by_stage.labels(stage)
    for outcome in filter(lambda one: one.refused, ContrastOutcome):
        DEAD_LETTERS.labels("contrast", outcome.value)
    for stage in ("evolve", "listen"):
        DEAD_LETTERS.labels(stage, "reasoner-unavailable")
        DEAD_LETTERS.labels(stage, "log-incomplete")
    for metric, known in _WITH_ONE_LABEL.items():
        for label in known:
            metric.labels(label)


start_at_zero()
