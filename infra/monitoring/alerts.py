"""All alerts with their limits, which panels draw as red lines."""

from infra.monitoring.alert import CRITICAL, WARNING, Alert

OURS = 'job=~"sager-.+"'

# --- processes

GONE = Alert(
    "SagerGone",
    CRITICAL,
    'count by (job) (up{job=~"sager-.+"} == 1)'
    ' or label_replace(vector(0), "job", "sager-worker", "", "")'
    ' or label_replace(vector(0), "job", "sager-materializer", "", "")',
    "<",
    1,
    "2m",
    "No {{ $labels.job }} is up",
    "Prometheus cannot find or reach any process of this kind. Events wait in Kafka and are not lost.",
)
DOWN = Alert(
    "SagerDown",
    WARNING,
    f"up{{{OURS}}}",
    "<",
    1,
    "5m",
    "{{ $labels.instance }} is down",
    "Prometheus cannot scrape one process. Others of its kind may have taken over.",
)
NOT_READY = Alert(
    "SagerNotReady",
    CRITICAL,
    "sager_ready",
    "<",
    1,
    "5m",
    "{{ $labels.instance }} is not ready",
    "The process is live but not ready. Its /ready says why.",
)
RESTARTS = Alert(
    "SagerRestarts",
    WARNING,
    f"changes(process_start_time_seconds{{{OURS}}}[1h])",
    ">=",
    3,
    "0m",
    "{{ $labels.instance }} has started {{ $value }} times within an hour",
    "It keeps ending: the last log lines before each start say why.",
)
REBALANCES = Alert(
    "SagerRebalances",
    WARNING,
    "max(increase(sager_rebalances_total[30m]))",
    ">=",
    6,
    "0m",
    "The workers' group keeps rebalancing",
    "Every rebalance stops all workers for seconds. A worker comes and goes, or is too slow for its session.",
)
EVENT_LOOP = Alert(
    "SagerEventLoopLate",
    WARNING,
    "histogram_quantile(0.99, sum by (le, instance) (rate(sager_event_loop_delay_seconds_bucket[5m])))",
    ">=",
    1,
    "10m",
    "{{ $labels.instance }}'s event loop is late",
    "Something blocks the event loop, or the CPU is exhausted. Kafka will soon consider the worker dead.",
)
FILES = Alert(
    "SagerOpenFiles",
    WARNING,
    f"process_open_fds{{{OURS}}} / process_max_fds{{{OURS}}}",
    ">=",
    0.8,
    "5m",
    "{{ $labels.instance }} is close to its limit of open files",
    "At the limit no new connection can be opened.",
)

# --- pipeline

LAG = Alert(
    "SagerLag",
    WARNING,
    "sum by (topic) (sager_lag_records) * on (topic) (sum by (topic) (deriv(sager_lag_records[15m])) > bool 0)",
    ">=",
    10_000,
    "10m",
    "{{ $labels.topic }}: {{ $value }} unprocessed records, and growing",
    "Records arrive faster than they are processed. A shrinking backlog does not fire.",
)
OLDEST = Alert(
    "SagerOldestRecord",
    CRITICAL,
    "max by (topic) (time() - sager_oldest_unprocessed_timestamp_seconds)",
    ">=",
    300,
    "5m",
    "{{ $labels.topic }}: the oldest unprocessed record is {{ $value | humanizeDuration }} old",
    "Skills learn late or not at all. Users notice this first.",
)
NO_PROGRESS = Alert(
    "SagerNoProgress",
    CRITICAL,
    "(time() - sager_progress_timestamp_seconds) * on (instance) (sum by (instance) (sager_lag_records) > bool 0)",
    ">=",
    300,
    "2m",
    "{{ $labels.instance }} makes no progress while records wait",
    "Its watchdog should have ended it. With an LLM a single call may take that long.",
)
DEAD_LETTERS = Alert(
    "SagerDeadLetters",
    WARNING,
    'sum by (stage, reason) (increase(sager_dead_letters_total{reason!="internal-error"}[15m]))',
    ">=",
    1,
    "0m",
    "{{ $labels.stage }} has refused records: {{ $labels.reason }}",
    "A producer sends records that cannot be decoded or are invalid. They are kept as dead letters.",
)
INTERNAL_ERRORS = Alert(
    "SagerInternalErrors",
    CRITICAL,
    'sum by (stage) (increase(sager_dead_letters_total{reason="internal-error"}[15m]))',
    ">=",
    1,
    "0m",
    "{{ $labels.stage }} has failed on a record",
    "A defect in sager-streams. The record is kept as a dead letter, and the log has the traceback.",
)
REROUTED = Alert(
    "SagerRerouted",
    WARNING,
    "sum by (stage) (increase(sager_rerouted_total[15m]))",
    ">=",
    1,
    "30m",
    "{{ $labels.stage }} finds records on the wrong partition",
    "A producer does not partition by murmur2: its records may lose their place in their user's order.",
)

