"""The dashboard *Worker and Kafka*: the processes, their resources, their group, tables and files."""

from infra.monitoring import alerts
from infra.monitoring.panels import BYTES, COUNT, INSTANCE, OF, SECONDS, SHARE, Dashboard, Panel, Query
from infra.monitoring.promql import quantiles, total

PROCESSES = (
    Panel(
        "Processes",
        "How many of each kind are up. Not affected by the selection above.",
        COUNT,
        [Query(alerts.GONE.expr, "{{job}}")],
        alerts=(alerts.GONE,),
        kind="number",
        width=6,
    ),
    Panel(
        "Up and ready",
        "Up: Prometheus can scrape it. Ready: it does its work; its /ready says why not. All workers are unready for "
        "the seconds of a rebalance.",
        COUNT,
        [Query(f"up{{{OF}}}", "{{instance}} up"), Query(f"sager_ready{{{OF}}}", "{{instance}} ready")],
        alerts=(alerts.DOWN, alerts.NOT_READY),
        most=1,
        width=6,
    ),
    Panel(
        "Starts in an hour",
        "Of processes that keep their address. The last log lines before each start say what ended it.",
        COUNT,
        [Query(f"changes(process_start_time_seconds{{{OF}}}[1h])", "{{instance}}")],
        alerts=(alerts.RESTARTS,),
        width=6,
    ),
    Panel(
        "Time since the last progress, while records wait",
        "0 if nothing waits. The watchdog ends a worker at SAGER_WATCHDOG_SECONDS.",
        SECONDS,
        [Query(alerts.NO_PROGRESS.expr, "{{instance}}")],
        alerts=(alerts.NO_PROGRESS,),
        width=6,
    ),
)
MACHINE = (
    Panel(
        "CPU",
        "100% is one core, the most that one worker can use for long. Constantly there: start workers.",
        SHARE,
        [Query(f"rate(process_cpu_seconds_total{{{OF}}}[$__rate_interval])", "{{instance}}")],
        width=6,
    ),
    Panel(
        "Memory",
        "A worker takes 250 MB plus its tables. If tables are most of it, start workers or set SAGER_STORE=rocksdb.",
        BYTES,
        [Query(f"process_resident_memory_bytes{{{OF}}}", "{{instance}}")],
        width=6,
    ),
    Panel(
        "Open files, as a share of the limit",
        "At 100% no connection can be opened. Raise the limit (`ulimit -n`); if it keeps growing, restart and report.",
        SHARE,
        [Query(f"process_open_fds{{{OF}}} / process_max_fds{{{OF}}}", "{{instance}}")],
        alerts=(alerts.FILES,),
        most=1,
        width=6,
    ),
    Panel(
        "Delay of the event loop, p99",
        "How late its ticks are. Over a second: no CPU left, or something blocks the loop.",
        SECONDS,
        quantiles("sager_event_loop_delay_seconds", "instance", only="p99"),
        alerts=(alerts.EVENT_LOOP,),
        width=6,
    ),
    Panel(
        "Clock",
        "How far records were ahead of the process's clock, by Kafka's time. Over five minutes: a clock has jumped, or "
        "is wrong. No record is lost; set the clocks by NTP.",
        SECONDS,
        [
            Query(f"sager_clock_skew_seconds{{{OF}}}", "{{instance}}"),
            Query(f"increase(sager_records_from_future_total{{{OF}}}[$__rate_interval])", "{{instance}}: records"),
        ],
        width=6,
    ),
)
KAFKA = (
    Panel(
        "Lag, by process and topic",
        "One process far behind the others: its partitions have a busy user, or one event is stuck.",
        COUNT,
        [Query(total("", "sager_lag_records", "instance", "topic"), "{{instance}} {{topic}}")],
    ),
    Panel(
        "Rebalances in 30 minutes",
        "Each stops all workers for seconds. Many: see starts; raise SAGER_SESSION_SECONDS if the event loop is late.",
        COUNT,
        [Query(total("increase", "sager_rebalances_total", "instance", window="30m"), "{{instance}}")],
        alerts=(alerts.REBALANCES,),
    ),
    Panel(
        "Recovery of tables",
        "After a rebalance, in the last hour. It grows with the state; SAGER_STORE=rocksdb makes restarts faster.",
        SECONDS,
        quantiles("sager_recovery_seconds", window="1h", only="p50 p99"),
    ),
    Panel(
        "Entries, by table",
        "Over all workers. If a table grows without new users or items, report it.",
        COUNT,
        [Query(total("", "sager_state_entries", "table"), "{{table}}")],
        width=12,
    ),
    Panel(
        "Size, by table",
        "Estimated from a sample in memory; with RocksDB, the size on disk. Plan memory by it.",
        BYTES,
        [Query(total("", "sager_state_bytes", "table"), "{{table}}")],
        stack=True,
        width=12,
    ),
)
DUCKDB = (
    Panel(
        "Records in a batch",
        "At SAGER_BATCH_ROWS the materializer works off a backlog; raise it if throughput matters more than delay.",
        COUNT,
        quantiles("sager_materializer_batch_records", only="p50 p99"),
    ),
    Panel(
        "Time of batches and publications, p95",
        "Rows go on while a publication copies what has changed; they wait for its checkpoint only.",
        SECONDS,
        [
            Query(query.expr, f"{what} {query.legend}")
            for what in ("batch", "publish")
            for query in quantiles(f"sager_materializer_{what}_seconds", only="p95")
        ],
    ),
    Panel(
        "Failed publications, recreated topics, settings that differ",
        "In 15 minutes, and in an hour. A publication usually fails when the disk is full. A recreated topic lost "
        "its records. Settings that processes must share and do not: `sager doctor` names them.",
        COUNT,
        [
            Query(f"increase(sager_materializer_publish_failures_total{{{OF}}}[15m])", "failed publications"),
            Query(
                total("increase", "sager_materializer_topics_recreated_total", "topic", window="1h"),
                "{{topic}} recreated",
            ),
            Query(
                "count(count by (setting) (count by (setting, fingerprint) (sager_shared_setting_info)) > 1)"
                " or vector(0)",
                "settings that differ",
            ),
        ],
        alerts=(alerts.PUBLISH, alerts.RECREATED),
    ),
    Panel(
        "Files",
        "The live file and the snapshot. A publication needs space for one more snapshot.",
        BYTES,
        [Query(f'sager_materializer_file_bytes{{{OF},file!="wal"}}', "{{file}}")],
    ),
    Panel(
        "Write-ahead log",
        "Checkpoints empty it. Large for long: none succeeds; the log says why.",
        BYTES,
        [Query(f'sager_materializer_file_bytes{{{OF},file="wal"}}', "{{instance}}")],
        alerts=(alerts.WAL,),
    ),
    Panel(
        "Free disk",
        "At the live file. Free up space before the limit: the materializer ends when the disk is full.",
        BYTES,
        [Query(f"sager_materializer_disk_free_bytes{{{OF}}}", "{{instance}}")],
        alerts=(alerts.DISK,),
    ),
)

WORKER = Dashboard(
    "sager-worker",
    "sager-streams: Worker and Kafka",
    "The processes and their resources, then the group, its tables and DuckDB's files.",
    (("Processes", PROCESSES), ("Machine", MACHINE), ("Kafka and state", KAFKA), ("DuckDB", DUCKDB)),
    (INSTANCE,),
)
