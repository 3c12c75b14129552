"""Counts acknowledged choices that killed processes lose, repeat or skip.

    python -m benchmarks.strikes [--kinds ctrl-c,worker,everything] [--strikes 50] [--rate 20]

A client in its own process sends choices all the time, also during a strike and the restart after it, and records those
that the broker acknowledged. A strike ends when a choice that was acknowledged after it is learned. After the last
strike the client ends, the worker finishes, and the topics are read:

- lost: acknowledged selections that are not on their topic;
- doubled: choices with more than one diff, and versions that two diffs have;
- silent: acknowledged selections without a diff and without a dead letter.

The kind `clock` moves the time of day of every process except the client's, with a preloaded library that needs `cc`.
It prints one JSON object per kind.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Producer

from benchmarks.surroundings import children_of, end_in_order
from operators.admission import contrast_id
from schemas import TOPICS, DeadLetter, Ranking, Selection, SkillDiff, decode, encode
from streams.exceptions import KafkaUnreachable
from streams.kafka.clients import PARTITIONER
from streams.kafka.scanner import Scanner
from streams.local import batches
from streams.local.broker import BrokerClient, Partition, free_port
from streams.local.demo import catalogue
from streams.local.pipeline import CRASH_WINDOW_SECONDS, MAX_RESTARTS
from streams.settings import Settings

KINDS = ("ctrl-c", "worker", "materializer", "console", "broker", "proxy", "up", "everything", "full-disk", "clock")
PROGRAMS = {
    "worker": (b"\0worker\0",),
    "materializer": (b"\0materialize\0",),
    "console": (b"\0console\0",),
    "broker": (b"tansu",),
    "proxy": (b"streams.local.proxy", b"streams.local.follow"),
}
# Learning continues without them. Strikes pause until they are back: `sager up` stops after five quick deaths.
WITHOUT = ("materializer", "console")
WAIT_SECONDS = 300.0
# The embedded broker looks for records as long as a fetch may wait: in 20 ms it finds none behind some thousands.
WAIT_MS = 500
FULL_SECONDS = 4.0
# Seconds that clocks are ahead, in turn.
JUMPS = (3600, 0, -3600, 86400, 0)
# The processes run with the new time for so long before the benchmark looks for a choice.
JUMP_SECONDS = 3.0
USERS = 40
DISK_BYTES = 512 * 1024 * 1024


def client(bootstrap: str, file: Path, rate: float) -> None:
    """Send choices until SIGTERM; write down each that was acknowledged."""
    films, rng, ended = catalogue.load()["films"], random.Random(1), []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    acknowledged, due = Counter[str](), time.monotonic()
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "partitioner": PARTITIONER,
            "linger.ms": 5,
            "log_level": 0,
            "reconnect.backoff.max.ms": 500,
        }
    )
    with file.open("a", buffering=1) as out:

        def note(user: str, ranking: str, selection: str) -> Callable[[Any, Any], None]:
            def delivered(error: Any, _: Any) -> None:
                acknowledged[ranking] += error is None
                if acknowledged[ranking] == 2:
                    out.write(f"{time.time()} {user} {ranking} {selection}\n")

            return delivered

        for number in itertools.count():
            if ended:
                break
            user, shown = f"user-{number % USERS}", rng.sample(films, 8)
            envelope = {"occurred_at": datetime.now(UTC), "user_id": user}
            ranking = Ranking(
                event_id=str(uuid4()), ranking_id=str(uuid4()), domain="films", candidates=tuple(shown), **envelope
            )
            taken = shown[rng.randrange(8)].item_id
            selection = Selection(event_id=str(uuid4()), ranking_id=ranking.ranking_id, item_id=taken, **envelope)
            told = note(user, ranking.ranking_id, selection.event_id)
            for event in (ranking, selection):
                producer.produce(f"sager.{event.TOPIC}", encode(event), user.encode(), on_delivery=told)
            due += 1 / rate
            while not ended and (left := due - time.monotonic()) > 0:
                producer.poll(left)
        producer.flush(60)


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    return [pid, *(each for child in children_of(pid) for each in tree(child))]


class Deployment:
    """`sager up` under load, on its own disk if `full`."""

    def __init__(self, folder: Path, rate: float, *, full: bool, clock: bool) -> None:
        self.folder, self.data, self._rate, self._disk = folder, folder / "disk" / "data", rate, full
        (folder / "disk").mkdir(parents=True)
        if full:
            mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "none", str(folder / "disk")]
            subprocess.run(mount, check=True)
        self._offset, self._jumps, self._environment = folder / "clock", itertools.cycle(JUMPS), dict(os.environ)
        if clock:
            library, source = folder / "clock.so", Path(__file__).with_name("clock.c")
            subprocess.run(["/usr/bin/cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
            self._offset.write_bytes(bytes(8))
            self._environment |= {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(self._offset)}
        self.acknowledged = folder / "acknowledged"
        self.acknowledged.touch()
        self.port, self._http_port = free_port(), free_port()
        self.up: subprocess.Popen[bytes] | None = None
        self._client: subprocess.Popen[bytes] | None = None
        self._diffs = DiffReader(self.port)

    def start(self) -> None:
        """Start `sager up` and wait until it is up."""
        out = self.folder / "up.out"
        ports = ("--port", str(self.port), "--http-port", str(self._http_port))
        shown = out.stat().st_size if out.exists() else 0
        with out.open("a") as file:
            self.up = subprocess.Popen(
                [sys.executable, "-P", "-m", "streams.cli", "up", "--data-dir", str(self.data), *ports],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=self._environment,
                start_new_session=True,
            )
        self.until(lambda: "Press Ctrl-C to stop" in out.read_text()[shown:] or self.ended(), "sager up")
        if self.ended():
            raise SystemExit(f"sager up has ended: {out.read_text()}")

    def ended(self) -> bool:
        """True if `sager up` has ended."""
        assert self.up is not None
        return self.up.poll() is not None

    def until(self, done: Callable[[], bool], what: str) -> None:
        """Wait for something."""
        give_up = time.monotonic() + WAIT_SECONDS
        while not done():
            if time.monotonic() > give_up:
                raise SystemExit(f"waited {WAIT_SECONDS:.0f} s for {what}; see {self.folder}")
            time.sleep(0.05)

    def load(self) -> None:
        """Start the client."""
        args = ["--client", f"127.0.0.1:{self.port}", str(self.acknowledged), "--rate", str(self._rate)]
        self._client = subprocess.Popen([sys.executable, "-m", "benchmarks.strikes", *args], stdin=subprocess.DEVNULL)

    def process(self, kind: str) -> int:
        """The process of a kind, once there is one."""
        found: list[int] = []

        def there_is() -> bool:
            assert self.up is not None
            for pid in tree(self.up.pid):
                with contextlib.suppress(OSError):
                    line = Path(f"/proc/{pid}/cmdline").read_bytes() + b"\0"
                    found.extend([pid] if any(each in line for each in PROGRAMS[kind]) else [])
            return bool(found)

        self.until(there_is, f"a {kind}")
        return found[0]

    def strike(self, kind: str) -> float:
        """Strike, and return the seconds until a later choice is learned."""
        assert self.up is not None
        victim = self.process(kind) if kind in PROGRAMS else 0
        at, began = time.time(), time.monotonic()
        if kind == "ctrl-c":
            self.up.send_signal(signal.SIGINT)
            self.until(self.ended, "Ctrl-C")
        elif kind == "everything":
            for pid in tree(self.up.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        elif kind == "up":
            self.up.kill()
        elif kind == "full-disk":
            filler = self.folder / "disk" / "filler"
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096 * 16))
            with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
                while True:
                    file.write(b"\0")
            time.sleep(FULL_SECONDS)
            filler.unlink()
        elif kind == "clock":
            with self._offset.open("r+b") as file:  # not truncated: the processes have it mapped
                file.write(next(self._jumps).to_bytes(8, sys.byteorder, signed=True))
            time.sleep(JUMP_SECONDS)
            at = time.time()
        else:
            os.kill(victim, signal.SIGKILL)
        if kind in ("ctrl-c", "everything", "up"):
            self.up.wait()
            self.start()
        self.wait_until_learned(at)
        seconds = time.monotonic() - began
        if kind in WITHOUT:
            self.until(lambda: self.process(kind) != victim, f"another {kind}")
            time.sleep(CRASH_WINDOW_SECONDS / MAX_RESTARTS)
        return seconds

    def wait_until_learned(self, since: float) -> None:
        """Wait until a choice acknowledged after this moment is learned."""

        def learned() -> bool:
            if self.ended():  # as it does by itself where the disk is full or a process ends again and again
                self.start()
            known = self._diffs.read()
            return any(contrast_id(user, ranking) in known for at, user, ranking, _ in self.lines() if at > since)

        self.until(learned, "a choice to be learned")

    def lines(self) -> Iterator[tuple[float, str, str, str]]:
        """Yield the time, user, ranking and selection of each acknowledged choice."""
        for line in self.acknowledged.read_text().splitlines():
            at, user, ranking, selection = line.split()
            yield float(at), user, ranking, selection

    def count(self) -> dict[str, int]:
        """End the client, wait for the worker, and compare the topics."""
        assert self._client is not None
        self._client.terminate()
        self._client.wait()
        sent, quiet = list(self.lines()), 0
        wanted = {contrast_id(user, ranking) for _, user, ranking, _ in sent}
        give_up, known = time.monotonic() + WAIT_SECONDS, -1
        while time.monotonic() < give_up and quiet < 20 and wanted - self._diffs.read():
            quiet = quiet + 1 if len(self._diffs.found) == known else 0
            known = len(self._diffs.found)
            time.sleep(0.5)
        with Scanner(Settings(bootstrap=f"127.0.0.1:{self.port}", embedded=True)) as topics:

            def values(base: str) -> Iterator[bytes]:
                return (each.value() or b"" for each in topics.read(topics.partitions(base)))

            diffs = [decode(SkillDiff, each) for each in values(SkillDiff.TOPIC)]
            chosen = {decode(Selection, each).event_id for each in values(Selection.TOPIC)}
            letters = sum(1 for _ in values(DeadLetter.TOPIC))
        learned = Counter(diff.evidence.event_id for diff in diffs if diff.evidence is not None)
        versions = Counter((diff.user_id, diff.domain, diff.version) for diff in diffs)
        return {
            "acknowledged": len(sent),
            "lost": sum(selection not in chosen for *_, selection in sent),
            "doubled": sum(count > 1 for count in learned.values()) + sum(count > 1 for count in versions.values()),
            "silent": max(0, len(wanted - learned.keys()) - letters),
            "dead_letters": letters,
        }

    def close(self) -> None:
        """End everything."""
        for process in (self._client, self.up):
            if process is not None:
                for pid in tree(process.pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                process.wait()
        if self._disk:
            subprocess.run(["/usr/bin/umount", "-l", str(self.folder / "disk")], check=False)


class DiffReader:
    """Reads learned contrasts as they come, also after broker restarts."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._wire: BrokerClient | None = None
        self.found = set[str]()
        self._at: dict[Partition, int] = {}

    def read(self) -> set[str]:
        """All learned contrasts until now."""
        try:
            if self._wire is None:
                self._wire = BrokerClient(f"127.0.0.1:{self._port}", 5.0)
                settings = Settings()
                count = TOPICS[SkillDiff.TOPIC].partitions(settings.partitions)
                self._at = {(settings.topic(SkillDiff.TOPIC), number): 0 for number in range(count)}
            for partition, (data, _) in self._wire.fetch(self._at, WAIT_MS).items():
                for batch in batches.split(data):
                    for record in batches.records(batch):
                        is_new = record.offset >= self._at[partition] and record.value
                        evidence = decode(SkillDiff, record.value or b"").evidence if is_new else None
                        if evidence is not None:
                            self.found.add(evidence.event_id)
                    self._at[partition] = batches.bounds(batch)[1]
        except KafkaUnreachable:
            self._wire = None
        return self.found