# --- quality

NOTHING_EVOLVES = Alert(
    "SagerNothingEvolves",
    CRITICAL,
    '(sum(increase(sager_events_total{stage="evolve",outcome=~"evolved|abstained|frozen|repeated"}[30m])) or vector(0))'
    ' / (sum(increase(sager_records_taken_total{topic="selections"}[30m])) >= 20)',
    "<",
    0.1,
    "10m",
    "Selections arrive, but skills do not evolve",
    "Fewer than one selection in ten becomes an update. Does not fire below 20 selections in half an hour.",
)
HIT_RATE = Alert(
    "SagerHitRateDrop",
    WARNING,
    '(sum by (domain) (increase(sager_selection_rank_bucket{le="5.0"}[1h]))'
    " / sum by (domain) (increase(sager_selection_rank_count[1h])))"
    ' / (sum by (domain) (increase(sager_selection_rank_bucket{le="5.0"}[1d]))'
    " / sum by (domain) (increase(sager_selection_rank_count[1d])))"
    " and on (domain) sum by (domain) (increase(sager_selection_rank_count[1h])) >= 200",
    "<",
    0.75,
    "30m",
    "{{ $labels.domain }}: users take top-ranked items less often than before",
    "The hit rate at 5 of the last hour is a quarter below that of the last day. Does not fire below 200 selections "
    "an hour, where chance alone could cause it.",
)

# --- feedback

NOT_UNDERSTOOD = Alert(
    "SagerNotUnderstood",
    WARNING,
    'sum by (domain) (increase(sager_corrections_total{outcome="not-understood"}[1h]))'
    ' / (sum by (domain) (increase(sager_corrections_total{outcome=~"corrected|not-understood"}[1h])) >= 20)',
    ">=",
    0.5,
    "30m",
    "{{ $labels.domain }}: {{ $value | humanizePercentage }} of what people say is not understood",
    "People say what they want, and nothing comes of it. Does not fire below 20 corrections an hour.",
)
ABSTENTIONS = Alert(
    "SagerAbstentionsJump",
    WARNING,
    "(sum by (domain) (increase(sager_abstentions_total[1h]))"
    " / sum by (domain) (increase(sager_selection_rank_count[1h])))"
    " / (sum by (domain) (increase(sager_abstentions_total[1d]))"
    " / sum by (domain) (increase(sager_selection_rank_count[1d])))"
    " and on (domain) sum by (domain) (increase(sager_abstentions_total[1h])) >= 20",
    ">=",
    2,
    "30m",
    "{{ $labels.domain }}: people take nothing of their lists twice as often as before",
    "Lists refused per list taken from, of the last hour against the last day. Does not fire below 20 an hour.",
)
SHIFTS = Alert(
    "SagerShiftsJump",
    WARNING,
    '(sum by (domain) (increase(sager_shifts_total{kind=~"stated|observed"}[1h]))'
    " / sum by (domain) (increase(sager_selection_rank_count[1h])))"
    ' / (sum by (domain) (increase(sager_shifts_total{kind=~"stated|observed"}[1d]))'
    " / sum by (domain) (increase(sager_selection_rank_count[1d])))"
    ' and on (domain) sum by (domain) (increase(sager_shifts_total{kind=~"stated|observed"}[1h])) >= 20',
    ">=",
    3,
    "30m",
    "{{ $labels.domain }}: tastes change three times as often as before",
    "Many people's tastes seldom change at once: the catalogue, its metadata or a producer may have. Does not fire "
    "below 20 an hour.",
)
NOT_THOUGHT_OVER = Alert(
    "SagerNothingThoughtOver",
    WARNING,
    "min_over_time(sager_waiting_turns[30m])"
    " * on (instance) (sum by (instance) (increase(sager_chunks_total[30m])) == bool 0)",
    ">=",
    100,
    "30m",
    "{{ $labels.instance }}: {{ $value }} turns of conversations wait, and none is thought over",
    "No chunk was closed, neither by tokens nor by silence nor by an end. Turns are kept, and cards stay as they are. "
    "Does not fire below 100 turns.",
)
UNANSWERED = Alert(
    "SagerConversationsUnanswered",
    WARNING,
    '(sum(increase(sager_llm_calls_total{prompt=~"listen.v.+",outcome!="ok"}[30m])) or vector(0))'
    ' / clamp_min(sum(increase(sager_llm_calls_total{prompt=~"listen.v.+"}[30m])) or vector(0), 20)',
    ">=",
    0.5,
    "10m",
    "The LLM has no usable answer in {{ $value | humanizePercentage }} of the calls about conversations",
    "Rules hear plain statements meanwhile, or chunks wait or are dead-lettered, depending on SAGER_ON_LLM_FAILURE. "
    "Does not fire below 10 such calls in half an hour.",
)

# --- LLM

