"""Prometheus metrics of the materializer; no label has a user id."""

from prometheus_client import Counter, Gauge, Histogram

from streams.analytics.rows import PUBLIC_TOPICS
from streams.analytics.schema import tables
from streams.metrics import DEAD_LETTERS, UNREADABLE

STAGE = "materialize"
ROWS = Counter("sager_materializer_rows_total", "Rows written to DuckDB, without duplicates.", ["table"])
RECORDS = Counter("sager_materializer_records_total", "Records read from Kafka and committed.", ["topic"])
BAD_RECORDS = Counter("sager_materializer_bad_records_total", "Records that could not be decoded.", ["topic"])
RECREATED = Counter("sager_materializer_topics_recreated_total", "Topics found recreated, and read again.", ["topic"])
LAG = Gauge("sager_materializer_lag_records", "Records in Kafka that are not in DuckDB yet.", ["topic"])
NEXT_OFFSET = Gauge(
    "sager_materializer_next_offset", "Next offset to read, summed over the topic's partitions.", ["topic"]
)
_FINE = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
BATCH_SECONDS = Histogram("sager_materializer_batch_seconds", "Time to decode and commit one batch.", buckets=_FINE)
DELAY_SECONDS = Histogram(
    "sager_materializer_delay_seconds",
    "From the Kafka timestamp of a batch's oldest record to its commit.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600),
)
DISK_FREE = Gauge("sager_materializer_disk_free_bytes", "Free disk space at the live file.")
PUBLISH_SECONDS = Histogram("sager_materializer_publish_seconds", "Time to publish one snapshot.", buckets=(*_FINE, 30))
PUBLISH_FAILURES = Counter("sager_materializer_publish_failures_total", "Snapshots that could not be published.")
SNAPSHOT_TIMESTAMP = Gauge(
    "sager_materializer_snapshot_timestamp_seconds", "When the newest snapshot was published; 0: never."
)
FILE_BYTES = Gauge("sager_materializer_file_bytes", "Size on disk.", ["file"])

# Known label values start at 0, so that rates exist before the first event.
for _topic in PUBLIC_TOPICS:
    for _metric in (RECORDS, BAD_RECORDS, RECREATED, LAG):
        _metric.labels(topic=_topic.base)
for _table in tables():
    for _each in (_table, *_table.children):
        ROWS.labels(table=_each.name)
for _reason in UNREADABLE:
    DEAD_LETTERS.labels(STAGE, _reason)
for _file in ("live", "snapshot"):
    FILE_BYTES.labels(file=_file)
