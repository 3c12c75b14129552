"""Measures how long a worker takes to recover, by the number of users' skills in its changelog.

    python -m benchmarks.recovery [--users 10000 100000] [--stores memory rocksdb] [--choices 25]

Skills are written to the changelog topic as a worker leaves them, one record per user after `--choices` choices of the
built-in films. Then one worker is started: as a new machine with an empty disk and, with `rocksdb`, again with its disk
after a graceful shutdown and after a kill -9. A choice of one of the users is sent before it starts: the time runs from
the start of the process until this choice's diff is on the log, and includes joining the group and importing Faust. It
runs on Apache Kafka, started here unless `--bootstrap` names one, and prints one JSON object per line and a table.
"""

import argparse
import itertools
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from benchmarks.surroundings import add_broker_arguments, deployment, reached_as, rss_mib
from operators.evolve import RulesReasoner
from operators.statinit import facts_of, parser_for
from operators.steps import Evolve, Start, State
from sager_client import EventProducer
from schemas import Contrast, PolicySkill, Position, SkillDiff, compound_key, decode, encode
from streams.demo import catalogue
from streams.kafka import topics
from streams.kafka.clients import client_config, partition_of
from streams.kafka.producer import Outbox
from streams.local.launch import child
from streams.settings import Settings, Store

TEMPLATES = 64
"""Number of different skills; users share them except for the id, as more would only take longer to generate."""
LONGEST_SECONDS = 1_800.0


def template(number: int, choices: int) -> PolicySkill:
    """A skill after this many choices, with everything that a worker keeps in it."""
    films, rng = catalogue.load()["films"], random.Random(number)
    parse, user = parser_for("films", {}), f"template-{number:03}"
    skill: PolicySkill | None = None
    for choice in range(choices):
        facts = [facts_of(film, parse) for film in rng.sample(films, 10)]
        contrast = Contrast(
            event_id=f"c-{user}-{choice:08}",
            occurred_at=datetime.now(UTC),
            user_id=user,
            domain="films",
            ranking_id=f"r-{user}-{choice:08}",
            chosen=facts[1],
            chosen_rank=2,
            unchosen=(*facts[2:], facts[0]),
        )
        at = Position(topic="contrasts", partition=0, offset=choice, timestamp_ms=0)
        known = skill or Start().skill(user, "films", contrast, None)
        skill = Evolve().finish(State(known), contrast, RulesReasoner().propose(contrast, known), at).skill
    if skill is None:
        raise SystemExit("--choices must be at least 1")
    # Its diff has been sent: the worker has no interrupted send to look for.
    return skill.model_copy(
        update={"last_diff": skill.last_diff and skill.last_diff.model_copy(update={"source": None})}
    )


def fill(settings: Settings, users: int, choices: int) -> float:
    """Writes this many users' skills to the changelog; returns their mean size in bytes."""
    made = [(f'"template-{number:03}"'.encode(), encode(template(number, choices))) for number in range(TEMPLATES)]
    outbox = Outbox(settings, **{"linger.ms": 50, "batch.size": 1_000_000})
    name, size = settings.topic(PolicySkill.TOPIC), 0
    for number, (placeholder, skill) in zip(range(users), itertools.cycle(made), strict=False):
        user = f"user-{number:08}"
        value = skill.replace(placeholder, f'"{user}"'.encode())
        size += len(value)
        outbox.send(name, compound_key(user, "films"), value, partition_of(user, settings.partitions))
        if number % 1_000 == 0:
            print(f"\r{number:,} of {users:,} skills written", end="", file=sys.stderr, flush=True)
    outbox.flush(120, "skills")
    print(f"\r{users:,} skills written{'':20}", file=sys.stderr)
    return size / users


def measure(settings: Settings, number: int) -> tuple["subprocess.Popen[bytes]", dict[str, float]]:
    """Starts a worker with one choice waiting; returns the seconds until it is learned, and the worker's memory."""
    user, films = f"user-{number:08}", catalogue.load()["films"]
    shown = random.Random(time.time()).sample(films, 10)
    with EventProducer(connection=reached_as(settings)) as events:
        events.selection(events.ranking(user, "films", shown), shown[3].item_id)
    consumer = Consumer(client_config(settings, **{"group.id": "recovery", "enable.auto.commit": False}))
    consumer.assign(
        [TopicPartition(settings.topic(SkillDiff.TOPIC), partition_of(user, settings.partitions), OFFSET_BEGINNING)]
    )
    began = time.monotonic()
    worker = child(["worker"], settings, settings.data_dir / "worker.log")
    most = 0.0
    try:
        while True:
            for message in consumer.consume(100, 0.1):
                if message.error() is None and decode(SkillDiff, message.value() or b"").user_id == user:
                    seconds = time.monotonic() - began
                    return worker, {"seconds": round(seconds, 1), "rss_mib": round(max(most, rss_mib(worker.pid)))}
            most = max(most, rss_mib(worker.pid))
            if worker.poll() is not None or time.monotonic() - began > LONGEST_SECONDS:
                worker.kill()
                raise SystemExit(f"no diff; the worker's exit code is {worker.returncode}, see {settings.data_dir}")
            print(f"\r{time.monotonic() - began:.0f} s, {rss_mib(worker.pid):,.0f} MiB  ", end="", file=sys.stderr)
    finally:
        print(file=sys.stderr)
        consumer.close()


def recoveries(settings: Settings, users: int, stores: list[str]) -> Iterator[dict[str, object]]:
    """Measures every way to start with this many users."""
    chosen = iter(random.Random(users).sample(range(users), 3 * len(stores)))
    for store in stores:
        own = Settings(**{**settings.model_dump(exclude_unset=True), "store": Store(store)})
        for disk in ("wiped", "kept, ended", "kept, killed") if store == Store.ROCKSDB else ("wiped",):
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
            yield {"users": users, "store": store, "disk": disk, **found}


def main() -> None:
    """Runs everything and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_broker_arguments(parser)
    parser.add_argument("--users", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--stores", nargs="+", default=["memory", "rocksdb"], choices=[store.value for store in Store])
    parser.add_argument("--choices", type=int, default=25, help="that each user has made")
    args = parser.parse_args()
    args.kafka = (
        not args.bootstrap
    )  # the embedded broker holds everything in memory, and stores on disk need a real one
    rows: list[dict[str, object]] = []
    folder = Path(tempfile.mkdtemp(prefix="sager-recovery-"))
    try:
        with deployment(args, folder) as base:
            for users in args.users:
                own = {"prefix": f"{folder.name}.{users}.", "app_id": f"{folder.name}-{users}"}
                settings = Settings(**{**base.model_dump(exclude_unset=True), **own, "data_dir": folder / str(users)})
                topics.ensure(settings)
                size = round(fill(settings, users, args.choices))
                for row in recoveries(settings, users, args.stores):
                    rows.append(row | {"bytes_per_skill": size})
                    print(json.dumps({"benchmark": "recovery", **rows[-1]}), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(
        "\n| users | bytes per skill | store | disk | seconds to the first diff | RSS, MiB |\n|---|---|---|---|---|---|"
    )
    for row in rows:
        print("| {users:,} | {bytes_per_skill:,} | {store} | {disk} | {seconds} | {rss_mib:,} |".format(**row))


if __name__ == "__main__":
    main()
