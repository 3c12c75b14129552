"""What somebody is told of: every alert with its limit, which the panels draw as their red line."""

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
    "No {{ $labels.job }} answers",
    "Prometheus finds or reaches no process of this kind. Events wait in Kafka and are not lost.",
)
DOWN = Alert(
    "SagerDown",
    WARNING,
    f"up{{{OURS}}}",
    "<",
    1,
    "5m",
    "{{ $labels.instance }} does not answer",
    "One process does not tell its metrics. Others of its kind may have taken over.",
)
NOT_READY = Alert(
    "SagerNotReady",
    CRITICAL,
    "sager_ready",
    "<",
    1,
    "5m",
    "{{ $labels.instance }} does no work",
    "The process runs and is not ready. Its /ready says why.",
)
RESTARTS = Alert(
    "SagerRestarts",
    WARNING,
    f"changes(process_start_time_seconds{{{OURS}}}[1h])",
    ">=",
    3,
    "0m",
    "{{ $labels.instance }} has started {{ $value }} times within an hour",
    "Something ends it again and again: the log's last lines before each start tell what.",
)
REBALANCES = Alert(
    "SagerRebalances",
    WARNING,
    "max(increase(sager_rebalances_total[30m]))",
    ">=",
    6,
    "0m",
    "The workers' group rebalances again and again",
    "Every rebalance stops all workers for seconds. Some worker comes and goes, or is too slow for its session.",
)
EVENT_LOOP = Alert(
    "SagerEventLoopLate",
    WARNING,
    "histogram_quantile(0.99, sum by (le, instance) (rate(sager_event_loop_delay_seconds_bucket[5m])))",
    ">=",
    1,
    "10m",
    "{{ $labels.instance }}'s event loop is late",
    "Something computes without a pause, or no CPU is left. Kafka soon takes the worker for dead.",
)
FILES = Alert(
    "SagerOpenFiles",
    WARNING,
    f"process_open_fds{{{OURS}}} / process_max_fds{{{OURS}}}",
    ">=",
    0.8,
    "5m",
    "{{ $labels.instance }} has nearly as many files open as it may",
    "At the limit no connection can be made any more.",
)

# --- pipeline

LAG = Alert(
    "SagerLag",
    WARNING,
    "sum by (topic) (sager_lag_records) * on (topic) (sum by (topic) (deriv(sager_lag_records[15m])) > bool 0)",
    ">=",
    10_000,
    "10m",
    "{{ $labels.topic }}: {{ $value }} records wait, and more all the time",
    "More comes than is done. A backlog that shrinks is told of by nobody.",
)
OLDEST = Alert(
    "SagerOldestRecord",
    CRITICAL,
    "max by (topic) (time() - sager_oldest_unprocessed_timestamp_seconds)",
    ">=",
    300,
    "5m",
    "{{ $labels.topic }}: the oldest record has waited for {{ $value | humanizeDuration }}",
    "What users do is learned late, or not at all. This is what they notice first.",
)
NO_PROGRESS = Alert(
    "SagerNoProgress",
    CRITICAL,
    "(time() - sager_progress_timestamp_seconds) * on (instance) (sum by (instance) (sager_lag_records) > bool 0)",
    ">=",
    300,
    "2m",
    "{{ $labels.instance }} finishes nothing while records wait",
    "Its watchdog should have ended it. With an LLM a single call may last that long.",
)
DEAD_LETTERS = Alert(
    "SagerDeadLetters",
    WARNING,
    'sum by (stage, reason) (increase(sager_dead_letters_total{reason!="internal-error"}[15m]))',
    ">=",
    1,
    "0m",
    "{{ $labels.stage }} has refused records: {{ $labels.reason }}",
    "A producer sends what cannot be read or does not fit. The records are kept.",
)
INTERNAL_ERRORS = Alert(
    "SagerInternalErrors",
    CRITICAL,
    'sum by (stage) (increase(sager_dead_letters_total{reason="internal-error"}[15m]))',
    ">=",
    1,
    "0m",
    "{{ $labels.stage }} has failed on a record",
    "A defect of ours. The record is kept and the log has the traceback.",
)
REROUTED = Alert(
    "SagerRerouted",
    WARNING,
    "sum by (stage) (increase(sager_rerouted_total[15m]))",
    ">=",
    1,
    "30m",
    "{{ $labels.stage }} finds records on the wrong partition",
    "A producer partitions otherwise than murmur2: its records may lose their place in their user's order.",
)

# --- quality

