"""The model's answers as tables of docs/capacity.md."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.capacity.constants import Constants
from benchmarks.capacity.model import Needs, Size, needs
from benchmarks.capacity.queueing import Result, Scene, simulated
from benchmarks.capacity.talks import Talks, talk_needs
from benchmarks.capacity.talks import load as load_talks

DOC = Path(__file__).parents[2] / "docs" / "capacity.md"
USERS = (10_000, 1_000_000, 100_000_000)
MILLION = 1_000_000.0
LLM_SECONDS, LLM_PLACES = 1.0, 64
USERS_SIMULATED = 50_000
TURNS_EACH = 10
PLACES = ("million", "daily", "talks", "queues", "constants", "talk-constants")
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def sizes() -> list[Size]:
    """A million choices a day at each number of users, then one choice a day of each user."""
    return [Size(users, MILLION) for users in USERS] + [Size(users, float(users)) for users in USERS]


def scenes(constants: Constants) -> list[Scene]:
    """What is simulated."""
    ruled = Scene("rules: users alike", USERS_SIMULATED, 12, constants.worker_cpu_ms / 1_000, skewed=False)
    skewed = replace(ruled, name="rules: busy and seldom users", skewed=True)
    asked = replace(skewed, name="LLM: busy and seldom users", seconds_each=LLM_SECONDS, places=LLM_PLACES, seconds=120)
    return [
        ruled,
        skewed,
        replace(skewed, name="rules: the same, 10 partitions for 4 workers", partitions=10),
        replace(skewed, name="rules: the same, a robot makes 5% of all choices", hot=0.05),
        replace(skewed, name="rules: the same, it makes 15%", hot=0.15),
        replace(skewed, name="rules: a worker lost, taken over after 15 s", lost_at=0.2, seconds=80),
        asked,
        replace(asked, name="LLM: the same, a robot chooses 0.8 times a second", hot=0.8 / asked.per_second),
        replace(asked, name="LLM: the same, it chooses 3 times a second", hot=3 / asked.per_second),
        replace(asked, name="LLM: a worker lost, taken over after 15 s", lost_at=0.3),
    ]


def told(constants: Constants) -> dict[str, Any]:
    """All answers, for a program."""
    return {
        "sizes": [{**asdict(size), **asdict(needs(size, constants))} for size in sizes()],
        "queues": [
            {**asdict(scene), "per_second": round(scene.per_second, 1), **asdict(simulated(scene))}
            for scene in scenes(constants)
        ],
        "talks": [
            {
                "people": people,
                "turns_per_day": TURNS_EACH * people,
                **asdict(talk_needs(people, TURNS_EACH * people, load_talks(), constants)),
            }
            for people in USERS
        ],
    }


def tables(constants: Constants) -> dict[str, str]:
    """The tables, by the names of their places in the page."""
    million, daily = sizes()[: len(USERS)], sizes()[len(USERS) :]
    return {
        "constants": "\n".join(_constants(constants)),
        "million": "\n".join(_needs(million, [needs(size, constants) for size in million])),
        "daily": "\n".join(_needs(daily, [needs(size, constants) for size in daily])),
        "queues": "\n".join(_queues([(scene, simulated(scene)) for scene in scenes(constants)])),
        "talks": "\n".join(_talks(load_talks(), constants)),
        "talk-constants": "\n".join(_talk_constants(load_talks())),
    }


def written(page: str, constants: Constants) -> str:
    """The page with its tables made anew."""
    if missing := [name for name in PLACES if f"<!-- {name} -->\n" not in page]:
        raise ValueError(f"{DOC.name} has no place for {missing}")
    for name, table in tables(constants).items():
        before, begin, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        page = f"{before}{begin}\n{table}\n\n{end}{after}"
    return page


def _constants(constants: Constants) -> Iterator[str]:
    yield from _head("measured", "", right=1)
    each_user = constants.choices // constants.users
    yield f"| day | {constants.measured_on} |"
    yield f"| users, choices of each, items | {constants.users}, {each_user}, {constants.items} |"
    for name, value in (
        ("worker, with the graph", constants.worker_cpu_ms),
        ("worker, without", constants.worker_cpu_ms_without_graph),
        ("worker, with the graph and an LLM call", constants.worker_cpu_ms_with_llm),
        ("materializer", constants.materializer_cpu_ms),
        ("broker (embedded, one copy)", constants.broker_cpu_ms),
    ):
        yield f"| {name}, CPU ms per choice | {value:.2f} |"
    topics = constants.topics.values()
    yield f"| bytes on Kafka per choice: keys and values | {sum(each.bytes_per_choice for each in topics):,.0f} |"
    yield f"| the same, as the broker stores them | {sum(each.stored_per_choice for each in topics):,.0f} |"
    for base, each in sorted(constants.topics.items(), key=lambda pair: -pair[1].bytes_per_choice):
        yield f"| of which {base} | {each.bytes_per_choice:,.0f}, stored {each.stored_per_choice:,.0f} |"
    yield f"| memory of a worker without users | {constants.worker_mib:.0f} MiB |"
    yield f"| memory of the materializer | {constants.materializer_mib:.0f} MiB |"
    yield f"| memory of the API and the console without users | {constants.api_mib:.0f} MiB |"
    yield f"| bytes that the API holds of a record beside it | {constants.held_bytes:.0f} |"
    yield f"| bytes in DuckDB per choice | {constants.duckdb_bytes_per_choice:,.0f} |"


def _needs(rows: Sequence[Size], found: Sequence[Needs]) -> Iterator[str]:
    yield from _head("", *(f"{size.users:,} users" for size in rows), right=len(rows))

    def row(name: str, values: Iterable[str]) -> str:
        return f"| {name} | {' | '.join(values)} |"

    yield row("choices a day", (f"{size.choices_per_day:,.0f}" for size in rows))
    yield row("workers, busy cores on average", (_cores(each.worker_cores) for each in found))
    yield row("the same without the graph", (_cores(each.worker_cores_without_graph) for each in found))
    yield row("the same with an LLM call per choice", (_cores(each.worker_cores_with_llm) for each in found))
    yield row("workers to start (peak, room to spare)", (f"{each.workers:,}" for each in found))
    yield row("materializer, busy cores", (_cores(each.materializer_cores) for each in found))
    yield row("brokers, busy cores", (_cores(each.broker_cores) for each in found))
    yield row("network into brokers, per second", (_bytes(each.network_in) for each in found))
    yield row("network out of brokers, per second", (_bytes(each.network_out) for each in found))
    yield row("Kafka's disks: events", (_bytes(each.events_disk) for each in found))
    yield row("Kafka's disks: log of skills, per year", (_bytes(each.log_disk) for each in found))
    yield row("Kafka's disks: states", (_bytes(each.states_disk) for each in found))
    yield row("workers' tables on disk (RocksDB)", (_bytes(each.tables) for each in found))
    yield row("or in memory", (_bytes(each.tables_memory) for each in found))
    yield row("the graph's items, in each worker", (_bytes(each.items_each) for each in found))
    yield row("users in memory, in each API and console", (_bytes(each.api) for each in found))
    yield row("DuckDB file, per year", (_bytes(each.duckdb) for each in found))


def _talks(talks: Talks, constants: Constants) -> Iterator[str]:
    yield from _head("", *(f"{people:,} people" for people in USERS), right=len(USERS))
    found = [talk_needs(people, TURNS_EACH * people, talks, constants) for people in USERS]

    def row(name: str, values: Iterable[str]) -> str:
        return f"| {name} | {' | '.join(values)} |"

    yield row("turns a day", (f"{TURNS_EACH * people:,}" for people in USERS))
    yield row("workers, busy cores on average", (_cores(each.worker_cores) for each in found))
    yield row("network into brokers, per second", (_bytes(each.network_in) for each in found))
    yield row("Kafka's disks: turns", (_bytes(each.turns_disk) for each in found))
    yield row("Kafka's disks: log of cards, per year", (_bytes(each.log_disk) for each in found))
    yield row("Kafka's disks: states", (_bytes(each.states_disk) for each in found))
    yield row("cards in workers' tables, in memory", (_bytes(each.tables_memory) for each in found))
    yield row("cards in memory, in each API and console", (_bytes(each.api) for each in found))


def _talk_constants(talks: Talks) -> Iterator[str]:
    yield from _head("measured", "", right=1)
    yield f"| day | {talks.measured_on} |"
    yield f"| people, turns, chunks | {talks.people}, {talks.turns}, {talks.chunks} |"
    yield f"| worker, CPU ms per turn | {talks.worker_cpu_ms:.2f} |"
    yield f"| bytes on Kafka per turn: keys and values | {sum(talks.bytes_per_turn.values()):,.0f} |"
    for base, each in sorted(talks.bytes_per_turn.items(), key=lambda pair: -pair[1]):
        yield f"| of which {base} | {each:,.0f} |"
    yield f"| bytes of a card | {talks.card_bytes:,.0f} |"


def _queues(found: Sequence[tuple[Scene, Result]]) -> Iterator[str]:
    yield from _head("", "choices per second", "busiest worker", "wait p50", "wait p99", "caught up after", right=5)
    for scene, result in found:
        late = "" if result.catch_up is None else _seconds(result.catch_up)
        yield (
            f"| {scene.name} | {scene.per_second:,.0f} | {result.busiest:.2f} | {_seconds(result.p50)} | "
            f"{_seconds(result.p99)} | {late} |"
        )


def _head(*columns: str, right: int) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "| --- |" + " ---: |" * right


def _cores(value: float) -> str:
    return (
        f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value >= 10 else f"{value:.3f}".rstrip("0").rstrip(".")
    )


def _bytes(value: float) -> str:
    for unit, name in UNITS:
        if value >= unit:
            return f"{value / unit:.3g} {name}" if value < 1_000 * unit else f"{value / unit:,.0f} {name}"
    return f"{value:.0f} B"


def _seconds(value: float) -> str:
    return f"{1_000 * value:.0f} ms" if value < 1 else f"{value:.1f} s"


def as_json(constants: Constants) -> str:
    """All answers as one line."""
    return json.dumps(told(constants))
