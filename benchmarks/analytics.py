"""Measures the latency of analysts' queries, and the load that readers put on the writer.

    python -m benchmarks.analytics [--users 100000] [--diffs 1000000] [--rows-per-second 1000] [--readers 0 1 3]

A file is filled in bulk with this many users and diffs, with their rankings, selections and contrasts. Then a writer
continues like `sager materialize`, without Kafka: this many rows per second through `Store`, in a transaction per
second or of at most 2,000 records, with a publication whenever one is due; new rows wait meanwhile. Beside it readers,
in processes of their own, keep opening the published file and run one query after another. It prints, for each number
of readers, the time of a transaction, of a publication, and the age of the data that readers see; for each query, its
latency, including the opening of the file.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.analytics_fill import RECORDS_PER_CHOICE, ROWS_PER_CHOICE, choices, fill
from schemas import encode, topic_of
from streams.materializer import read
from streams.materializer.batch import Batch
from streams.materializer.records import Record
from streams.materializer.rows import read as to_rows
from streams.materializer.snapshot import Publisher
from streams.materializer.store import Store
from streams.settings import Settings

QUESTIONS = {
    "a user's policy at a moment": "FROM policy_at('{user}', '{when}')",
    "all policies at a moment": "SELECT tier, count(*) FROM policies_at('{when}') GROUP BY ALL",
    "why a line is there": (
        "FROM why('{user}', (SELECT any_value(attribute_id) FROM skill_attributes WHERE user_id = '{user}'))"
    ),
    "what changed this week": "FROM changed_since('2026-06-29') LIMIT 20",
    "attribute adoption": "FROM attribute_adoption ORDER BY users DESC LIMIT 20",
    "attribute drift over a month": "FROM attribute_drift('2026-05-01', '2026-06-01') LIMIT 20",
    "tier flow": "FROM tier_flow",
    "reinforce, discover, weaken rates": "FROM skill_change_rates",
    "learning curve": "FROM learning_curve",
    "arms by week": "FROM arm_results",
    "cohorts before and after": "FROM cohort_before_after()",
    "users whose policy stopped helping": "FROM stopped_helping(n := 4)",
    "cold-start age": "SELECT domain, median(choices), avg(days) FROM cold_start_age GROUP BY ALL",
    "LLM cost by part": "SELECT part, sum(calls), sum(cost_dollars) FROM llm_calls GROUP BY ALL",
    "cost per point of hit rate": "FROM cost_per_point('2026-05-01', '2026-06-01')",
    "slim-skill tokens": "FROM slim_skill_tokens",
    "one user's last outcomes": "FROM outcomes WHERE user_id = '{user}' ORDER BY ranked_at DESC LIMIT 20",
}


def write(settings: Settings, users: int, version: int, rate: float, seconds: float) -> dict[str, list[float]]:
    """Writes rows at a fixed rate for a while; returns seconds per transaction and publication, and rows."""
    ahead = choices(users, version)
    done: dict[str, list[float]] = {"batch": [], "publish": [], "rows": []}
    with Store(settings.data_dir / "live.duckdb", settings.prefix) as store:
        publisher = Publisher(store, settings.duckdb_file, settings.publish_seconds)
        offset, starts, written = int(time.time()) * 1_000, time.monotonic(), 0
        while (tick := time.monotonic()) < starts + seconds:
            due = round(rate * (tick - starts + 1) / ROWS_PER_CHOICE) - written
            made = list(islice(ahead, max(1, min(due, settings.batch_rows // RECORDS_PER_CHOICE))))
            written, now_ms = written + len(made), time.time_ns() // 1_000_000
            events = [event for events in made for event in events]
            values = [(topic_of(type(event)), encode(event)) for event in events]
            began = time.perf_counter()
            batch = Batch()
            for topic, value in values:
                offset += 1
                if (made_of := to_rows(Record(topic, 0, offset, now_ms, None, value))) is not None:
                    batch.add(made_of)
            rows = sum(store.write(batch, {}).values())
            done["batch"].append(time.perf_counter() - began)
            done["rows"].append(rows)
            publisher.note(datetime.now(UTC).replace(tzinfo=None))
            began = time.perf_counter()
            if publisher.publish_if_due():
                done["publish"].append(time.perf_counter() - began)
            time.sleep(max(0.0, starts + written * ROWS_PER_CHOICE / rate - time.monotonic()))
    return done


def ask(settings: Settings, users: int, seconds: float, seed: int) -> None:
    """One reader: runs queries in turn, each on the newest file, and prints one JSON line per answer."""
    rng, ends = random.Random(seed), time.monotonic() + seconds
    names = list(QUESTIONS)
    rng.shuffle(names)
    number = 0
    while time.monotonic() < ends:
        name = names[number % len(names)]
        number += 1
        query = QUESTIONS[name].format(user=f"user-{rng.randrange(users):08}", when=f"2026-0{rng.randint(3, 6)}-15")
        began = time.perf_counter()
        con = read.connect(settings)
        try:
            con.execute(query).fetchall()
            took = time.perf_counter() - began
            [(age,)] = con.execute("SELECT epoch(now()) - epoch(newest_record_at) FROM snapshot_info").fetchall()
        finally:
            con.close()
        print(json.dumps({"question": name, "seconds": took, "age": age}), flush=True)


def measure(settings: Settings, args: argparse.Namespace, readers: int, version: int) -> dict[str, Any]:
    """Runs the writer beside this many readers."""
    own = ["--ask", str(settings.data_dir), "--users", str(args.users), "--seconds", str(args.seconds)]
    asking = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.analytics", *own, "--seed", str(number)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(readers)
    ]
    done = write(settings, args.users, version, args.rows_per_second, args.seconds)
    answers = [json.loads(line) for each in asking for line in each.communicate(timeout=600)[0].splitlines()]
    failed = sum(each.returncode != 0 for each in asking)
    return {"readers": readers, "failed": failed, "answers": answers, **done}


def at(values: Sequence[float], share: float) -> float:
    """A quantile; 0 of nothing."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def table_of_the_writer(runs: Sequence[dict[str, Any]]) -> None:
    """The table of the readers' load on the writer, and the age of what they see."""
    print("\n| readers | rows/s | batch p50 / p95 | publication p50 / max | age of the data p50 / p95 | questions/s |")
    print("|---|---|---|---|---|---|")
    for run in runs:
        batch, publish, ages = run["batch"], run["publish"], [answer["age"] for answer in run["answers"]]
        told = f"{at(ages, 0.5):.1f} s / {at(ages, 0.95):.1f} s" if ages else ""
        print(
            f"| {run['readers']} | {sum(run['rows']) / run['seconds']:,.0f} "
            f"| {1e3 * at(batch, 0.5):.0f} ms / {1e3 * at(batch, 0.95):.0f} ms "
            f"| {at(publish, 0.5):.2f} s / {max(publish, default=0):.2f} s | {told} "
            f"| {len(ages) / run['seconds']:.1f} |"
        )


