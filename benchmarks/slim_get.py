"""Measures `SlimSkills.get`: how long an app waits for the line that it puts into a prompt.

    python -m benchmarks.slim_get [--users 100000] [--json]

The skills go in as records come from Kafka, without a broker. Users are asked for by chance, with strings that are
made for the question, as an app has them from a request: once while nothing comes, and once while a thread applies
records as fast as it can. All is CPU time of the asking thread, whatever else the machine does; `applied_us` is what a
record costs the reading one.
"""

import argparse
import json
import random
import statistics
import threading
import time
from datetime import UTC, datetime
from itertools import cycle
from typing import Protocol

from sager_client import AsyncSlimSkills, SlimSkills
from schemas import SlimSkill, compound_key, encode

DOMAIN = "films"
ASKED = 20_000
TIMES = 9


class Gets(Protocol):
    """`SlimSkills` and `AsyncSlimSkills`."""

    def get(self, user_id: str, domain: str) -> str:
        """The text."""


def record(number: int, version: int) -> tuple[bytes, bytes]:
    """Key and value of a user's slim skill."""
    skill = SlimSkill(
        event_id=f"c-{number}-{version}",
        occurred_at=datetime.now(UTC),
        user_id=f"user-{number}",
        domain=DOMAIN,
        skill_version=version,
        text="likes: sci-fi, science | style: prefers 2010s",
        tokens=14,
    )
    return compound_key(skill.user_id, skill.domain), encode(skill)


def microseconds(skills: Gets, users: int) -> float:
    """One `get`, the median over batches; the loop that asks is in it."""
    rng, taken = random.Random(1), []
    for _ in range(TIMES):
        wanted = [f"user-{rng.randrange(users)}" for _ in range(ASKED)]
        began = time.thread_time()
        for user in wanted:
            skills.get(user, DOMAIN)
        taken.append((time.thread_time() - began) / ASKED)
    return round(1e6 * statistics.median(taken), 3)


def measured(users: int) -> dict[str, float]:
    """Microseconds by case."""
    skills, asynchronous = SlimSkills("nowhere:1"), AsyncSlimSkills("nowhere:1")
    began = time.thread_time()
    for number in range(users):
        key, value = record(number, 1)
        skills._take(key, value)
        asynchronous._skills._take(key, value)
    applied = (time.thread_time() - began) / users / 2
    if not skills.get("user-0", DOMAIN) == asynchronous.get("user-0", DOMAIN) != "":
        raise SystemExit("the skills that went in do not come out")
    found = {
        "get_us": microseconds(skills, users),
        "async_get_us": microseconds(asynchronous, users),
        "unknown_us": microseconds(SlimSkills("nowhere:1"), users),
        "applied_us": round(1e6 * applied, 1),
    }
    stop, newer = threading.Event(), [record(number, 2) for number in range(1_000)]

    def apply() -> None:
        for each in cycle(newer):
            if stop.is_set():
                return
            skills._take(*each)

    beside = threading.Thread(target=apply)
    beside.start()
    try:
        found["get_us_while_applying"] = microseconds(skills, users)
    finally:
        stop.set()
        beside.join()
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    found = measured(args.users)
    if args.json:
        print(json.dumps(found))
        return
    for name, each in found.items():
        print(f"{name:<24}{each:10.3f}")


if __name__ == "__main__":
    main()
