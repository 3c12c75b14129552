"""Runs the real pipeline for a test: real processes, a real broker, and their outputs."""

import signal
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from pydantic import BaseModel, SecretStr

from benchmarks.surroundings import reached_as
from operators.learning.fold import fold
from sager_client import EventProducer
from schemas import TOPICS, DeadLetter, Event, ModelT, PolicySkill, SkillDiff, compound_key, decode, encode
from schemas.commands import Action, ForgetRequest, Receipt, SkillCommand
from streams.analytics import MaterializerError, read
from streams.kafka import topics
from streams.kafka.clients import client_config, producer_config
from streams.kafka.consumer_group import lag
from streams.kafka.scanner import int_of
from streams.local.children import start_child
from streams.rights.commands import CommandClient
from streams.settings import Settings
from tests.builders import slate
from tests.waiting import WAIT_SECONDS

SHARED_KEY = SecretStr("a secret of this deployment's workers")


def by_bytes(model: type[ModelT], event: BaseModel) -> ModelT:
    """The client's event as an instance of the pipeline's class."""
    return decode(model, event.model_dump_json().encode())


def command_fields(user: str) -> dict[str, Any]:
    return {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC), "user_id": user, "actor": "advocate"}


@dataclass
class Outputs:
    """All records read so far, by topic, in the order of each partition."""

    records: dict[str, list[Message]] = field(default_factory=dict)

    def values(self, model: type[Any]) -> list[Any]:
        return [decode(model, m.value()) for m in self.records.get(model.TOPIC, []) if m.value() is not None]

    def newest(self, model: type[Any]) -> dict[bytes, bytes]:
        return {m.key(): m.value() for m in self.records.get(model.TOPIC, [])}

    @property
    def diffs(self) -> list[SkillDiff]:
        """Each version once; a repeated delivery must be the same diff."""
        seen: dict[tuple[str, str, int], SkillDiff] = {}
        for diff in self.values(SkillDiff):
            known = seen.setdefault((diff.user_id, diff.domain, diff.version), diff)
            assert known == diff, "two different diffs of one version"
        return list(seen.values())

    @property
    def dead_letters(self) -> list[DeadLetter]:
        return list({letter.event_id: letter for letter in self.values(DeadLetter)}.values())


