"""The dashboard *Pipeline*: rate, errors, duration and saturation."""

from infra.monitoring import alerts
from infra.monitoring.http import HTTP
from infra.monitoring.panels import COUNT, INSTANCE, OF, PER_SECOND, SECONDS, SHARE, Dashboard, Panel, Query
from infra.monitoring.promql import per_second, quantiles, total

RATE = (
    Panel(
        "Records taken, by topic",
        "What the workers consume from Kafka. Nothing while apps send: check the lag, then Worker and Kafka.",
        PER_SECOND,
        [Query(per_second("sager_records_taken_total", "topic"), "{{topic}}")],
        stack=True,
    ),
    Panel(
        "Records sent, by topic",
        "What the workers write and Kafka acknowledges. Taken but not sent: outcomes show where events end.",
        PER_SECOND,
        [Query(per_second("sager_records_sent_total", "topic"), "{{topic}}")],
        stack=True,
    ),
    Panel(
        "Events finished, by stage and outcome",
        "Much `waiting` and little `matched`: selections arrive without their rankings. Much `repeated`: a producer "
        "sends events twice, or workers were killed.",
        PER_SECOND,
        [Query(per_second("sager_events_total", "stage", "outcome"), "{{stage}} {{outcome}}")],
        stack=True,
    ),
)
ERRORS = (
    Panel(
        "Dead letters in 15 minutes, by stage and reason",
        "Refused records, kept whole: `sager dead-letters list` shows them. `internal-error` is a defect.",
        COUNT,
        [Query(total("increase", "sager_dead_letters_total", "stage", "reason", window="15m"), "{{stage}} {{reason}}")],
        alerts=(alerts.DEAD_LETTERS, alerts.INTERNAL_ERRORS),
        width=12,
    ),
    Panel(
        "Rerouted in 15 minutes, by stage",
        "Records found on another partition than their user's. Find the producer that does not partition by murmur2.",
        COUNT,
        [Query(total("increase", "sager_rerouted_total", "stage", window="15m"), "{{stage}}")],
        alerts=(alerts.REROUTED,),
        width=6,
    ),
    Panel(
        "Held back and given up",
        "Held back: a selection waited for its ranking's topic to catch up, which is normal. Given up: the partition "
        "moved to another worker, which processes it; many of them come with rebalances.",
        PER_SECOND,
        [
            Query(per_second("sager_held_back_total", "stage"), "{{stage}} held back"),
            Query(per_second("sager_stale_total", "stage"), "{{stage}} given up"),
        ],
        width=6,
    ),
)
DURATION = (
    Panel(
        "Time in a stage",
        "From consuming an event to the delivery of its results. `evolve` and `rank` wait for the LLM, if there is "
        "one; any other stage over a second needs CPU, or Kafka is slow.",
        SECONDS,
        quantiles("sager_stage_seconds", "stage"),
        width=12,
    ),
    Panel(
        "From a selection to its slim skill",
        "How long it takes until a choice counts. It grows with lag, and with the LLM's latency.",
        SECONDS,
        quantiles("sager_end_to_end_seconds"),
        width=12,
    ),
)
FULL = (
    Panel(
        "Capacity in use, by stage",
        "Events in flight, as a share of a stage's limit. At 100% new events wait in Kafka: with an LLM raise "
        "SAGER_IN_FLIGHT if the endpoint can take it, otherwise start workers.",
        SHARE,
        [
            Query(
                f"{total('', 'sager_in_flight', 'stage')} / {total('', 'sager_in_flight_limit', 'stage')}", "{{stage}}"
            )
        ],
        most=1,
        width=6,
    ),
    Panel(
        "Queued and unacknowledged, by stage",
        "Queued: behind an earlier event of the same user, or for capacity. If unacknowledged ones do not fall, one "
        "event blocks its partition.",
        COUNT,
        [
            Query(total("", "sager_queued", "stage"), "{{stage}} queued"),
            Query(total("", "sager_unacked", "stage"), "{{stage}} unacknowledged"),
        ],
        width=6,
    ),
    Panel(
        "Lag, by topic",
        "Records not yet committed. If it grows, start workers, up to the number of partitions.",
        COUNT,
        [Query(total("", "sager_lag_records", "topic"), "{{topic}}")],
        alerts=(alerts.LAG,),
        width=6,
    ),
    Panel(
        "Age of the oldest unprocessed record, by topic",
        "How far behind the workers are, in time. High with little lag: one event is stuck.",
        SECONDS,
        [Query(f"max by (topic) (time() - sager_oldest_unprocessed_timestamp_seconds{{{OF}}})", "{{topic}}")],
        alerts=(alerts.OLDEST,),
        width=6,
    ),
)
DUCKDB = (
    Panel(
        "Records read and rows written",
        "Rows exclude duplicates. Unreadable records become dead letters, like those that workers refuse.",
        PER_SECOND,
        [
            Query(per_second("sager_materializer_records_total"), "records"),
            Query(per_second("sager_materializer_rows_total"), "rows"),
            Query(per_second("sager_materializer_bad_records_total"), "unreadable"),
        ],
        width=6,
    ),
    Panel(
        "From Kafka to DuckDB",
        "From a record's timestamp to its commit in the live file, before the next snapshot. If it grows, see "
        "batches and disk on Worker and Kafka.",
        SECONDS,
        quantiles("sager_materializer_delay_seconds"),
        width=6,
    ),
    Panel(
        "Age of the snapshot",
        "The age of the file that analysts open. It grows while nothing new arrives, which is normal; otherwise see "
        "publications on Worker and Kafka.",
        SECONDS,
        [Query(f"time() - sager_materializer_snapshot_timestamp_seconds{{{OF}}}", "{{instance}}")],
        alerts=(alerts.SNAPSHOT,),
        width=6,
    ),
    Panel(
        "Records not in DuckDB yet",
        "The materializer's lag. It does not affect skills.",
        COUNT,
        [Query(total("", "sager_materializer_lag_records"), "records")],
        alerts=(alerts.MATERIALIZER_LAG,),
        width=6,
    ),
)

PIPELINE = Dashboard(
    "sager-pipeline",
    "sager-streams: Pipeline",
    "Start here. Rate, errors and duration of the stages, then their saturation. docs/runbook.md says what to do.",
    (
        ("Rate", RATE),
        ("Errors", ERRORS),
        ("Duration", DURATION),
        ("Saturation", FULL),
        ("DuckDB", DUCKDB),
        ("HTTP API", HTTP),
    ),
    (INSTANCE,),
)
