"""Measures a worker's recovery by the number of users.

    python -m benchmarks.recovery [--users 10000 100000] [--stores memory rocksdb] [--events 1000]

Each user has a skill, a memory and a profile, written to the changelogs as a worker leaves them after that many events
(see `benchmarks.one_user`). Then one worker is started: as a new machine with an empty disk and, with `rocksdb`, again
with its disk after a graceful shutdown and after a kill -9. A choice of one of the users is sent before it starts:
`seconds` runs from the start of the process until this choice's diff is on the log, and includes joining the group and
importing Faust; `recovering_seconds` is the tables' part of it. `cpu_us_per_record` is all CPU of the worker until
then, start included, over the records that it took in. It runs on Apache Kafka, started here unless `--bootstrap` names
one, and prints one JSON object per line.

A million users take 4 GB on disk and, with `memory`, some 6 GB of memory: `--users 1000000`.
"""

import argparse
import itertools
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from benchmarks.one_user import OneUser
from benchmarks.surroundings import cpu_seconds, deployment, reached_as, rss_mib
from sager_client import EventProducer
from schemas import TOPICS, Memory, Model, PolicySkill, Profile, SkillDiff, compound_key, decode, encode
from streams.kafka import topics
from streams.kafka.clients import client_config, partition_of
from streams.kafka.producer import RecordWriter
from streams.local.children import start_child
from streams.local.demo import catalogue
from streams.settings import Settings

# Number of different users; the others share what these have except for the id.
TEMPLATES = 16
KEPT = (PolicySkill, Memory, Profile)
LONGEST_SECONDS = 1_800.0


def template(number: int, events: int) -> list[tuple[str, bytes]]:
    """A user's states after these events, as JSON of `"ann"`."""
    user = OneUser(seed=number)
    for event in range(events):
        user.event(event)
    return [(model.TOPIC, encode(_settled(value))) for model in KEPT if (value := user.value(model)) is not None]


def _settled(value: Model) -> Model:
    """Mark the skill's diff as sent."""
    if not isinstance(value, PolicySkill) or value.last_diff is None:
        return value
    return value.model_copy(update={"applied": (), "last_diff": value.last_diff.model_copy(update={"source": None})})


def fill(settings: Settings, users: int, events: int) -> float:
    """Write users to the changelogs; return their mean bytes."""
    made = [template(number, events) for number in range(TEMPLATES)]
    [codec] = {TOPICS[model.TOPIC].compression for model in KEPT}
    outbox = RecordWriter(settings, **{"linger.ms": 50, "batch.size": 1_000_000, "compression.type": codec})
    size = 0
    for number, kept in zip(range(users), itertools.cycle(made), strict=False):
        user = f"user-{number:08}"
        key, partition = compound_key(user, "films"), partition_of(user, settings.partitions)
        for base, value in kept:
            own = value.replace(b'"ann"', f'"{user}"'.encode())
            size += len(own)
            outbox.send(settings.topic(base), key, own, partition)
        if number % 1_000 == 0:
            print(f"\r{number:,} of {users:,} users written", end="", file=sys.stderr, flush=True)
    outbox.flush(600, "changelogs")
    print(f"\r{users:,} users written{'':20}", file=sys.stderr)
    return size / users


def measure(settings: Settings, number: int) -> tuple["subprocess.Popen[bytes]", dict[str, float]]:
    """Start a worker with one choice waiting; return its figures."""
    user, films = f"user-{number:08}", catalogue.load()["films"]
    shown = [film.model_dump() for film in random.Random(time.time()).sample(films, 10)]
    with EventProducer(connection=reached_as(settings)) as events:
        events.selection(events.ranking(user, "films", shown), shown[3]["item_id"])
    consumer = Consumer(client_config(settings, **{"group.id": "recovery", "enable.auto.commit": False}))
    consumer.assign(
        [TopicPartition(settings.topic(SkillDiff.TOPIC), partition_of(user, settings.partitions), OFFSET_BEGINNING)]
    )
    began = time.monotonic()
    worker = start_child(["worker"], settings, settings.data_dir / "worker.log")
    most = 0.0
    try:
        while True:
            for message in consumer.consume(100, 0.1):
                if message.error() is None and decode(SkillDiff, message.value() or b"").user_id == user:
                    seconds = time.monotonic() - began
                    return worker, {
                        "seconds": round(seconds, 1),
                        "recovering_seconds": recovering_seconds(settings),
                        "cpu_seconds": round(cpu_seconds(worker.pid), 1),
                        "rss_mib": round(max(most, rss_mib(worker.pid))),
                    }
            most = max(most, rss_mib(worker.pid))
            if worker.poll() is not None or time.monotonic() - began > LONGEST_SECONDS:
                worker.kill()
                raise SystemExit(f"no diff; the worker's exit code is {worker.returncode}, see {settings.data_dir}")
            print(f"\r{time.monotonic() - began:.0f} s, {rss_mib(worker.pid):,.0f} MiB  ", end="", file=sys.stderr)
    finally:
        print(file=sys.stderr)
        consumer.close()


def recovering_seconds(settings: Settings) -> float:
    """The seconds that the tables took, by the worker's log."""
    found = re.findall(
        r"tables recovered: [\d,]+ records in ([\d.]+) s", (settings.data_dir / "worker.log").read_text()
    )
    return float(found[-1]) if found else 0.0


def recoveries(settings: Settings, users: int, stores: list[str]) -> Iterator[dict[str, object]]:
    """Measure every way to start with this many users."""
    chosen = iter(random.Random(users).sample(range(users), 3 * len(stores)))
    for store in stores:
        own = Settings(**{**settings.model_dump(exclude_unset=True), "store": store})
        for disk in ("wiped", "kept, ended", "kept, killed") if store == "rocksdb" else ("wiped",):
            if disk == "wiped":
                shutil.rmtree(own.data_dir / "worker", ignore_errors=True)
            worker, found = measure(own, next(chosen))
            if disk == "wiped":
                worker.terminate()
                worker.wait(60)
            else:
                worker.kill()
                worker.wait(10)
                # The next worker would wait until the group has dropped the killed one.
                time.sleep(own.session_seconds + 2)
            records = len(KEPT) * users if disk == "wiped" else 0
            rate = {
                "records": records,
                "records_per_s": round(records / found["seconds"]) if records else None,
                "cpu_us_per_record": round(1e6 * found["cpu_seconds"] / records, 1) if records else None,
            }
            yield {"users": users, "store": store, "disk": disk, **found, **rate}


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap", help="a running Kafka")
    parser.add_argument("--users", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--stores", nargs="+", default=["memory", "rocksdb"], choices=["memory", "rocksdb"])
    parser.add_argument("--events", type=int, default=1_000, help="that each user has behind them")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sager-recovery-"))
    try:
        with deployment(folder, args.bootstrap, kafka=True) as base:
            for users in args.users:
                own = {"prefix": f"{folder.name}.{users}.", "app_id": f"{folder.name}-{users}"}
                settings = Settings(**{**base.model_dump(exclude_unset=True), **own, "data_dir": folder / str(users)})
                topics.ensure(settings)
                size = round(fill(settings, users, args.events))
                for row in recoveries(settings, users, args.stores):
                    print(json.dumps({"benchmark": "recovery", **row, "bytes_per_user": size}), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
