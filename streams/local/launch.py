"""The whole pipeline on one machine: the embedded broker, a worker, the materializer and the journal, as children."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import SecretStr

from schemas.topics import by_name
from streams.exceptions import StreamsError
from streams.kafka import topics
from streams.local.backlog import FAR, Backlog
from streams.local.broker import EmbeddedBroker, free_port
from streams.local.journal import Lock, partitions_of
from streams.local.load import Loaded, load
from streams.local.outputs import appending, rotate
from streams.local.own_token import OwnToken, own_token
from streams.local.probes import answers, committed_records, console_link, why_not_ready
from streams.local.wire import Wire
from streams.settings import Settings, Store

WORKER, MATERIALIZER, JOURNAL, SERVER = "worker", "materializer", "journal", "console"
DRAIN_SECONDS = 30.0
JOURNAL_SECONDS = 10.0
SPARE_SECONDS = 5.0
"""A child ends itself after `shutdown_seconds`; only one that does not is killed."""
LAST_LINES = 8

LOCAL = {"session_seconds": 6.0, "rebalance_seconds": 5.0, "publish_seconds": 5.0}
"""For one machine, where not set otherwise: a worker is ready in seconds, and what it did is seen in seconds."""

_PARENT = "SAGER_PARENT_PID"
_PR_SET_PDEATHSIG = 1
_ROOT = Path(__file__).resolve().parents[2]

Prepare = Callable[[Settings], object]


class ChildDied(StreamsError, RuntimeError):
    """The broker, the worker or the materializer has ended by itself; the message names its log."""


def environment(settings: Settings) -> dict[str, str]:
    """This process' environment with everything that is set in `settings`, and with no other setting of ours."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("SAGER_") and name.upper() not in ("OPENAI_BASE_URL", "OPENAI_API_KEY")
    }
    values = {name: getattr(settings, name) for name in sorted(settings.model_fields_set)}
    return {
        **inherited,
        **{f"SAGER_{name.upper()}": _as_text(value) for name, value in values.items() if value is not None},
        # Not from the folder we happen to be in: a folder `streams` there would be taken for this package.
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")])),
        _PARENT: str(os.getpid()),
    }


def _as_text(value: Any) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return json.dumps(value)
    return str(value.value if isinstance(value, Enum) else value)


def child(args: Sequence[str], settings: Settings, log: Path) -> subprocess.Popen[bytes]:
    """Start `sager ARGS` as a child with these settings, its output going to the end of a log file.

    It is in a process group of its own, so that a Ctrl-C reaches us alone and we can end things in order, and it
    ends when we do, see `die_with_parent`. Secrets go by the environment, never by the command line.
    """
    with appending(log) as out:
        return subprocess.Popen(  # noqa: S603 - ourselves, no shell
            [sys.executable, "-P", "-m", "streams.cli", *args],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment(settings),
            process_group=0,
        )


def die_with_parent() -> None:
    """In a process started by `child`: be sent a SIGTERM when the parent is gone, however it went. Linux only.

    It is the thread that started us which counts as the parent, so `child` belongs in a main thread.
    """
    parent = os.environ.pop(_PARENT, "")
    if not parent or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):  # it went before we asked
        raise SystemExit(1)