NOTHING_EVOLVES = Alert(
    "SagerNothingEvolves",
    CRITICAL,
    '(sum(increase(sager_events_total{stage="evolve",outcome=~"evolved|frozen|repeated"}[30m])) or vector(0))'
    ' / (sum(increase(sager_records_taken_total{topic="selections"}[30m])) >= 20)',
    "<",
    0.1,
    "10m",
    "Selections come, and skills do not evolve",
    "Fewer than one selection in ten becomes an update. Below 20 selections in half an hour nothing is said.",
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
    "{{ $labels.domain }}: users take what was shown first less often than they did",
    "The hit rate at 5 of the last hour is a quarter under that of the last day. Below 200 selections an hour nothing "
    "is said: chance alone would do it.",
)

# --- LLM

BREAKER = Alert(
    "SagerLlmCircuitOpen",
    WARNING,
    "sager_llm_circuit_state",
    ">=",
    1,
    "5m",
    "{{ $labels.instance }} leaves the LLM endpoint in peace",
    "The endpoint is away, or the key, the model or the address is wrong. The log says which.",
)
LLM_WAITING = Alert(
    "SagerLlmWaiting",
    WARNING,
    'sager_llm_waiting / on (instance) sager_in_flight_limit{stage="evolve"}',
    ">=",
    0.8,
    "10m",
    "{{ $labels.instance }}: nearly all that is under way waits for the LLM endpoint",
    "Contrasts gather in Kafka and are not lost. Nobody's skill evolves meanwhile.",
)
REASONER = Alert(
    "SagerReasonerFailures",
    WARNING,
    "sum(increase(sager_reasoner_failures_total[15m]))"
    ' / clamp_min(sum(increase(sager_events_total{stage="evolve"}[15m])), 1)',
    ">=",
    0.05,
    "10m",
    "The LLM has no answer for {{ $value | humanizePercentage }} of the contrasts",
    "They fall back to the rules, wait or are dead-lettered, as SAGER_ON_LLM_FAILURE says.",
)
BUDGET_NEAR = Alert(
    "SagerLlmBudgetNear",
    WARNING,
    "sum(increase(sager_llm_cost_dollars_total[1d])) / (max(sager_llm_budget_dollars) > 0)",
    ">=",
    0.8,
    "0m",
    "{{ $value | humanizePercentage }} of the LLM budget of a day is spent",
    "Of the last 24 hours, all workers together. Nothing is stopped when it is used up.",
)
BUDGET = Alert(
    "SagerLlmBudget",
    CRITICAL,
    BUDGET_NEAR.expr,
    ">=",
    1,
    "0m",
    "The LLM budget of a day is spent",
    "Of the last 24 hours, all workers together. Calls go on: nothing stops them.",
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
    "Analysts see a file that is {{ $value | humanizeDuration }} old",
    "Records come in and no snapshot goes out.",
)
MATERIALIZER_LAG = Alert(
    "SagerMaterializerBehind",
    WARNING,
    "sum(sager_materializer_lag_records)",
    ">=",
    100_000,
    "15m",
    "{{ $value }} records are not in DuckDB yet",
    "The materializer does not keep up. Skills are not touched by it.",
)
PUBLISH = Alert(
    "SagerPublishFailures",
    WARNING,
    "increase(sager_materializer_publish_failures_total[15m])",
    ">=",
    1,
    "0m",
    "A snapshot could not be published",
    "The disk is full, usually: a publication needs room for a second copy.",
)
DISK = Alert(
    "SagerDiskFull",
    CRITICAL,
    "sager_materializer_disk_free_bytes",
    "<",
    1024**3,
    "5m",
    "{{ $value | humanize1024 }}B are left on the disk of DuckDB's live file",
    "When nothing is left the materializer ends. What was committed stays.",
)
WAL = Alert(
    "SagerWalLarge",
    WARNING,
    'sager_materializer_file_bytes{file="wal"}',
    ">=",
    512 * 1024**2,
    "15m",
    "DuckDB's write-ahead log has grown to {{ $value | humanize1024 }}B",
    "No checkpoint gets through. A start reads all of it first.",
)
RECREATED = Alert(
    "SagerTopicRecreated",
    CRITICAL,
    "sum by (topic) (increase(sager_materializer_topics_recreated_total[1h]))",
    ">=",
    1,
    "0m",
    "{{ $labels.topic }} has been made anew",
    "Somebody deleted the topic, with what it held.",
)

GROUPS: dict[str, tuple[Alert, ...]] = {
    "processes": (GONE, DOWN, NOT_READY, RESTARTS, REBALANCES, EVENT_LOOP, FILES),
    "pipeline": (LAG, OLDEST, NO_PROGRESS, DEAD_LETTERS, INTERNAL_ERRORS, REROUTED),
    "quality": (NOTHING_EVOLVES, HIT_RATE),
    "llm": (BREAKER, LLM_WAITING, REASONER, BUDGET_NEAR, BUDGET),
    "duckdb": (SNAPSHOT, MATERIALIZER_LAG, PUBLISH, DISK, WAL, RECREATED),
}
ALERTS = tuple(alert for group in GROUPS.values() for alert in group)
