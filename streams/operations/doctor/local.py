"""Checks that need no broker: the DuckDB file, the data folder, versions and contradictory settings."""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from platform import python_version

import duckdb
from confluent_kafka import KafkaException, TopicPartition, libversion
from confluent_kafka.admin import AdminClient, OffsetSpec
from packaging.requirements import Requirement

from operators.rank import RankSkill
from streams.exceptions import StreamsError
from streams.materializer import ddl, read
from streams.materializer.exceptions import AnotherDeployment
from streams.operations.doctor.findings import Finding, error, ok, warning
from streams.settings import By, RankerName, ReasonerName, Settings, Store

DISTRIBUTION = "sager-streams"
ANSWER_SECONDS = 5.0
LOW_BYTES, NO_BYTES = 1024**3, 100 * 1024**2
LATE_SECONDS = 60.0


def snapshot(settings: Settings, client: AdminClient | None) -> Iterator[Finding]:
    """The analysts' file: whether it is readable, of this deployment, and how far behind it is."""
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
    if layout != ddl.LAYOUT_VERSION:
        found = f"{path} has layout {layout}, this program writes {ddl.LAYOUT_VERSION}"
        yield error("DuckDB", found, "`sager rebuild --duckdb` makes a new file from the topics")
        return
    age = time.time() - info[0][0] if info else 0.0
    behind = _behind(client, {(topic, partition): offset for topic, partition, offset in offsets})
    found = f"{path}: layout {layout}, {info[0][1] if info else 0:,} records, published {age:,.0f} s ago"
    if behind is None:
        yield ok("DuckDB", found)
    elif behind and age > max(LATE_SECONDS, 4 * settings.publish_seconds):
        yield warning("DuckDB", f"{found}, {behind:,} records behind", "is `sager materialize` running? Check its log")
    else:
        yield ok("DuckDB", f"{found}, {behind:,} records behind")


def _behind(client: AdminClient | None, offsets: Mapping[tuple[str, int], int]) -> int | None:
    """How many records of its partitions the file lacks; None if the broker does not answer."""
    if client is None:
        return None
    asked = client.list_offsets(
        {TopicPartition(*where): OffsetSpec.latest() for where in offsets}, request_timeout=ANSWER_SECONDS
    )
    try:
        ends = {(tp.topic, tp.partition): future.result(ANSWER_SECONDS).offset for tp, future in asked.items()}
    except (KafkaException, TimeoutError):
        return None
    return sum(max(0, int(ends[where]) - offset) for where, offset in offsets.items())


def folder(settings: Settings) -> Iterator[Finding]:
    """Whether the data folder is writable, and the free space on its disk."""
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


def versions() -> Iterator[Finding]:
    """The installed versions, and whether this release supports them."""
    found = {"python": python_version(), "librdkafka": libversion()[0]}
    wrong = []
    try:
        found = {DISTRIBUTION: version(DISTRIBUTION), **found}
        wanted = [Requirement(text) for text in requires(DISTRIBUTION) or []]
    except PackageNotFoundError:
        found, wanted = {DISTRIBUTION: "from its source", **found}, []
    for name in ("faust-streaming", "aiokafka", "confluent-kafka", "duckdb", "pydantic"):
        found[name] = _installed(name)
    for each in wanted:
        has = _installed(each.name)
        needed = each.marker is None or each.marker.evaluate({"extra": ""})
        if (has or needed) and not (has and each.specifier.contains(has, prereleases=True)):
            wrong.append(f"{each.name} {has or 'missing'}, needs {each.specifier}")
    told = ", ".join(f"{name} {number or 'missing'}" for name, number in found.items())
    if wrong:
        yield error(
            "versions",
            f"{told}. Out of range: {'; '.join(wrong)}",
            "`pip install --upgrade .` in a clone of the repository",
        )
    else:
        yield ok("versions", told)


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def contradictions(settings: Settings) -> Iterator[Finding]:
    """Settings that make each other void or harmful."""
    found = [
        (broken, told, todo)
        for applies, broken, told, todo in (
            (
                settings.rebalance_seconds < settings.session_seconds,
                False,
                f"SAGER_REBALANCE_SECONDS={settings.rebalance_seconds:g} is less than SAGER_SESSION_SECONDS",
                "raise it: a rebalance waits for the calls under way",
            ),
            (
                settings.watchdog_seconds < settings.rebalance_seconds,
                False,
                f"SAGER_WATCHDOG_SECONDS={settings.watchdog_seconds:g} is less than SAGER_REBALANCE_SECONDS",
                "raise it: the watchdog would end a worker that waits for a rebalance",
            ),
            (
                settings.store is Store.ROCKSDB and find_spec("rocksdict") is None,
                True,
                "SAGER_STORE=rocksdb, but its extra is missing",
                "pip install '.[rocksdb]' in a clone of the repository, or SAGER_STORE=memory",
            ),
            (
                settings.facets_by is By.LLM and not settings.retrieve,
                False,
                "SAGER_FACETS_BY=llm, but with SAGER_RETRIEVE=false there are no facets",
                "drop one of the two",
            ),
            (
                settings.extract_by is By.LLM
                and settings.ranker is RankerName.DETERMINISTIC
                and settings.rank_skill is not RankSkill.SLIM,
                False,
                f"SAGER_EXTRACT_BY=llm, but the slim skill does not rank with SAGER_RANK_SKILL={settings.rank_skill}",
                "SAGER_RANK_SKILL=slim, or SAGER_EXTRACT_BY=rules",
            ),
            (
                settings.embedded and not _all_local(settings.bootstrap),
                False,
                f"SAGER_EMBEDDED=true, but {settings.bootstrap} is another machine",
                "SAGER_EMBEDDED=false for any broker but that of `sager up`",
            ),
            (
                settings.embedded and settings.replication > 1,
                True,
                f"SAGER_EMBEDDED=true, but SAGER_REPLICATION={settings.replication}",
                "SAGER_REPLICATION=1: the embedded broker is a single one",
            ),
            (
                _same(settings.duckdb_file, settings.data_dir / "live.duckdb"),
                True,
                "SAGER_DUCKDB names the materializer's own live.duckdb",
                "name another file for analysts",
            ),
        )
        if applies
    ]
    if not found:
        yield ok("settings", "none contradicts another")
    for broken, told, todo in found:
        yield (error if broken else warning)("settings", told, todo)


def _all_local(bootstrap: str) -> bool:
    hosts = [server.strip().rpartition(":")[0].strip("[]") for server in bootstrap.split(",")]
    return all(host == "localhost" or host.startswith("127.") or host == "::1" for host in hosts)


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def uses_model(settings: Settings) -> bool:
    """Whether any stage uses a model."""
    return (
        settings.reasoner is ReasonerName.LLM
        or settings.ranker is not RankerName.DETERMINISTIC
        or settings.facets_by is By.LLM
        or settings.extract_by is By.LLM
    )
