"""The whole pipeline on one machine, as child processes."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Self

from schemas.topics import CONSUMED_TOPICS, TOPICS, by_name
from streams.exceptions import KafkaUnreachable, StreamsError
from streams.http import tokens
from streams.kafka import topics
from streams.local import TOKEN_FILE
from streams.local.broker import BrokerClient, Partition, free_port
from streams.local.children import console_link, end_child, materializer_offsets, start_child, why_not_ready
from streams.local.journal import JournalUnusable, lock, partitions_of, path_of
from streams.settings import Settings

BROKER, WORKER, MATERIALIZER, SERVER = "broker", "worker", "materializer", "console"
PROXY = "streams.local.proxy"
_VERBS = {WORKER: "worker", MATERIALIZER: "materialize", SERVER: "console"}
DRAIN_SECONDS, POLL_SECONDS = 30.0, 0.05
# Children end themselves within `shutdown_seconds`. A kill at that moment would interrupt a clean end.
KILL_GRACE_SECONDS = 5.0
# A process that crashes once more within the window will not recover by itself.
MAX_RESTARTS, CRASH_WINDOW_SECONDS = 4, 30.0
# DuckDB's binding lists objects that a thread still holds at exit: a hundred lines that would hide the cause.
NOISE = ("nanobind:", " - leaked ", " - ... skipped", "See https://nanobind")
LAST_LINES = 8
# Agents process records of other agents, one step a round: selection, contrast, touches of items, outcomes of users.
ROUNDS = 4
# With the defaults for Kafka, a worker is ready and its work visible only after a minute.
LOCAL_DEFAULTS = {"session_seconds": 6.0, "rebalance_seconds": 5.0, "publish_seconds": 5.0}
TOKENS_FILE = "tokens.toml"
# Requests per second. All apps of this machine share one token.
TOKEN_RATE = 5_000.0

logger = logging.getLogger("sager.up")


class ChildDied(StreamsError, RuntimeError):
    """A process ended by itself too often; the message names its log."""


def local_token(settings: Settings) -> str:
    """Return the data folder's token, created at the first start."""
    file, known = settings.data_dir / TOKEN_FILE, settings.data_dir / TOKENS_FILE
    secret = file.read_text(encoding="ascii").strip() if file.exists() else ""
    if not secret or not known.exists() or tokens.token_hash(secret) not in known.read_text(encoding="utf-8"):
        secret, made = tokens.new_token("local", tuple(tokens.Scope), tokens.ALL_USERS, None, TOKEN_RATE)
        for path, text in ((known, tokens.token_toml(made)), (file, f"{secret}\n")):
            path.touch(0o600)
            path.chmod(0o600)
            path.write_text(text, encoding="utf-8")
    return secret


