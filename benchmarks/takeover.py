"""Measures how long users wait when one of two workers is killed, without and with a standby replica of the tables.

    python -m benchmarks.takeover [--users 100000] [--standbys 0 1] [--store memory] [--json]

Users are written to the changelogs as in `benchmarks.recovery`. Two workers start; once both are ready, and have
answered a choice of a user on each partition, one is killed with -9, and the same users choose again. `seconds` runs
from the kill until the diffs of all of them are on the log, and begins with the session that the dead worker leaves
behind; `records_read` are those that the other worker read of changelogs meanwhile. It runs on Apache Kafka, started
here unless `--bootstrap` names one; `--embedded`: on the embedded broker.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from benchmarks.recovery import fill
from benchmarks.surroundings import add_broker_arguments, deployment, reached_as, rss_mib
from sager_client import EventProducer
from schemas import SkillDiff, decode
from streams.demo import catalogue
from streams.kafka import topics
from streams.kafka.clients import client_config, partition_of
from streams.local.launch import child
from streams.settings import Settings

LONGEST_SECONDS = 600.0


class Choosers:
    """One user of each partition, who choose and are learned."""

    def __init__(self, settings: Settings, users: int) -> None:
        names = [f"user-{number:08}" for number in random.Random(1).sample(range(users), min(users, 500))]
        self.users = {partition_of(name, settings.partitions): name for name in names}
        self._settings, self._rng, self._films = settings, random.Random(2), catalogue.load()["films"]
        self._consumer = Consumer(client_config(settings, **{"group.id": "takeover", "enable.auto.commit": False}))
        name = settings.topic(SkillDiff.TOPIC)
        self._consumer.assign([TopicPartition(name, number, OFFSET_BEGINNING) for number in range(settings.partitions)])

    def choose(self) -> None:
        """Each of them is shown a ranking and takes something from it."""
        with EventProducer(connection=reached_as(self._settings)) as events:
            for user in self.users.values():
                shown = self._rng.sample(self._films, 10)
                events.selection(events.ranking(user, "films", shown), shown[3].item_id)

    def wait(self) -> None:
        """Wait until a diff of each of them is on the log that was not seen before."""
        left, give_up = set(self.users.values()), time.monotonic() + LONGEST_SECONDS
        while left:
            if time.monotonic() > give_up:
                raise SystemExit(f"no diff of {len(left)} users, see {self._settings.data_dir}")
            for message in self._consumer.consume(100, 0.1):
                if message.error() is None:
                    left.discard(decode(SkillDiff, message.value()).user_id)


def measure(settings: Settings, users: int) -> dict[str, float]:
    """Kills one of two workers; returns the seconds that its users wait, and the memory of the one that is left."""
    choosers = Choosers(settings, users)
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for number in (1, 2):
            own = Settings(**{**settings.model_dump(exclude_unset=True), "data_dir": settings.data_dir / str(number)})
            own.data_dir.mkdir(exist_ok=True)
            workers.append(child(["worker"], own, own.data_dir / "worker.log"))
        until_settled(settings, workers)
        choosers.choose()
        choosers.wait()
        log = settings.data_dir / "2" / "worker.log"
        before = len(log.read_text())
        workers[0].kill()
        began = time.monotonic()
        choosers.choose()
        choosers.wait()
        seconds = time.monotonic() - began
        read = re.findall(r"tables recovered: ([\d,]+) records", log.read_text()[before:])
        return {
            "seconds": round(seconds, 1),
            "records_read": sum(int(count.replace(",", "")) for count in read),
            "rss_mib": round(rss_mib(workers[1].pid)),
        }
    finally:
        for worker in workers:
            worker.kill()
            worker.wait(20)


def until_settled(settings: Settings, workers: list["subprocess.Popen[bytes]"]) -> None:
    """Wait until both workers have partitions, and have recovered them and their standbys."""
    give_up = time.monotonic() + LONGEST_SECONDS
    steady = 0.0
    before = ""
    while steady < SETTLED_SECONDS:
        if time.monotonic() > give_up or any(worker.poll() is not None for worker in workers):
            raise SystemExit(f"the workers did not settle, see {settings.data_dir}")
        logs = [(settings.data_dir / str(number) / "worker.log").read_text() for number in (1, 2)]
        told = "".join(logs)
        is_ready = all("Worker ready" in log for log in logs)
        steady = steady + 1.0 if told == before and is_ready else 0.0
        before = told
        time.sleep(1.0)


SETTLED_SECONDS = 8.0
"""Without a line in either log: rebalance, recovery and standbys are done."""


def main() -> None:
    """Runs everything and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_broker_arguments(parser)
    parser.add_argument("--embedded", action="store_true", help="on the embedded broker")
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--standbys", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--store", default="memory", choices=["memory", "rocksdb"])
    parser.add_argument("--events", type=int, default=1_000, help="that each user has behind them")
    parser.add_argument("--json", action="store_true", help="no table")
    args = parser.parse_args()
    args.kafka = not args.bootstrap and not args.embedded
    rows: list[dict[str, object]] = []
    folder = Path(tempfile.mkdtemp(prefix="sager-takeover-"))
    try:
        with deployment(args, folder) as base:
            for standbys in args.standbys:
                own = {"prefix": f"{folder.name}.{standbys}.", "app_id": f"{folder.name}-{standbys}"}
                more = {"data_dir": folder / f"s{standbys}", "standby_replicas": standbys, "store": args.store}
                settings = Settings(**{**base.model_dump(exclude_unset=True), **own, **more})
                settings.data_dir.mkdir()
                topics.ensure(settings)
                fill(settings, args.users, args.events)
                found = measure(settings, args.users)
                rows.append({"users": args.users, "store": args.store, "standbys": standbys, **found})
                print(json.dumps({"benchmark": "takeover", **rows[-1]}), flush=True)
    finally:
        if sys.exc_info()[0] is None:
            shutil.rmtree(folder, ignore_errors=True)
    if not args.json:
        print("\n| users | store | standbys | seconds | records read | RSS, MiB |\n|---|---|---|---|---|---|")
        for row in rows:
            print("| {users:,} | {store} | {standbys} | {seconds} | {records_read:,} | {rss_mib:,} |".format(**row))


if __name__ == "__main__":
    main()
