"""The whole pipeline on one machine: the embedded broker, a worker and the materializer, as children."""

import ctypes
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import SecretStr

from schemas.topics import by_name
from streams.exceptions import BrokerUnreachable, EmbeddedBrokerFailed, StreamsError
from streams.kafka import topics
from streams.local.backlog import FAR, Backlog
from streams.local.broker import EmbeddedBroker, end_with_parent, free_port
from streams.local.journal import JournalUnusable, Lock, folder_of, partitions_of
from streams.local.load import Loaded, follow_on, load
from streams.local.outputs import appending, rotate
from streams.local.own_token import OwnToken, own_token
from streams.local.probes import answers, console_link, next_offsets, why_not_ready
from streams.local.wire import Wire
from streams.settings import Settings, Store

BROKER, WORKER, MATERIALIZER, SERVER = "broker", "worker", "materializer", "console"
_VERBS = {WORKER: "worker", MATERIALIZER: "materialize", SERVER: "console"}
DRAIN_SECONDS = 30.0
BROKER_SECONDS = 20.0
SPARE_SECONDS = 5.0
"""A child ends itself after `shutdown_seconds`; only one that does not is killed."""
PAUSES = (0.0, 1.0, 2.0, 4.0)
"""How long a child that has ended stays so, the first, second, ... time within `DEATHS_SECONDS`; then we give up."""
DEATHS_SECONDS = 30.0
LAST_LINES = 8

LOCAL = {"session_seconds": 6.0, "rebalance_seconds": 5.0, "publish_seconds": 5.0}
"""For one machine, where not set otherwise: a worker is ready in seconds, and what it did is seen in seconds."""

_PARENT = "SAGER_PARENT_PID"
_PR_SET_PDEATHSIG = 1
_ROOT = Path(__file__).resolve().parents[2]

logger = logging.getLogger("sager.up")


class ChildDied(StreamsError, RuntimeError):
    """A process has ended by itself, again and again; the message names its log."""


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


