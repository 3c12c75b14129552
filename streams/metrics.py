"""What every process counts, for Prometheus. Labels are small and closed: never a user, never an id."""

from prometheus_client import Counter, Gauge, Histogram

_LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

EVENTS = Counter("sager_events", "Events that a stage has finished, by what became of them.", ["stage", "outcome"])
DEAD_LETTERS = Counter("sager_dead_letters", "Records that a stage refused, by reason.", ["stage", "reason"])
REROUTED = Counter("sager_rerouted", "Records found on another partition than their user's and sent on.", ["stage"])
STALE = Counter("sager_stale", "Events given up because their partition moved to another worker.", ["stage"])
EXPIRED = Counter("sager_rankings_expired", "Rankings that fell out of a user's ring without a selection.")
HELD_BACK = Counter("sager_held_back", "Events that waited for the other topic to come up, by stage.", ["stage"])
STAGE_SECONDS = Histogram(
    "sager_stage_seconds", "From taking an event to its results' delivery.", ["stage"], buckets=_LATENCY
)
IN_FLIGHT = Gauge("sager_in_flight", "Events that a stage works on now.", ["stage"])
UNACKED = Gauge(
    "sager_unacked", "Events taken and not yet acknowledged, finished ones behind a slow one included.", ["stage"]
)
LAG = Gauge("sager_lag_records", "Records on this worker's partitions that it has not committed yet.", ["topic"])
CHANGES = Counter("sager_skill_changes", "Changes merged into skills, by kind.", ["kind"])
REFUSED = Counter("sager_proposals_refused", "Proposals that the merge or the validation refused.", ["why"])
SLIM_TOKENS = Histogram(
    "sager_slim_tokens", "Length of the slim skills that were sent.", buckets=(0, 5, 10, 15, 20, 25, 30, 50)
)
END_TO_END_SECONDS = Histogram(
    "sager_end_to_end_seconds", "From a selection's occurred_at to its skill's delivery.", buckets=_LATENCY
)
LLM_CALLS = Counter("sager_llm_calls", "Calls to the LLM endpoint, by prompt and outcome.", ["prompt", "outcome"])
LLM_TOKENS = Counter("sager_llm_tokens", "Tokens sent and received, by prompt.", ["prompt", "direction"])
LLM_SECONDS = Histogram("sager_llm_seconds", "Duration of one call, by prompt.", ["prompt"], buckets=_LATENCY)
LLM_CIRCUIT = Gauge(
    "sager_llm_circuit_state", "Whether calls go out to the LLM endpoint: 0 closed, they do; 1 half-open; 2 open."
)
LLM_OPENINGS = Counter(
    "sager_llm_circuit_openings", "Outages: how often the circuit opened, by the failure that did it.", ["outcome"]
)
LLM_WAITING = Gauge("sager_llm_waiting", "Contrasts that wait until the LLM endpoint has answers again.")
GATED = Counter("sager_llm_gated", "Choices that the LLM was not asked about: they could teach it nothing.")
FACETS_DROPPED = Counter("sager_facets_dropped", "Facets that the quality filter refused, by reason.", ["why"])
RANK_FALLBACKS = Counter(
    "sager_rank_fallbacks", "Parts of rankings for which the LLM had no answer: facets, slim or rank.", ["part"]
)
RANK_REPAIRS = Counter("sager_rank_repairs", "Ids that a model left out of a ranking, invented or repeated.")
REASONER_FAILURES = Counter(
    "sager_reasoner_failures", "Contrasts for which the reasoner had no answer, by what was done.", ["action"]
)
PROGRESS = Gauge("sager_progress_timestamp_seconds", "When this worker last finished anything.")
READY = Gauge("sager_ready", "Whether this process does its work: 1; or 0, and /ready tells why not.")