class LocalPipeline:
    """Broker, worker, materializer, and the console if it has a port.

    The broker has a journal, see `streams.local.proxy`. Port 0 is a free one.
    """

    def __init__(self, settings: Settings, *, port: int = 0, http_port: int | None = None) -> None:
        given, folder = settings.model_fields_set, settings.data_dir / "logs"
        # The records that the last start restored, and those of them that the worker had not processed.
        self.restored: dict[str, int] = {}
        self._locks: list[int] = []
        self._names = (WORKER, MATERIALIZER) if http_port is None else (WORKER, MATERIALIZER, SERVER)
        self.logs = {name: folder / f"{name}.log" for name in (BROKER, *self._names)}
        self.port = port or free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._proxy: subprocess.Popen[bytes] | None = None
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._deaths: dict[str, list[float]] = defaultdict(list)
        self._was_ready = False
        self.settings = settings.model_copy(
            update={
                **{name: value for name, value in LOCAL_DEFAULTS.items() if name not in given},
                "bootstrap": self.bootstrap,
                "embedded": True,
                "replication": 1,
                # A store on disk would hold the state of an earlier broker, with other offsets.
                "store": "memory",
                "metrics_port": 0,
                # We read the metrics of our children without a token.
                "http_tokens": None,
            }
        )
        ports = {WORKER: settings.metrics_port, MATERIALIZER: settings.metrics_port and settings.metrics_port + 1}
        self._ports = {name: port or free_port() for name, port in ports.items()}
        self._http_port, self._tokens = http_port, settings.http_tokens
        self.token: str | None = None

    @property
    def metrics(self) -> Mapping[str, str]:
        """The metrics address of each process."""
        return {name: f"{self._address(name)}/metrics" for name in self._ports}

    @property
    def url(self) -> str | None:
        """The address of the HTTP API and the console, if served."""
        return None if self._http_port is None else f"http://{self.settings.http_host}:{self._http_port}"

    def link(self) -> str | None:
        """Return a one-time console link; None without a known token."""
        return console_link(self.url, self.token) if self.url and self.token else None

    def _address(self, name: str) -> str:
        return f"http://{self.settings.metrics_host}:{self._ports[name]}"

    def start(self) -> Self:
        """Start everything in order; after a failure, end the others."""
        try:
            self._locks.append(lock(self.settings))
            self._start_broker()
            for name in self._names:
                self._start_child(name)
        except BaseException:
            self.stop(at_once=True)
            raise
        return self

    def _start_child(self, name: str) -> None:
        more: dict[str, Any] = {"metrics_port": self._ports.get(name, 0)}
        if name == SERVER:
            if self._tokens is None:
                self.token = local_token(self.settings)
            known = self._tokens or self.settings.data_dir / TOKENS_FILE
            more = {"http_port": self._http_port, "http_tokens": known}
        inherited = []
        if name != SERVER and self._proxy is not None and self._proxy.stdin is not None:
            # They may outlive us and then still need the broker: the proxy ends when the last holder closes its pipe.
            inherited = [self._proxy.stdin.fileno(), *self._locks]
        settings = self.settings.model_copy(update=more)
        self._children[name] = start_child([_VERBS[name]], settings, self.logs[name], inherited)

    def _start_broker(self) -> None:
        """Start the broker behind its proxy, which restores the journal first."""
        args = [str(self.port), str(self.logs[BROKER])]
        self._proxy = start_child(args, self.settings, self.logs[BROKER], self._locks, module=PROXY, piped=True)
        assert self._proxy.stdout is not None  # noqa: S101 - for the type
        line = self._proxy.stdout.readline()
        if not line:
            self._proxy.wait()
            self._check_broker()
        result = json.loads(line)
        if "error" in result:
            raise StreamsError(result["error"])
        self.restored = result
        topics.ensure(self.settings)

    def check(self) -> None:
        """Restart processes that have ended, once all were ready.

        Raises `ChildDied` after too many restarts, and `JournalUnusable` if the journal cannot be written.
        """
        try:
            self._check_broker()
        except ChildDied as error:
            self._count_death(BROKER, error)
            self._kill_all()
            self._start_broker()
        for name in self._names:
            process = self._children.get(name)
            if process is not None and process.poll() is not None:
                self._count_death(name, self._died(name, process.returncode))
                process = None
            if process is None:
                self._start_child(name)

    def _check_broker(self) -> None:
        if self._proxy is not None and self._proxy.poll() is not None:
            if self._proxy.returncode == os.EX_IOERR:
                raise JournalUnusable(
                    f"the journal in {path_of(self.settings).parent} cannot be written: {self.logs[BROKER]} has the "
                    "reason. If the disk is full, free some space and start again. All acknowledged events are kept"
                )
            raise self._died(BROKER, self._proxy.returncode)

    def _count_death(self, name: str, died: ChildDied) -> None:
        """Count an ended process; raise `died` if it must not restart."""
        now = time.monotonic()
        deaths = self._deaths[name] = [at for at in (*self._deaths[name], now) if now - at <= CRASH_WINDOW_SECONDS]
        if not self._was_ready or len(deaths) > MAX_RESTARTS:
            raise died
        logger.warning("%s. It is restarted", str(died).partition(". ")[0])

    def _died(self, name: str, code: int) -> ChildDied:
        how = f" with code {code}" if code >= 0 else f" by {signal.Signals(-code).name}"
        log = self.logs[name]
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        lines = [line for line in lines if not line.startswith(NOISE)][-LAST_LINES:]
        return ChildDied("\n".join([f"the {name} has ended{how}. Its log, {log}, ends:", *lines]))

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        """Wait until every process is ready; raise `StreamsError` after that time."""
        give_up = time.monotonic() + seconds
        wanted = {name: f"{self._address(name)}/ready" for name in self._ports}
        if self.url is not None:
            wanted[SERVER] = f"{self.url}/openapi.json"
        for name, url in wanted.items():
            while reason := why_not_ready(url):
                self.check()
                if time.monotonic() > give_up:
                    log = self.logs[name]
                    raise StreamsError(f"the {name} was not ready within {seconds:.0f} s: {reason}. See its log, {log}")
                time.sleep(POLL_SECONDS)
        self._was_ready = True

    def finish_work(
        self,
        seconds: float,
        report: Callable[[int], None] = lambda left: None,
        *,
        per_record: bool,
        bases: Collection[str] = CONSUMED_TOPICS,
    ) -> int:
        """Wait until the worker has processed these topics; return the records left.

        `seconds` limits the whole wait, or with `per_record` the time without progress. `report` gets the number left.
        """
        give_up, wanted = time.monotonic() + seconds, dict[Partition, int]()
        for _ in range(ROUNDS):
            before, wanted, fewest = wanted, self._ends(bases), sys.maxsize
            if wanted == before:  # the worker sends outputs before it commits, so there will be no more
                return 0
            while left := self._left(wanted):
                if per_record and left < fewest:
                    give_up, fewest = time.monotonic() + seconds, left
                if time.monotonic() > give_up:
                    return self._left(self._ends(bases))
                report(left)
                self.check()
                time.sleep(POLL_SECONDS)
        return 0

    def _left(self, wanted: Mapping[Partition, int]) -> int:
        with BrokerClient(self.bootstrap) as wire:
            done = wire.committed(self.settings.app_id, wanted)
        return sum(max(0, end - done.get(each, 0)) for each, end in wanted.items())

    def _ends(self, bases: Iterable[str]) -> dict[Partition, int]:
        names = {self.settings.topic(base) for base in bases}
        with BrokerClient(self.bootstrap) as wire:
            return wire.ends(each for each in partitions_of(self.settings) if each[0] in names)

    def stop(self, *, at_once: bool = False) -> None:
        """End the worker, the materializer once it has everything, the broker.

        `at_once` kills the first two instead, which loses nothing: the journal has all accepted records.
        """
        try:
            if at_once:
                return
            end_child(self._children.get(SERVER), KILL_GRACE_SECONDS)
            end_child(self._children.get(WORKER), self.settings.shutdown_seconds + KILL_GRACE_SECONDS)
            if MATERIALIZER in self._children:
                self._drain_materializer(self._children[MATERIALIZER])
            end_child(self._children.get(MATERIALIZER), self.settings.shutdown_seconds + KILL_GRACE_SECONDS)
        finally:
            # A second Ctrl-C interrupts the waits above and ends up here.
            self._kill_all(KILL_GRACE_SECONDS)
            while self._locks:
                os.close(self._locks.pop())

    def _kill_all(self, proxy_seconds: float = 0.0) -> None:
        for process in self._children.values():
            end_child(process, 0)
        self._children.clear()
        end_child(self._proxy, proxy_seconds)
        self._proxy = None

    def _drain_materializer(self, materializer: subprocess.Popen[bytes]) -> None:
        """Wait until the materializer has committed the broker's present records."""
        give_up = time.monotonic() + DRAIN_SECONDS
        wanted: Counter[str] = Counter()
        try:
            # The materializer skips internal topics, and its metrics have the registry's names.
            for (name, _), end in self._ends(base for base, each in TOPICS.items() if not each.internal).items():
                wanted[by_name(name, self.settings.prefix).base] += end
        except KafkaUnreachable:  # it ended first, so there is nothing to wait for
            return
        while materializer.poll() is None and time.monotonic() < give_up:
            done = materializer_offsets(self._address(MATERIALIZER))
            if done is None or all(at >= wanted[base] for base, at in done.items()):
                return
            time.sleep(POLL_SECONDS)
        logger.warning("the materializer has not read everything; see its log, %s", self.logs[MATERIALIZER])

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()