def measured(kind: str, strikes: int, rate: float) -> dict[str, Any]:
    """Strike this many times, and count."""
    folder = Path(tempfile.mkdtemp(prefix="sager-strikes-"))
    deployment = Deployment(folder, rate, full=kind == "full-disk", clock=kind == "clock")
    seconds, rng = list[float](), random.Random(kind)
    try:
        deployment.start()
        deployment.load()
        deployment.wait_until_learned(0)
        for _ in range(strikes):
            time.sleep(rng.uniform(0.5, 2))
            seconds.append(deployment.strike(kind))
            print(f"{kind}: {len(seconds)} of {strikes}, {seconds[-1]:.1f} s", file=sys.stderr, flush=True)
        counted = deployment.count()
    finally:
        deployment.close()
    if not counted["lost"] + counted["doubled"] + counted["silent"]:
        shutil.rmtree(folder, ignore_errors=True)
    again = {"again_p50_s": round(statistics.median(seconds), 1), "again_max_s": round(max(seconds), 1)}
    return {"kind": kind, "struck": strikes, **counted, **again}


def main() -> None:
    """Strike by each kind, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--strikes", type=int, default=50)
    parser.add_argument("--rate", type=float, default=20.0, help="choices per second")
    parser.add_argument("--client", nargs=2, metavar=("BOOTSTRAP", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client:
        client(args.client[0], Path(args.client[1]), args.rate)
        return
    end_in_order()
    for kind in args.kinds.split(","):
        print(json.dumps(measured(kind, args.strikes, args.rate)), flush=True)


if __name__ == "__main__":
    main()
