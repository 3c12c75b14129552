"""Measures what one user weighs on Kafka: bytes per value, table by table, as JSON and as stored.

    python -m benchmarks.sizes [--events 1000 100000] [--json]

The user of `benchmarks.one_user`, whose rings and counters are full after 1,000 events and whose skill fills its 1,500
characters: `json` is a value as JSON, `stored` as it is on its topic and in a worker's table. Of open rankings there
are several values per user, and the largest is shown. What Kafka's own compression of batches saves comes on top.
"""

import argparse
import json

from benchmarks.one_user import OneUser
from operators.render import render
from schemas import TOPICS, Contrast, Memory, OpenRankings, PolicySkill, Profile, SkillDiff, encode
from streams.kafka.packed import pack

MODELS = (PolicySkill, SkillDiff, Contrast, Memory, Profile, OpenRankings)


def sizes(user: OneUser) -> dict[str, dict[str, int]]:
    """The largest value of each topic, in bytes."""
    found: dict[str, dict[str, int]] = {}
    for model in MODELS:
        values = [encode(value) for value in user.values(model)]
        stored = [pack(value) if TOPICS[model.TOPIC].packed else value for value in values]
        found[model.TOPIC] = {"json": max(map(len, values), default=0), "stored": max(map(len, stored), default=0)}
    return found


def seen(user: OneUser) -> dict[str, int]:
    """The facts of lists in the user's memory: how many, and their bytes as JSON and as stored."""
    memory = user.value(Memory)
    if memory is None:
        return {"facts": 0, "json": 0, "stored": 0}
    whole, without = encode(memory), encode(memory.model_copy(update={"seen": ()}))
    packs = TOPICS[Memory.TOPIC].packed
    stored = len(pack(whole)) - len(pack(without)) if packs else len(whole) - len(without)
    return {"facts": len(memory.seen), "json": len(whole) - len(without), "stored": stored}


def main() -> None:
    """Measures and prints a line or a table for each number of events."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--json", action="store_true", help="one JSON object per number of events")
    args = parser.parse_args()
    user, done = OneUser(), 0
    for events in sorted(args.events):
        for number in range(done, events):
            user.event(number)
        done = events
        found = sizes(user)
        skill = user.value(PolicySkill)
        characters = len(render(skill)) if skill is not None else 0
        if args.json:
            told = {"events": events, "skill_characters": characters, "bytes": found, "seen": seen(user)}
            print(json.dumps(told), flush=True)
            continue
        print(f"\nafter {events:,} events; the skill has {characters:,} characters\n")
        print("| topic | JSON | stored |\n|---|---|---|")
        for topic, size in found.items():
            print(f"| {topic} | {size['json']:,} | {size['stored']:,} |")
        of = seen(user)
        print(f"| of memories, {of['facts']} facts of lists | {of['json']:,} | {of['stored']:,} |")


if __name__ == "__main__":
    main()
