"""Check versions, settings, the DuckDB file and the data folder."""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from platform import python_version

import duckdb
from confluent_kafka import KafkaException, TopicPartition, libversion
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.exceptions import StreamsError
from streams.materializer import read, schema
from streams.materializer.exceptions import AnotherDeployment
from streams.operations.doctor.findings import Finding, error, ok, warning
from streams.settings import Settings, Store

DISTRIBUTION = "sager-streams"
ANSWER_SECONDS = 5.0
LOW_BYTES, NO_BYTES = 1024**3, 100 * 1024**2
LATE_SECONDS = 60.0
SETTINGS = "settings"


def versions() -> Iterator[Finding]:
    """Report the installed versions; pip has checked their ranges."""
    found = {"python": python_version(), "librdkafka": libversion()[0]}
    for name in (DISTRIBUTION, "faust-streaming", "aiokafka", "confluent-kafka", "duckdb", "pydantic"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    yield ok("versions", ", ".join(f"{name} {number}" for name, number in found.items()))


def contradictions(settings: Settings) -> Iterator[Finding]:
    """Look for settings that make each other void or harmful."""
    yield from list(_contradictions(settings)) or [ok(SETTINGS, "none contradicts another")]


def _contradictions(s: Settings) -> Iterator[Finding]:
    if s.rebalance_seconds < s.session_seconds:
        found = f"SAGER_REBALANCE_SECONDS={s.rebalance_seconds:g} is less than SAGER_SESSION_SECONDS"
        yield warning(SETTINGS, found, "raise it: a rebalance waits for the calls under way")
    if s.watchdog_seconds < s.rebalance_seconds:
        found = f"SAGER_WATCHDOG_SECONDS={s.watchdog_seconds:g} is less than SAGER_REBALANCE_SECONDS"
        yield warning(SETTINGS, found, "raise it: the watchdog would end a worker that waits for a rebalance")
    if s.store is Store.ROCKSDB and find_spec("rocksdict") is None:
        todo = "pip install '.[rocksdb]' in a clone of the repository, or SAGER_STORE=memory"
        yield error(SETTINGS, "SAGER_STORE=rocksdb, but its extra is missing", todo)
    hosts = [server.strip().rpartition(":")[0].strip("[]") for server in s.bootstrap.split(",")]
    if s.embedded and not all(host in ("localhost", "::1") or host.startswith("127.") for host in hosts):
        found = f"SAGER_EMBEDDED=true, but {s.bootstrap} is another machine"
        yield warning(SETTINGS, found, "SAGER_EMBEDDED=false for any broker but that of `sager up`")
    if s.embedded and s.replication > 1:
        found = f"SAGER_EMBEDDED=true, but SAGER_REPLICATION={s.replication}"
        yield error(SETTINGS, found, "SAGER_REPLICATION=1: the embedded broker is a single one")
    if s.duckdb_file.resolve() == (s.data_dir / "live.duckdb").resolve():
        found = "SAGER_DUCKDB names the materializer's own live.duckdb"
        yield error(SETTINGS, found, "name another file for analysts")


def snapshot(settings: Settings, client: AdminClient | None) -> Iterator[Finding]:
    """Check that analysts can read their file, that it is of this deployment, and how far it is behind."""
    path = settings.duckdb_file
    if not path.exists():
        yield warning("DuckDB", f"there is no {path}", "start `sager materialize`; SAGER_DUCKDB, if it is elsewhere")
        return
    try:
        with read.connect(settings) as con:
            [(layout,)] = con.execute("SELECT schema_version FROM meta").fetchall()
            info = con.execute("SELECT epoch(published_at), records FROM snapshot_info").fetchall()
            offsets = con.execute("SELECT topic, kafka_partition, next_offset FROM sink_offsets").fetchall()
    except AnotherDeployment as theirs:
        found = f"{path} belongs to the prefix {theirs.found!r}, not {settings.prefix!r}"
        yield error("DuckDB", found, "give each deployment its own SAGER_DATA_DIR")
        return
    except (StreamsError, duckdb.Error, ValueError) as failed:
        yield error("DuckDB", f"{failed}", "move it away: `sager materialize` publishes it again")
        return
    if layout != schema.LAYOUT_VERSION:
        found = f"{path} has layout {layout}, this program writes {schema.LAYOUT_VERSION}"
        yield error("DuckDB", found, "`sager rebuild --duckdb` makes a new file from the topics")
        return
    age = time.time() - info[0][0] if info else 0.0
    behind = _behind(client, {(topic, partition): offset for topic, partition, offset in offsets})
    found = f"{path}: layout {layout}, {info[0][1] if info else 0:,} records, published {age:,.0f} s ago"
    if behind is not None:
        found += f", {behind:,} records behind"
    if behind and age > max(LATE_SECONDS, 4 * settings.publish_seconds):
        yield warning("DuckDB", found, "is `sager materialize` running? Check its log")
    else:
        yield ok("DuckDB", found)


def _behind(client: AdminClient | None, offsets: Mapping[tuple[str, int], int]) -> int | None:
    """Count the records that the file lacks; None if the broker does not answer."""
    if client is None:
        return None
    asked = {TopicPartition(*where): OffsetSpec.latest() for where in offsets}
    try:
        answers = client.list_offsets(asked, request_timeout=ANSWER_SECONDS).items()
        ends = {(tp.topic, tp.partition): future.result(ANSWER_SECONDS).offset for tp, future in answers}
    except (KafkaException, TimeoutError):
        return None
    return sum(max(0, int(ends[where]) - offset) for where, offset in offsets.items())


def folder(settings: Settings) -> Iterator[Finding]:
    """Check that the data folder is writable, and the free space on its disk."""
    path = settings.data_dir.absolute()
    nearest = next(each for each in (path, *path.parents) if each.exists())
    free = shutil.disk_usage(nearest).free
    found = f"{path}: {free / 1024**3:,.1f} GiB free"
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        yield error("data folder", f"{nearest} is not writable", "set SAGER_DATA_DIR to a writable folder")
    elif free < NO_BYTES:
        yield error("data folder", found, "make room: the materializer cannot publish")
    elif free < LOW_BYTES:
        yield warning("data folder", found, "make room: a snapshot needs as much space as the live file")
    else:
        yield ok("data folder", found)
