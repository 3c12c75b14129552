"""The dashboard *Pipeline*: what comes, what goes wrong, how long it takes, and how full it is."""

from infra.monitoring import alerts
from infra.monitoring.http import HTTP
from infra.monitoring.panels import COUNT, INSTANCE, OF, PER_SECOND, SECONDS, SHARE, Dashboard, Panel, Query
from infra.monitoring.promql import per_second, quantiles, total

RATE = (
    Panel(
        "Records taken, by topic",
        "What the workers take from Kafka. Nothing while apps send: look at lag, then at Worker and Kafka.",
        PER_SECOND,
        [Query(per_second("sager_records_taken_total", "topic"), "{{topic}}")],
        stack=True,
    ),
    Panel(
        "Records sent, by topic",
        "What the workers write and Kafka confirms. Taken but nothing sent: outcomes tell where events end.",
        PER_SECOND,
        [Query(per_second("sager_records_sent_total", "topic"), "{{topic}}")],
        stack=True,
    ),
    Panel(
        "Events finished, by stage and outcome",
        "Much `waiting` and little `matched`: selections come without their rankings. Much `repeated`: somebody sends "
        "events twice, or workers were killed.",
        PER_SECOND,
        [Query(per_second("sager_events_total", "stage", "outcome"), "{{stage}} {{outcome}}")],
        stack=True,
    ),
)
ERRORS = (
    Panel(
        "Dead letters in 15 minutes, by stage and reason",
        "Refused records, whole and kept: `sager dead-letters list` shows them. `internal-error` is a defect.",
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
        "Held back: a selection waited for its ranking's topic to come up, which is well. Given up: the partition "
        "moved to another worker, which does it; many of them go with rebalances.",
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
        "From taking an event to its results' delivery. `evolve` and `rank` wait for the LLM, if there is one; any "
        "other stage over a second wants CPU, or Kafka is slow.",
        SECONDS,
        quantiles("sager_stage_seconds", "stage"),
        width=12,
    ),
    Panel(
        "From a selection to its slim skill",
        "What a user waits for until a choice counts. It grows with lag, and with the LLM's latency.",
        SECONDS,
        quantiles("sager_end_to_end_seconds"),
        width=12,
    ),
)
FULL = (
    Panel(
        "Room that is taken, by stage",
        "Events under way, of the most that a stage works on at once. At 100% what comes waits in Kafka: with an LLM "
        "raise SAGER_IN_FLIGHT if the endpoint bears it, else start workers.",
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
        "Queued: behind an earlier event of the same user, or for room. Unacknowledged that do not fall: one event "
        "holds its partition back.",
        COUNT,
        [
            Query(total("", "sager_queued", "stage"), "{{stage}} queued"),
            Query(total("", "sager_unacked", "stage"), "{{stage}} unacknowledged"),
        ],
        width=6,
    ),
    Panel(
        "Lag, by topic",
        "Records that are not committed yet. If it grows, start workers, up to the number of partitions.",
        COUNT,
        [Query(total("", "sager_lag_records", "topic"), "{{topic}}")],
        alerts=(alerts.LAG,),
        width=6,
    ),
    Panel(
        "Age of the oldest record, by topic",
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
        "Rows are without duplicates. Unreadable records are dead letters, as those that the workers refuse.",
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
        "From a record's time to its commit in the live file; analysts wait for the next snapshot on top. If it grows, "
        "see batches and disk on Worker and Kafka.",
        SECONDS,
        quantiles("sager_materializer_delay_seconds"),
        width=6,
    ),
    Panel(
        "Age of the snapshot",
        "How old the file is that analysts open. It grows while nothing new comes, which is well; else see the "
        "publications on Worker and Kafka.",
        SECONDS,
        [Query(f"time() - sager_materializer_snapshot_timestamp_seconds{{{OF}}}", "{{instance}}")],
        alerts=(alerts.SNAPSHOT,),
        width=6,
    ),
    Panel(
        "Records not in DuckDB yet",
        "The materializer's lag. Skills are not touched by it.",
        COUNT,
        [Query(total("", "sager_materializer_lag_records"), "records")],
        alerts=(alerts.MATERIALIZER_LAG,),
        width=6,
    ),
)

PIPELINE = Dashboard(
    "sager-pipeline",
    "sager-streams: Pipeline",
    "Start here. Rate, errors and duration of the stages, then how full they are. docs/runbook.md tells what to do.",
    (
        ("Rate", RATE),
        ("Errors", ERRORS),
        ("Duration", DURATION),
        ("How full it is", FULL),
        ("DuckDB", DUCKDB),
        ("HTTP API", HTTP),
    ),
    (INSTANCE,),
)