BREAKER = Alert(
    "SagerLlmCircuitOpen",
    WARNING,
    "sager_llm_circuit_state",
    ">=",
    1,
    "5m",
    "{{ $labels.instance }} has opened the circuit to the LLM endpoint",
    "The endpoint is down, or the key, the model or the address is wrong. The log says which.",
)
LLM_WAITING = Alert(
    "SagerLlmWaiting",
    WARNING,
    'sager_llm_waiting / on (instance) sager_in_flight_limit{stage="evolve"}',
    ">=",
    0.8,
    "10m",
    "{{ $labels.instance }}: nearly all events in flight wait for the LLM endpoint",
    "Contrasts accumulate in Kafka and are not lost. No skill evolves meanwhile.",
)
REASONER = Alert(
    "SagerReasonerFailures",
    WARNING,
    "sum(increase(sager_reasoner_failures_total[15m]))"
    ' / clamp_min(sum(increase(sager_events_total{stage="evolve"}[15m])) + sum(increase(sager_chunks_total[15m])), 1)',
    ">=",
    0.05,
    "10m",
    "The LLM has no answer for {{ $value | humanizePercentage }} of the contrasts and chunks of conversations",
    "They fall back to the rules, wait or are dead-lettered, depending on SAGER_ON_LLM_FAILURE.",
)
BUDGET_NEAR = Alert(
    "SagerLlmBudgetNear",
    WARNING,
    "sum(increase(sager_llm_cost_dollars_total[1d])) / (max(sager_llm_budget_dollars) > 0)",
    ">=",
    0.8,
    "0m",
    "{{ $value | humanizePercentage }} of the daily LLM budget is spent",
    "In the last 24 hours, over all workers. Calls do not stop when it is used up.",
)
BUDGET = Alert(
    "SagerLlmBudget",
    CRITICAL,
    BUDGET_NEAR.expr,
    ">=",
    1,
    "0m",
    "The daily LLM budget is spent",
    "In the last 24 hours, over all workers. Calls continue: nothing stops them.",
)

# --- DuckDB

SNAPSHOT = Alert(
    "SagerSnapshotStale",
    WARNING,
    "(time() - sager_materializer_snapshot_timestamp_seconds)"
    " * on (instance) (sum by (instance) (increase(sager_materializer_records_total[10m])) > bool 0)",
    ">=",
    600,
    "2m",
    "The published snapshot is {{ $value | humanizeDuration }} old",
    "Records arrive, but no snapshot is published.",
)
MATERIALIZER_LAG = Alert(
    "SagerMaterializerBehind",
    WARNING,
    "sum(sager_materializer_lag_records)",
    ">=",
    100_000,
    "15m",
    "{{ $value }} records are not in DuckDB yet",
    "The materializer cannot keep up. Skills are not affected.",
)
PUBLISH = Alert(
    "SagerPublishFailures",
    WARNING,
    "increase(sager_materializer_publish_failures_total[15m])",
    ">=",
    1,
    "0m",
    "A snapshot could not be published",
    "Usually the disk is full: a publication needs space for a second copy.",
)
DISK = Alert(
    "SagerDiskFull",
    CRITICAL,
    "sager_materializer_disk_free_bytes",
    "<",
    1024**3,
    "5m",
    "{{ $value | humanize1024 }}B are left on the disk of DuckDB's live file",
    "The materializer ends when the disk is full. Committed rows are kept.",
)
WAL = Alert(
    "SagerWalLarge",
    WARNING,
    'sager_materializer_file_bytes{file="wal"}',
    ">=",
    512 * 1024**2,
    "15m",
    "DuckDB's write-ahead log has grown to {{ $value | humanize1024 }}B",
    "No checkpoint succeeds. The next start has to replay all of it.",
)
RECREATED = Alert(
    "SagerTopicRecreated",
    CRITICAL,
    "sum by (topic) (increase(sager_materializer_topics_recreated_total[1h]))",
    ">=",
    1,
    "0m",
    "{{ $labels.topic }} was recreated",
    "Someone deleted the topic with its records.",
)

GROUPS: dict[str, tuple[Alert, ...]] = {
    "processes": (GONE, DOWN, NOT_READY, RESTARTS, REBALANCES, EVENT_LOOP, FILES),
    "pipeline": (LAG, OLDEST, NO_PROGRESS, DEAD_LETTERS, INTERNAL_ERRORS, REROUTED),
    "quality": (NOTHING_EVOLVES, HIT_RATE),
    "feedback": (NOT_UNDERSTOOD, ABSTENTIONS, SHIFTS, NOT_THOUGHT_OVER, UNANSWERED),
    "llm": (BREAKER, LLM_WAITING, REASONER, BUDGET_NEAR, BUDGET),
    "duckdb": (SNAPSHOT, MATERIALIZER_LAG, PUBLISH, DISK, WAL, RECREATED),
}
ALERTS = tuple(alert for group in GROUPS.values() for alert in group)