def table_of_questions(runs: Sequence[dict[str, Any]]) -> None:
    """The table of latency by query and number of readers."""
    asked = [run for run in runs if run["readers"]]
    print("\n| question |" + "".join(f" {run['readers']} readers, p50 / p95 |" for run in asked))
    print("|---|" + "---|" * len(asked))
    for name in QUESTIONS:
        cells = []
        for run in asked:
            took = [answer["seconds"] for answer in run["answers"] if answer["question"] == name]
            cells.append(f" {1e3 * at(took, 0.5):,.0f} ms / {1e3 * at(took, 0.95):,.0f} ms |")
        print(f"| {name} |" + "".join(cells))


def main() -> None:
    """Fills the file, runs, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--diffs", type=int, default=1_000_000)
    parser.add_argument("--rows-per-second", type=float, default=1_000)
    parser.add_argument("--readers", type=int, nargs="+", default=[0, 1, 3])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each number of readers")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.ask:
        ask(Settings(data_dir=args.ask), args.users, args.seconds, args.seed)
        return
    folder = Path(tempfile.mkdtemp(prefix="sager-analytics-"))
    try:
        settings = Settings(data_dir=folder)
        with Store(folder / "live.duckdb", settings.prefix) as store:
            store.use_prices(0.15, 0.6)
            began = time.perf_counter()
            fill(store._db, args.users, args.diffs)
            print(f"{args.diffs:,} diffs of {args.users:,} users filled in {time.perf_counter() - began:.0f} s")
            began = time.perf_counter()
            store.derive_all()
            Publisher(store, settings.duckdb_file, settings.publish_seconds).publish()
            print(f"all users derived and published in {time.perf_counter() - began:.0f} s", flush=True)
        print(f"{settings.duckdb_file.stat().st_size / 1e6:,.0f} MB", flush=True)
        runs, version = [], args.diffs // args.users
        for readers in args.readers:
            run = measure(settings, args, readers, version + 1) | {"seconds": args.seconds}
            version += 1 + int(sum(run["rows"]) / ROWS_PER_CHOICE / args.users)
            runs.append(run)
            short = {key: value for key, value in run.items() if key in ("readers", "failed")}
            print(json.dumps(short | {"batch": statistics.median(run["batch"])}), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table_of_the_writer(runs)
    table_of_questions(runs)


if __name__ == "__main__":
    main()
