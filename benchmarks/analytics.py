"""Measures the age of what analysts read, the latency of their queries, and what forgetting costs beside them.

    python -m benchmarks.analytics [--diffs 1300000] [--rows-per-second 1000] [--readers 0 1 3] [--seconds 60] [--json]

A file is filled in bulk with this many users and diffs, with their rankings, selections and contrasts: some 1 GB. Then
a writer continues like `sager materialize`, without Kafka: this many rows per second through `Store`, with the offsets
in the transaction, and a publication whenever one is due. Beside it readers, in processes of their own, keep opening
the published file and run one query after another. At the end one of the users is forgotten, while rows come in. It
prints, for each number of readers, the time of a transaction, of the writer's stops, and the age of the newest record
in the file that a reader has just opened; for each query, its latency, including the opening of the file; for
forgetting, the longest time without rows, and how long the files held the person.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.analytics_fill import fill
from benchmarks.analytics_writer import Writer, at
from streams.materializer import read
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


def measure(settings: Settings, args: argparse.Namespace, writer: Writer, readers: int) -> dict[str, Any]:
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
    ends = time.monotonic() + args.seconds
    done = writer.run(args.rows_per_second, lambda: time.monotonic() >= ends)
    answers = [json.loads(line) for each in asking for line in each.communicate(timeout=600)[0].splitlines()]
    ages = [answer["age"] for answer in answers if answer["age"] is not None]
    return {
        "readers": readers,
        "failed": sum(each.returncode != 0 for each in asking),
        "age_seconds": {"p50": round(at(ages, 0.5), 2), "p95": round(at(ages, 0.95), 2), "max": round(max(ages), 2)}
        if ages
        else None,
        "questions_per_second": round(len(answers) / args.seconds, 1),
        **done.as_json(),
        "questions": {
            name: {"p50": round(at(took, 0.5), 3), "p95": round(at(took, 0.95), 3)}
            for name in QUESTIONS
            if (took := [answer["seconds"] for answer in answers if answer["question"] == name])
        },
    }


def forget(
    settings: Settings, args: argparse.Namespace, store: Store, writer: Writer, publisher: Publisher
) -> dict[str, Any]:
    """Forgets one of the users while rows come in: how long no rows were written, and when nothing was left."""
    user = f"user-{args.users // 2:08}"
    deleted, began = writer.forget(user), time.monotonic()
    files = (store.path, settings.duckdb_file)
    before = [file.stat().st_ino for file in files]

    def is_gone() -> bool:
        return not store.is_stained() and all(
            file.stat().st_ino != ino for file, ino in zip(files, before, strict=True)
        )

    # To the end: rows, and publications, go on until both files are new.
    done = writer.run(args.rows_per_second, is_gone)
    seconds = time.monotonic() - began
    return {
        "delete_seconds": round(deleted, 2),
        "gone_after_seconds": round(seconds, 1),
        "held_by": held_by(settings.data_dir, publisher, user.encode()),
        **done.as_json(),
    }


def held_by(folder: Path, publisher: Publisher, text: bytes) -> list[str]:
    """The names of the files that hold these bytes, once the publication under way has ended."""
    # Until then the snapshot's temporary file is there, and is renamed while we read it.
    publisher.finish()
    return [path.name for path in folder.iterdir() if path.is_file() and holds(path, text)]


def holds(path: Path, text: bytes) -> bool:
    """Whether a file has these bytes."""
    with path.open("rb") as file:
        before = b""
        for part in iter(lambda: file.read(1 << 24), b""):
            if text in before + part:
                return True
            before = part[-len(text) :]
    return False


def tables(found: dict[str, Any]) -> None:
    """The writer's load and the age of what readers see, then latency by query and number of readers."""
    print("\n| readers | rows/s | transaction p50 / max | stop p50 / max | age of the data p50 / max | questions/s |")
    print("|---|---|---|---|---|---|")
    for run in found["runs"]:
        age, batch, stop = run["age_seconds"], run["transaction_seconds"], run["stop_seconds"]
        print(
            f"| {run['readers']} | {run['rows_per_second']:,} | {batch['p50']:.2f} s / {batch['max']:.2f} s "
            f"| {stop['p50']:.2f} s / {stop['max']:.2f} s "
            f"| {age['p50'] if age else '-'} s / {age['max'] if age else '-'} s | {run['questions_per_second']} |"
        )
    asked = [run for run in found["runs"] if run["readers"]]
    print("\n| question |" + "".join(f" {run['readers']} readers, p50 / p95 |" for run in asked))
    print("|---|" + "---|" * len(asked))
    for name in QUESTIONS:
        took = [run["questions"].get(name, {"p50": 0, "p95": 0}) for run in asked]
        print(f"| {name} |" + "".join(f" {1e3 * t['p50']:,.0f} ms / {1e3 * t['p95']:,.0f} ms |" for t in took))
    print(f"\nforgetting: {json.dumps(found['forget'])}")


def main() -> None:
    """Fills the file, runs, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--diffs", type=int, default=1_300_000)
    parser.add_argument("--rows-per-second", type=float, default=1_000)
    parser.add_argument("--readers", type=int, nargs="*", default=[0, 1, 3])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each number of readers")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
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
            found = run(settings, args, store)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        print(json.dumps(found))
    else:
        tables(found)


def run(settings: Settings, args: argparse.Namespace, store: Store) -> dict[str, Any]:
    """Fills the file, and measures one number of readers after the other, then forgetting."""
    store.use_prices(0.15, 0.6)
    fill(store._db, args.users, args.diffs)
    store.derive_all()
    store.checkpoint(datetime.now(UTC).replace(tzinfo=None), datetime.now(UTC).replace(tzinfo=None))
    publisher = Publisher(store, settings.duckdb_file, settings.publish_seconds)
    publisher.publish()
    megabytes = round(settings.duckdb_file.stat().st_size / 1e6)
    print(f"{args.diffs:,} diffs of {args.users:,} users: {megabytes:,} MB", file=sys.stderr, flush=True)
    writer = Writer(settings, store, publisher, args.users, args.diffs // args.users + 1)
    runs = []
    for readers in args.readers:
        runs.append(measure(settings, args, writer, readers))
        print({k: v for k, v in runs[-1].items() if k != "questions"}, file=sys.stderr, flush=True)
    forgotten = forget(settings, args, store, writer, publisher)
    publisher.close()
    return {"users": args.users, "diffs": args.diffs, "megabytes": megabytes, "runs": runs, "forget": forgotten}


if __name__ == "__main__":
    main()