class Harness:
    """One deployment under test."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        topics.ensure(settings)
        self.events = EventProducer(connection=reached_as(settings))
        self.raw = Producer(producer_config(settings))
        self.outputs = Outputs()
        self.processes: list[subprocess.Popen[bytes]] = []
        own = {"group.id": "test", "enable.auto.commit": False, "enable.partition.eof": True}
        self._consumer = Consumer(client_config(settings, **own, **{"fetch.message.max.bytes": 4_000_000}))
        self._bases = {settings.topic(base): base for base in TOPICS}
        # The next offsets, and the partitions whose end was not reached since their assignment.
        self._next = {
            (name, partition): OFFSET_BEGINNING
            for name, base in self._bases.items()
            for partition in range(TOPICS[base].partitions(settings.partitions))
        }
        self._unread: set[tuple[str, int]] = set()
        self._assign()

    def _assign(self) -> None:
        self._consumer.assign([TopicPartition(*where, offset) for where, offset in self._next.items()])
        self._unread = set(self._next)

    def send(self, event: Event) -> None:
        """Send an event of the pipeline's own class through the app's client: both have the same bytes."""
        producer: Any = self.events
        producer.send(event)

    def choose(self, user: str, number: int, place: int = 3, instruction: str = "") -> None:
        """Let a user take a film from a list."""
        shown = slate(number)
        ranking = self.events.ranking(user, "films", shown, instruction=instruction)
        self.events.selection(ranking, shown[place]["item_id"])
        self.events.flush()

    def change_skill(self, user: str, action: Action, **about: Any) -> SkillDiff:
        """Send a command about films, and return its diff."""
        fields = {**command_fields(user), "domain": "films", "action": action, **about}
        with CommandClient(self.settings, user) as client:
            diff = client.change_skill(SkillCommand(**fields), WAIT_SECONDS)
        assert diff is not None, self.logs()
        return diff

    def forget(self, user: str, seconds: float = WAIT_SECONDS, **scope: Any) -> Receipt | None:
        """Send a request to erase, and return its receipt; 0 seconds: without waiting."""
        with CommandClient(self.settings, user) as client:
            receipt = client.forget(ForgetRequest(**command_fields(user), **scope), seconds)
        assert receipt is not None or not seconds, self.logs()
        return receipt

    def start(self, verb: str, name: str = "", **more: Any) -> subprocess.Popen[bytes]:
        """Start `sager worker` or `sager materialize`, with extra settings."""
        data_dir = self.settings.data_dir / (name or verb) if verb == "worker" else self.settings.data_dir
        merged = Settings(**{**self.settings.model_dump(exclude_unset=True), "data_dir": data_dir, **more})
        process = start_child([verb], merged, self.settings.data_dir / f"{name or verb}.log")
        self.processes.append(process)
        return process

    def worker(self, name: str = "worker", **more: Any) -> subprocess.Popen[bytes]:
        return self.start("worker", name, **more)

    def peer(self, name: str) -> subprocess.Popen[bytes]:
        """Start one of several workers that share the key of pseudonyms."""
        return self.worker(name, pseudonym_key=SHARED_KEY)

    def materializer(self) -> subprocess.Popen[bytes]:
        return self.start("materialize")

    def has_started(self, name: str) -> None:
        """Wait until a worker has joined its group and recovered its tables."""
        log = self.settings.data_dir / f"{name}.log"
        self.until(lambda _: "watching for lag" in log.read_text(errors="replace"), f"{name} to start")

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process, as a crash does."""
        process.kill()
        process.wait(10)
        self.processes.remove(process)

    def stop(self, process: subprocess.Popen[bytes]) -> int:
        """Stop a process, as an operator does, and return the exit code."""
        process.send_signal(signal.SIGTERM)
        code = process.wait(WAIT_SECONDS)
        self.processes.remove(process)
        return code

    def poll(self, seconds: float = 0.2) -> int:
        count = 0
        for message in self._consumer.consume(2_000, seconds):
            where, error = (str(message.topic()), int_of(message.partition())), message.error()
            if error is None:
                self.outputs.records.setdefault(self._bases[where[0]], []).append(message)
                self._next[where] = int_of(message.offset()) + 1
                count += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                self._unread.discard(where)
        return count

    def _to_the_end(self) -> int:
        """Read all records that the broker has now, and return their number."""
        self._assign()  # librdkafka reports an end once per assignment
        count, give_up = 0, time.monotonic() + WAIT_SECONDS
        while self._unread:
            count += self.poll()
            assert time.monotonic() < give_up, f"waited {WAIT_SECONDS:.0f} s for the ends of {self._unread}"
        return count

    def until(self, done: Callable[[Outputs], bool], what: str, seconds: float = WAIT_SECONDS) -> Outputs:
        """Read outputs until `done`; fail with the end of the logs after a timeout."""
        give_up = time.monotonic() + seconds
        while not done(self.outputs):
            self.poll()
            dead = [p for p in self.processes if p.poll() is not None]
            assert not dead, f"a process ended with {dead[0].returncode}\n{self.logs()}"
            assert time.monotonic() < give_up, f"waited {seconds:.0f} s for {what}\n{self.logs()}"
        return self.outputs

    def count(self, model: type[Any], number: int, seconds: float = WAIT_SECONDS) -> Outputs:
        """Read outputs until a topic has this number of records."""
        base = model.TOPIC
        return self.until(
            lambda out: len(out.records.get(base, [])) >= number,
            f"{number} of {base}, have {len(self.outputs.records.get(base, []))}",
            seconds,
        )

    def quiet(self, seconds: float = 1.0) -> Outputs:
        """Read until workers have committed all records, and none arrives for some seconds."""
        admin = topics.admin(self.settings)
        give_up = newest = time.monotonic()
        give_up += WAIT_SECONDS
        while True:
            if self.poll():
                newest = time.monotonic()
            elif time.monotonic() - newest >= seconds:
                at_work = any("worker" in list(process.args) for process in self.processes)
                # A worker may have sent more between our two looks.
                if not (at_work and any(lag(self.settings, admin).values())) and not self._to_the_end():
                    return self.outputs
            assert time.monotonic() < give_up, f"waited {WAIT_SECONDS:.0f} s for quiet\n{self.logs()}"

    def duckdb(self, query: str, done: Callable[[list[Any]], bool]) -> list[Any]:
        """Repeat a query on the published file until `done`, and return the last rows."""
        give_up, rows = time.monotonic() + WAIT_SECONDS, list[Any]()
        while time.monotonic() < give_up:
            try:
                with read.connect(self.settings) as con:
                    rows = con.execute(query).fetchall()
            except MaterializerError:
                rows = []
            if done(rows):
                break
            time.sleep(0.3)
        return rows

    def skills(self) -> dict[bytes, PolicySkill]:
        """The offline fold of the log: the oracle."""
        folded = fold(sorted(self.outputs.diffs, key=lambda diff: diff.version))
        return {compound_key(user, domain): skill for (user, domain), skill in folded.items()}

    def assert_all_stores_agree(self, duckdb: bool = True) -> None:
        """Invariant 1: the fold of the log equals the skills topic and DuckDB, byte for byte."""
        folded = {key: encode(skill) for key, skill in self.skills().items()}
        assert self.outputs.newest(PolicySkill) == folded
        if duckdb:
            wanted = {(s.user_id, s.domain): encode(s) for s in self.skills().values()}

            def documents(rows: list[Any]) -> dict[tuple[str, str], bytes]:
                return {(user, domain): text.encode() for user, domain, text in rows}

            rows = self.duckdb("SELECT user_id, domain, document FROM skills", lambda found: documents(found) == wanted)
            assert documents(rows) == wanted
            self._assert_statements_agree()

    def _assert_statements_agree(self) -> None:
        """Statements in DuckDB are equal to the fold, and to the newest rows of their log."""
        wanted = sorted(
            (s.user_id, s.domain, said.statement_id, said.words, said.times)
            for s in self.skills().values()
            for said in s.stated
        )
        columns = "user_id, domain, statement_id, words, times"
        last = (
            "FROM statement_changes QUALIFY row_number() OVER "
            "(PARTITION BY user_id, domain, statement_id ORDER BY version DESC, seq DESC) = 1"
        )
        for table in ("statements", f"({last}) WHERE stance IS NOT NULL"):
            found = self.duckdb(f"SELECT {columns} FROM {table} ORDER BY ALL", lambda rows: rows == wanted)
            assert found == wanted, table

    def logs(self) -> str:
        """Describe a failed wait: the outputs, the lag, and the ends of the logs."""
        counts: dict[str, Any] = {base: len(records) for base, records in self.outputs.records.items()}
        try:
            behind = lag(self.settings, topics.admin(self.settings))
        except (KafkaException, TimeoutError) as error:  # a dead broker may be the cause
            behind = {}
            counts["cannot ask for lag"] = str(error)
        waiting = {f"{tp.topic}/{tp.partition}": n for tp, n in behind.items() if n}
        return f"read {counts}\nlag {waiting}\n" + "\n".join(
            f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-25:])
            for log in sorted(self.settings.data_dir.glob("*.log"))
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A clean end takes seconds, and has its own tests.
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self._consumer.close()
        self.events.end()
