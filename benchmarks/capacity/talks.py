"""What conversations need beside choices: cores, network, disk and memory, from `benchmarks.conversations`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from benchmarks import conversations
from benchmarks.capacity.constants import Constants
from benchmarks.capacity.model import DAY, ENTRY_BYTES, YEAR_DAYS
from schemas import TOPICS

FILE = Path(__file__).with_name("talks.json")
PEOPLE = 6
"""Who talk when it is measured: seconds."""


class Talks(BaseModel):
    """What was measured of short conversations, by rules.

    Attributes:
        measured_on: the day.
        people, turns, chunks: of the run.
        worker_cpu_ms: per turn, with all that comes of it.
        bytes_per_turn: keys and values that are written, by topic; batches are compressed on top.
        card_bytes: of a card at the end.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    measured_on: str
    people: int
    turns: int
    chunks: int
    worker_cpu_ms: float
    bytes_per_turn: dict[str, float]
    card_bytes: float


@dataclass(frozen=True)
class TalkNeeds:
    """What they need, beside what choices do. Network and disk hold all copies, before batches are compressed.

    Attributes:
        worker_cores: busy ones on average, of all workers.
        network_in: bytes per second into brokers.
        turns_disk: bytes of turns, for as long as they are kept.
        log_disk: bytes that the log of cards grows by in a year.
        states_disk: bytes of cards, with a day of writes that compaction has not reached.
        tables_memory: bytes of cards in the workers' tables, without RocksDB.
        api: bytes of cards in each API and console.
    """

    worker_cores: float
    network_in: float
    turns_disk: float
    log_disk: float
    states_disk: float
    tables_memory: float
    api: float


def talk_needs(
    people: int, turns_per_day: float, talks: Talks, constants: Constants, replication: int = 3
) -> TalkNeeds:
    """What so many people need who say so many turns in all, assistants' included; each of them has a full card."""
    rate, written = turns_per_day / DAY, talks.bytes_per_turn
    kept = TOPICS["utterances"].retention
    if kept is None:
        raise ValueError("utterances are kept for a time")
    return TalkNeeds(
        worker_cores=rate * talks.worker_cpu_ms / 1_000,
        network_in=replication * rate * sum(written.values()),
        turns_disk=replication * turns_per_day * written["utterances"] * kept.total_seconds() / DAY,
        log_disk=replication * turns_per_day * written["card-diffs"] * YEAR_DAYS,
        states_disk=replication
        * (people * talks.card_bytes + turns_per_day * (written["cards"] + written["conversations"])),
        tables_memory=people * (talks.card_bytes + ENTRY_BYTES),
        api=people * (talks.card_bytes + constants.held_bytes),
    )


def measured(people: int = PEOPLE) -> Talks:
    """The constants of this machine and this code."""
    found = conversations.measured(people)[conversations.SHORT]
    of_topics = {name.removeprefix("bytes per turn, "): each for name, each in found.items() if "turn, " in name}
    return Talks(
        measured_on=datetime.now(UTC).date().isoformat(),
        people=people,
        turns=round(found["turns"]),
        chunks=round(found["chunks"]),
        worker_cpu_ms=round(found["us in all, per turn"] / 1_000, 3),
        bytes_per_turn={name: each for name, each in of_topics.items() if name in TOPICS},
        card_bytes=found["bytes of a card"],
    )


def load(file: Path = FILE) -> Talks:
    """The constants in a file."""
    return Talks.model_validate_json(file.read_bytes())


def save(talks: Talks, file: Path = FILE) -> None:
    """Replace a file's constants."""
    file.write_text(talks.model_dump_json(indent=2) + "\n", encoding="utf-8")