class Local:
    """Broker, topics, worker and materializer, as a context manager.

    Args:
        settings: the configuration; bootstrap servers, store and metrics ports are chosen here.
        port: where the broker listens; 0 takes a free one.
        keep: whether a journal is loaded first and kept from then on; without, all is gone when this ends.
        prepare: called with the settings where no journal was loaded, once the topics exist and before the worker
            and the materializer start.
        http_port: where the HTTP API and the console listen; None for neither.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        port: int = 0,
        keep: bool = False,
        prepare: Prepare | None = None,
        http_port: int | None = None,
    ) -> None:
        given = settings.model_fields_set
        self._prepare = prepare
        self._keep = keep
        self._lock: Lock | None = None
        self.loaded = Loaded()
        folder = settings.data_dir / "logs"
        served = () if http_port is None else (SERVER,)
        self.logs = {name: folder / f"{name}.log" for name in ("broker", JOURNAL, WORKER, MATERIALIZER, *served)}
        self._broker = EmbeddedBroker(self.logs["broker"], port)
        self._guard: subprocess.Popen[bytes] | None = None
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self.settings = settings.model_copy(
            update={
                **{name: value for name, value in LOCAL.items() if name not in given},
                "bootstrap": self._broker.bootstrap,
                "embedded": True,
                "replication": 1,
                # What a store on disk holds would belong to a broker that is no more.
                "store": Store.MEMORY,
                "metrics_port": 0,
                # We ask our children how they are, and have no token.
                "http_tokens": None,
            }
        )
        first = settings.metrics_port
        self._ports = {WORKER: first or free_port(), MATERIALIZER: first + 1 if first else free_port()}
        self._http_port, self._tokens = http_port, settings.http_tokens
        self.token: OwnToken | None = None

    @property
    def bootstrap(self) -> str:
        """What clients connect to."""
        return self._broker.bootstrap

    @property
    def port(self) -> int:
        """Where the broker listens."""
        return self._broker.port

    @property
    def metrics(self) -> Mapping[str, str]:
        """The metrics address of each process."""
        return {name: f"{self._address(name)}/metrics" for name in self._ports}

    @property
    def url(self) -> str | None:
        """Where the HTTP API and the console are; None where there are none."""
        return None if self._http_port is None else f"http://{self.settings.http_host}:{self._http_port}"

    def link(self) -> str | None:
        """The address that signs in to the console once, asked for anew each time; None where nobody could use one."""
        if self.url is None or self.token is None:
            return None
        path = console_link(self.url, self.token.secret)
        return path and self.url + path

    def _address(self, name: str) -> str:
        return f"http://{self.settings.metrics_host}:{self._ports[name]}"

    def start(self) -> Self:
        """Start everything, in order.

        Raises:
            StreamsError: something failed to start; whatever did start is ended again.
        """
        try:
            self._lock = Lock(self.settings) if self._keep else None
            self._start_broker()
            topics.ensure(self.settings)
            self._load()
            for name, verb in ((WORKER, "worker"), (MATERIALIZER, "materialize")):
                own = self.settings.model_copy(update={"metrics_port": self._ports[name]})
                self._children[name] = child([verb], own, self.logs[name])
            if self._http_port is not None:
                self._children[SERVER] = child(["console"], self._served(self._http_port), self.logs[SERVER])
        except BaseException:
            self.stop()
            raise
        return self

    def _served(self, port: int) -> Settings:
        """The settings of the API's process: with tokens of the deployment's own, or with one that we make."""
        if self._tokens is None:
            self.token = own_token(self.settings.data_dir)
        return self.settings.model_copy(
            update={
                "http_port": port,
                "http_tokens": self._tokens or (self.token.tokens if self.token else None),
                "console_metrics": ",".join(self.metrics.values()),
            }
        )

    def _start_broker(self) -> None:
        # A Ctrl-C goes to the broker too, which is in our process group, and would end it before the worker has
        # finished: signals that are blocked at its start stay so.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._broker.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if self._lock is None:
            self._guard = _guard(self._broker.pid)

    def _load(self) -> None:
        """Give the broker back what it held, and from here on have all that comes written down."""
        found = load(self.settings) if self._lock is not None else None
        if found is not None:
            self.loaded = found
        elif self._prepare is not None:
            self._prepare(self.settings)
        if self._lock is not None:
            self._guard = _follow(self._broker.pid, self.settings, self._lock, self.logs[JOURNAL])

    def check(self) -> None:
        """Check that every process runs, and rotate logs.

        Raises:
            ChildDied: one of the processes has ended, with the last lines that it wrote.
        """
        if not self._broker.alive:
            raise self._died("broker", None)
        if self._lock is not None and self._guard is not None and self._guard.poll() is not None:
            raise self._died(JOURNAL, self._guard.returncode)
        for log in self.logs.values():
            rotate(log)
        for name, process in self._children.items():
            if process.poll() is not None:
                raise self._died(name, process.returncode)

    def _died(self, name: str, code: int | None) -> ChildDied:
        how = "" if code is None else f" with code {code}" if code >= 0 else f" by {signal.Signals(-code).name}"
        lines = (
            self.logs[name].read_text(errors="replace").splitlines()[-LAST_LINES:] if self.logs[name].exists() else []
        )
        return ChildDied("\n".join([f"the {name} has ended{how}; its log is {self.logs[name]}, which ends:", *lines]))

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        """Wait until the worker and the materializer are ready.

        Raises:
            ChildDied: one of them ended instead.
            StreamsError: they were not ready in time.
        """
        give_up = time.monotonic() + seconds
        for name in self._ports:
            while why_not := why_not_ready(self._address(name)):
                self.check()
                if time.monotonic() > give_up:
                    raise StreamsError(
                        f"the {name} was not ready within {seconds:.0f} s: {why_not}; its log is {self.logs[name]}"
                    )
                time.sleep(0.1)
        while self.url is not None and not answers(self.url):
            self.check()
            if time.monotonic() > give_up:
                raise StreamsError(f"the console was not ready within {seconds:.0f} s; its log is {self.logs[SERVER]}")
            time.sleep(0.1)

    def backlog(self) -> Backlog:
        """Asks what the worker has still to do."""
        return Backlog(self.settings)

    def stop(self, *, at_once: bool = False) -> None:
        """End the worker, then the materializer once it has everything, then the journal, then the broker.

        Args:
            at_once: whether to kill the first two instead, which loses nothing where a journal is kept.
        """
        try:
            if at_once:
                return
            _end(self._children.get(SERVER), SPARE_SECONDS)
            _end(self._children.get(WORKER), self.settings.shutdown_seconds + SPARE_SECONDS)
            if self._broker.alive and MATERIALIZER in self._children:
                self._drain()
            _end(self._children.get(MATERIALIZER), self.settings.shutdown_seconds + SPARE_SECONDS)
        finally:
            # Reached at once by a second Ctrl-C, which says that order is not wanted any more.
            for process in self._children.values():
                _end(process, 0)
            self._children.clear()
            # But what was accepted is written down all the same, which takes no longer than a blink.
            _end(self._guard, JOURNAL_SECONDS if self._lock is not None else 0)
            self._guard = None
            self._broker.stop()
            if self._lock is not None:
                self._lock.close()
                self._lock = None

    def _drain(self) -> None:
        """Wait until the materializer has committed what is in the broker."""
        process = self._children[MATERIALIZER]
        give_up = time.monotonic() + DRAIN_SECONDS
        wanted = self._unread()
        while process.poll() is None and time.monotonic() < give_up:
            done = committed_records(self._address(MATERIALIZER))
            if done is None or done >= wanted:
                return
            time.sleep(0.1)

    def _unread(self) -> int:
        """How many records the materializer had before it when it started, and those that came since."""
        public = [each for each in partitions_of(self.settings) if not by_name(each[0], self.settings.prefix).internal]
        with Wire(self.settings.bootstrap) as wire:
            ends = {each: end for each, (_, end) in wire.fetch(dict.fromkeys(public, FAR), 1).items()}
        return self.loaded.unread + sum(end - self.loaded.ends.get(each, 0) for each, end in ends.items())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_GUARD = """