def child(args: Sequence[str], settings: Settings, log: Path, keeps: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """Start `sager ARGS` as a child with these settings, its output going to the end of a log file.

    It is in a process group of its own, so that a Ctrl-C reaches us alone and we can end things in order, and it
    ends when we do, see `die_with_parent`. Secrets go by the environment, never by the command line.

    Args:
        args: the command.
        settings: its settings.
        log: the file for its output.
        keeps: file descriptors that it inherits.
    """
    with appending(log) as out:
        return subprocess.Popen(  # noqa: S603 - ourselves, no shell
            [sys.executable, "-P", "-m", "streams.cli", *args],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment(settings),
            process_group=0,
            pass_fds=keeps,
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

    With `keep`, the broker is a process that owns the embedded one and its journal, see `streams.local.proxy`.
    It cannot be restarted under the others: they are restarted with it.

    Args:
        settings: the configuration; bootstrap servers, store and metrics ports are chosen here.
        port: where the broker listens; 0 takes a free one.
        keep: whether a journal is loaded first and kept from then on; without, all is gone when this ends.
        http_port: where the HTTP API and the console listen; None for neither.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        port: int = 0,
        keep: bool = False,
        http_port: int | None = None,
    ) -> None:
        given = settings.model_fields_set
        self._keep = keep
        self._lock: Lock | None = None
        self.loaded = Loaded()
        folder = settings.data_dir / "logs"
        served = () if http_port is None else (SERVER,)
        self._names = (WORKER, MATERIALIZER, *served)
        self.logs = {name: folder / f"{name}.log" for name in (BROKER, *self._names)}
        self._broker = EmbeddedBroker(self.logs[BROKER], port)
        self._proxy: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._deaths: dict[str, deque[float]] = defaultdict(deque)
        self._was_ready = False
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
            if self._keep:
                self._lock = Lock(self.settings)
                self._start_keeping()
            else:
                self._start_broker()
                topics.ensure(self.settings)
            for name in self._names:
                self._start_child(name)
        except BaseException:
            self.stop(at_once=True)
            raise
        return self

    def _start_child(self, name: str) -> None:
        if name == SERVER:
            own = self._served(self._http_port or 0)
        else:
            own = self.settings.model_copy(update={"metrics_port": self._ports[name]})
        # The worker and the materializer may go on for a while after us, and need the broker and the folder as long.
        keeps = [] if self._proxy is None or name == SERVER else [self._life(self._proxy), self._locked().file]
        self._children[name] = child([_VERBS[name]], own, self.logs[name], keeps)

    def _locked(self) -> Lock:
        assert self._lock is not None  # noqa: S101 - for the type
        return self._lock

    @staticmethod
    def _life(proxy: subprocess.Popen[bytes]) -> int:
        assert proxy.stdin is not None  # noqa: S101 - for the type
        return proxy.stdin.fileno()

    def _start_keeping(self) -> None:
        """Start the broker with its journal: clients reach it once it has its records back."""
        own = free_port()
        with appending(self.logs[BROKER]) as out:
            self._proxy = subprocess.Popen(  # noqa: S603 - ourselves, no shell
                [sys.executable, "-P", "-m", "streams.local.proxy", *map(str, (self.port, own, self.logs[BROKER]))],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                env=environment(self.settings),
                process_group=0,
                pass_fds=(self._locked().file,),
            )
        self._wait_for(own)
        try:
            found = load(self.settings, f"127.0.0.1:{own}")
        except OSError as error:
            raise self._unwritable() from error
        os.write(self._life(self._proxy), b"\n")
        self._wait_for(self.port)
        topics.ensure(self.settings)
        follow_on(self.settings, found or Loaded())
        if found is not None:
            self.loaded = found

    def _wait_for(self, port: int) -> None:
        """Wait until the broker's process listens on a port."""
        give_up = time.monotonic() + BROKER_SECONDS
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            self._check_broker()
            if time.monotonic() > give_up:
                raise EmbeddedBrokerFailed(f"the embedded broker did not start; see {self.logs[BROKER]}")
            time.sleep(0.05)

    def _unwritable(self) -> JournalUnusable:
        return JournalUnusable(
            f"the journal in {folder_of(self.settings)} cannot be written, and no event was acknowledged since; the "
            f"reason is in {self.logs[BROKER]}. If the disk is full, free some space and start again: every event that "
            "was acknowledged is kept"
        )

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
            self._broker.start(end_with_parent)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def check(self) -> None:
        """Restart processes that have ended, once all were ready, and rotate logs.

        Raises:
            ChildDied: a process ends again and again, or was never ready; with the last lines of its log.
            JournalUnusable: the journal cannot be written.
        """
        for log in self.logs.values():
            rotate(log)
        try:
            self._check_broker()
        except ChildDied as error:
            self._note_death(BROKER, error)
            for process in self._children.values():
                _end(process, 0)
            self._children.clear()
            _end(self._proxy, 0)
            self._start_keeping()
        for name, process in list(self._children.items()):
            if process.poll() is not None:
                self._note_death(name, self._died(name, process.returncode))
                del self._children[name]
        for name in self._names:
            deaths = self._deaths[name]
            if name not in self._children and (
                not deaths or time.monotonic() - deaths[-1] >= PAUSES[min(len(deaths), len(PAUSES)) - 1]
            ):
                self._start_child(name)

    def _check_broker(self) -> None:
        if self._proxy is None:
            if not self._broker.alive:
                raise self._died(BROKER, None)
        elif self._proxy.poll() is not None:
            if self._proxy.returncode == os.EX_IOERR:
                raise self._unwritable()
            raise self._died(BROKER, self._proxy.returncode)

    def _note_death(self, name: str, died: ChildDied) -> None:
        """Count a process that has ended.

        Raises:
            ChildDied: it is not started again.
        """
        deaths, now = self._deaths[name], time.monotonic()
        deaths.append(now)
        while now - deaths[0] > DEATHS_SECONDS:
            deaths.popleft()
        if not (self._keep and self._was_ready) or len(deaths) > len(PAUSES):
            raise died
        logger.warning("%s. It is started again", str(died).splitlines()[0])

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
        self._was_ready = True

    def backlog(self) -> Backlog:
        """Asks what the worker has still to do."""
        return Backlog(self.settings)

    def stop(self, *, at_once: bool = False) -> None:
        """End the worker, then the materializer once it has everything, then the broker, which acknowledges until then.

        Args:
            at_once: whether to kill the first two instead, which loses nothing where a journal is kept.
        """
        try:
            if at_once:
                return
            _end(self._children.get(SERVER), SPARE_SECONDS)
            _end(self._children.get(WORKER), self.settings.shutdown_seconds + SPARE_SECONDS)
            if MATERIALIZER in self._children:
                self._drain(self._children[MATERIALIZER])
            _end(self._children.get(MATERIALIZER), self.settings.shutdown_seconds + SPARE_SECONDS)
        finally:
            # A second Ctrl-C comes here at once.
            for process in self._children.values():
                _end(process, 0)
            self._children.clear()
            _end(self._proxy, SPARE_SECONDS)
            self._proxy = None
            self._broker.stop()
            if self._lock is not None:
                self._lock.close()
                self._lock = None

    def _drain(self, materializer: subprocess.Popen[bytes]) -> None:
        """Wait until the materializer has committed the records that are in the broker now."""
        give_up = time.monotonic() + DRAIN_SECONDS
        try:
            wanted = self._ends()
        except BrokerUnreachable:  # it has ended
            return
        while materializer.poll() is None and time.monotonic() < give_up:
            done = next_offsets(self._address(MATERIALIZER))
            # It reports the topics that it reads: others, such as forget-requests, have records too.
            if done is None or all(at >= wanted.get(base, 0) for base, at in done.items()):
                return
            time.sleep(0.1)
        logger.warning("the materializer has not read everything; its log is %s", self.logs[MATERIALIZER])

    def _ends(self) -> dict[str, int]:
        """The offsets behind the last records that the materializer reads, summed over each topic's partitions."""
        names = {name: by_name(name, self.settings.prefix) for name, _ in partitions_of(self.settings)}
        public = [each for each in partitions_of(self.settings) if not names[each[0]].internal]
        ends: Counter[str] = Counter()
        with Wire(self.settings.bootstrap) as wire:
            for (name, _), (_, end) in wire.fetch(dict.fromkeys(public, FAR), 1).items():
                ends[names[name].base] += end
        return dict(ends)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


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