import os, signal, sys, time
sys.stdin.buffer.read()
try:
    for _ in range(30):
        time.sleep(0.5)
        os.kill(int(sys.argv[1]), 0)
    os.kill(int(sys.argv[1]), signal.SIGTERM)
except ProcessLookupError:
    pass
"""
"""Waits for the end of its input, which is ours, leaves the others time to finish, and ends the broker."""


def _guard(broker: int) -> subprocess.Popen[bytes]:
    """A little process that ends the broker when we are gone without having ended it: it cannot do so by itself."""
    return subprocess.Popen(  # noqa: S603 - the text above
        [sys.executable, "-I", "-S", "-c", _GUARD, str(broker)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )


def _follow(broker: int, settings: Settings, lock: Lock, log: Path) -> subprocess.Popen[bytes]:
    """The process that writes the journal, and ends the broker when we are gone without having ended it."""
    # Until it listens to signals, one that tells it to finish waits.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        return _followed(broker, settings, lock, log)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _followed(broker: int, settings: Settings, lock: Lock, log: Path) -> subprocess.Popen[bytes]:
    with appending(log) as out:
        return subprocess.Popen(  # noqa: S603 - ourselves, no shell
            [sys.executable, "-P", "-m", "streams.local.follow", str(broker)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            env=environment(settings),
            process_group=0,
            pass_fds=(lock.file,),
        )


def _end(process: subprocess.Popen[bytes] | None, seconds: float) -> None:
    """Ask a process to end, and kill it if it has not within so many seconds."""
    if process is None:
        return
    if process.poll() is None and seconds:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    elif process.poll() is None:
        process.kill()
    process.wait(5)
    if process.stdin is not None:
        process.stdin.close()
