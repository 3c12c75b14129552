"""The proxy before the embedded broker: nothing is acknowledged that is not in the journal.

It owns the broker, which listens on a private port, and forwards Kafka's requests to it from the public port, which
the broker advertises. An answer to Produce or OffsetCommit is passed on once the journal has the batches, or the
offsets. An answer to Fetch waits for the Produce requests before it: no consumer sees a record that the journal
lacks. If the journal cannot be written, this process ends at once, and the broker with it.

A broker that has restarted does not know the producers of the one before. So batches go to it without a producer id,
and a producer that outlives a broker never notices. The price: a producer that retries a request whose answer was lost
repeats its records. Events have ids, and the worker counts each once.
"""

import asyncio
import logging
import os
import signal
import struct
import sys
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from schemas import TOPICS, Receipt
from streams import private
from streams.exceptions import StreamsError
from streams.local import protocol
from streams.local.batches import anonymize, based
from streams.local.broker import EmbeddedBroker, end_with_parent
from streams.local.journal import Segment
from streams.local.wire import Partition
from streams.logs import configure
from streams.settings import Settings

UNWRITABLE = os.EX_IOERR
"""The exit code when the journal cannot be written: a restart would not help."""
SYNC_SECONDS = 1.0
SEGMENT_BYTES = 64 * 1024 * 1024
AGAIN_SECONDS, AFTERWARDS_SECONDS = 10.0, 60.0
"""An erasure goes on after its receipt, by items and their takers: the journal is compacted this often, for so long."""
FRAME_BYTES = 100 * 1024 * 1024
"""The largest request, as in Kafka."""

logger = logging.getLogger("sager.journal")


class Log:
    """Appends to the journal, and knows the connections and the Produce requests that are not in it yet.

    Args:
        settings: the deployment.
        segment_bytes: how large a segment may grow before the journal is compacted.
    """

    def __init__(self, settings: Settings, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._settings, self._segment_bytes = settings, segment_bytes
        self._names = {topic.name(settings.prefix) for topic in TOPICS.values()}
        self._receipts = settings.topic(Receipt.TOPIC)
        self.segment = Segment(settings)
        self._number = 0
        self._pending: dict[int, None] = {}
        self._held: set[_ToBroker] = set()
        self.is_closed = False
        self.clients: set[_ToClient] = set()
        self._compact_at: float | None = None
        self._again_until = 0.0

    def begin(self) -> int:
        """The number of a Produce request that goes to the broker now."""
        self._number += 1
        self._pending[self._number] = None
        return self._number

    def end(self, number: int) -> None:
        """Note that the request's batches are in the journal, or nowhere; answers may have waited for it."""
        self._pending.pop(number, None)
        for each in list(self._held):
            each.flush()

    @property
    def newest(self) -> int:
        """The number of the newest Produce request; 0 if all are in the journal."""
        return self._number if self._pending else 0

    def has(self, number: int) -> bool:
        """True if the journal has this Produce request and all before it."""
        return not self._pending or next(iter(self._pending)) > number

    def hold(self, connection: "_ToBroker", *, waits: bool) -> None:
        """Note whether a connection has answers that wait."""
        (self._held.add if waits else self._held.discard)(connection)

    def append(self, batches: Iterable[tuple[Partition, bytes]]) -> None:
        """Append batches that the broker has accepted."""
        try:
            for partition, batch in batches:
                if partition[0] in self._names:
                    self.segment.batch(partition, batch)
                if partition[0] == self._receipts:
                    now = asyncio.get_running_loop().time()
                    self._compact_at, self._again_until = now, now + AFTERWARDS_SECONDS
        except OSError as error:
            end_unwritable(error)

    def commit(self, group: str, offsets: dict[Partition, int]) -> None:
        """Append offsets that the workers' group has committed."""
        try:
            if group == self._settings.app_id and offsets:
                self.segment.commits(offsets)
        except OSError as error:
            end_unwritable(error)

    def close(self) -> None:
        """Have the disk hold everything. From here on nothing is acknowledged."""
        self.is_closed = True
        for each in list(self.clients):
            each.transport.abort()
        self.segment.finish()

    async def keep(self) -> None:
        """Have the disk hold what was appended, every second, and compact when it is due."""
        compacting: asyncio.Task[None] | None = None
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            try:
                await asyncio.to_thread(self.segment.sync)
            except OSError as error:
                end_unwritable(error)
            now = asyncio.get_running_loop().time()
            due = self._compact_at is not None and now >= self._compact_at
            if (due or self.segment.size > self._segment_bytes) and (compacting is None or compacting.done()):
                compacting = asyncio.create_task(self._compact())

    async def _compact(self) -> None:
        """Compact all closed segments in a process of its own, which costs clients no time."""
        self._compact_at = None
        try:
            # The new segment stands behind the place that is kept for the result.
            closed, self.segment = self.segment, Segment(self._settings, after=2)
            await asyncio.to_thread(closed.finish)
        except OSError as error:
            end_unwritable(error)
        module = "streams.local.compaction"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", module, str(closed.path)), preexec_fn=_in_the_background
        )
        waiting = await process.wait()
        now = asyncio.get_running_loop().time()
        if waiting or now < self._again_until:
            self._compact_at = now + AGAIN_SECONDS


def end_unwritable(error: OSError) -> None:
    """End this process without another acknowledgement: the journal cannot be written."""
    logger.critical("the journal cannot be written: %s", error.strerror or error)
    os._exit(UNWRITABLE)


def _in_the_background() -> None:
    end_with_parent()
    os.nice(10)


@dataclass
class _Asked:
    """A request that the broker has not answered.

    Attributes:
        header: its kind.
        frame: the request, where the journal needs it.
        produced: where its batches are.
        number: of a Produce request, see `Log.begin`.
    """

    header: protocol.Header
    frame: bytes | bytearray = b""
    produced: protocol.Produced | None = None
    number: int = 0


@dataclass
class _Frames:
    """Cuts a stream of bytes into frames."""

    rest: bytearray = field(default_factory=bytearray)

    def cut(self, data: bytes) -> list[bytes]:
        """The frames that are whole now, without their lengths."""
        self.rest += data
        found, at = [], 0
        while len(self.rest) >= at + 4:
            size = int.from_bytes(self.rest[at : at + 4], signed=True)
            if not 0 < size <= FRAME_BYTES:
                raise protocol.BadRequest(f"a frame of {size} bytes")
            if len(self.rest) < at + 4 + size:
                break
            found.append(bytes(self.rest[at + 4 : at + 4 + size]))
            at += 4 + size
        del self.rest[:at]
        return found


class _Flow(asyncio.Protocol):
    """One side of a connection. While it cannot be written to, the other side is not read."""

    transport: asyncio.Transport
    other: "_Flow | None" = None

    def pause_writing(self) -> None:
        """Stop reading from the other side."""
        if self.other is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        """Read from the other side again."""
        if self.other is not None:
            self.other.transport.resume_reading()

    def write(self, frame: bytes | bytearray) -> None:
        """Send a frame to this side."""
        self.transport.write(len(frame).to_bytes(4))
        self.transport.write(frame)


class _ToClient(_Flow):
    """The connection of a client."""

    def __init__(self, log: Log, broker_port: int) -> None:
        self._log, self._broker_port = log, broker_port
        self._frames = _Frames()
        self._broker: _ToBroker | None = None
        self._connecting: asyncio.Task[None] | None = None
        self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect to the broker before anything is read."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type
        self.transport = transport
        self._log.clients.add(self)
        transport.pause_reading()
        self._connecting = asyncio.create_task(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, self._broker = await loop.create_connection(
                lambda: _ToBroker(self._log, self), "127.0.0.1", self._broker_port
            )
        except OSError:
            self.transport.abort()
            return
        self.other = self._broker
        if self.gone:
            self._broker.transport.close()
        else:
            self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Forward requests."""
        try:
            for frame in self._frames.cut(data):
                self._forward(frame)
        except (ValueError, IndexError, OverflowError, struct.error) as error:
            logger.warning("a client's request is malformed, and its connection is closed: %s", error)
            self.transport.abort()

    def _forward(self, frame: bytes) -> None:
        broker = self._broker
        if broker is None:
            return
        asked = _Asked(protocol.header(frame))
        if asked.header.api == protocol.PRODUCE:
            asked.frame = changed = bytearray(frame)
            asked.produced = protocol.produced(changed, asked.header.version)
            for start, end in asked.produced.batches.values():
                anonymize(changed, start, end)
            if not asked.produced.acks:
                # The broker has to name the offsets; the client gets no answer.
                changed[asked.produced.acks_at + 1] = 1
            asked.number = self._log.begin()
        elif asked.header.api == protocol.OFFSET_COMMIT:
            asked.frame = frame
        elif asked.header.api == protocol.INIT_PRODUCER_ID:
            frame = protocol.without_producer_id(frame, asked.header.version)
        broker.ask(asked, asked.frame or frame)

    def connection_lost(self, error: Exception | None) -> None:
        """End the broker's side once it has answered what the journal needs."""
        self.gone = True
        self._log.clients.discard(self)
        if self._broker is not None:
            self._broker.end_if_done()


class _ToBroker(_Flow):
    """The connection to the broker for one client."""

    def __init__(self, log: Log, client: _ToClient) -> None:
        self._log, self._client, self.other = log, client, client
        self._frames = _Frames()
        self._asked: deque[_Asked] = deque()
        self._answers: deque[tuple[int, bytes]] = deque()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type
        self.transport = transport

    def ask(self, asked: _Asked, frame: bytes | bytearray) -> None:
        """Send a request to the broker."""
        self._asked.append(asked)
        self.write(frame)

    def data_received(self, data: bytes) -> None:
        """Journal what the broker has accepted, and pass its answers on."""
        if self._log.is_closed:
            self._client.transport.abort()
            return
        for frame in self._frames.cut(data):
            asked = self._asked.popleft()
            waits_for = self._log.newest if asked.header.api == protocol.FETCH else 0
            answer: bytes | None = frame
            if asked.produced is not None:
                self._append(asked, asked.produced, frame)
                answer = frame if asked.produced.acks else None
            elif asked.header.api == protocol.OFFSET_COMMIT:
                group, offsets = protocol.committed(asked.frame, asked.header.version)
                taken = protocol.accepted(frame, asked.header.version)
                self._log.commit(group, {each: at for each, at in offsets.items() if each in taken})
            elif asked.header.api == protocol.INIT_PRODUCER_ID:
                answer = protocol.with_unused_producer_id(frame, asked.header.version)
            if answer is not None:
                self._answers.append((waits_for, answer))
        self.flush()
        self.end_if_done()

    def _append(self, asked: _Asked, produced: protocol.Produced, answer: bytes) -> None:
        bases = protocol.appended(answer, asked.header.version)
        self._log.append(
            (partition, batch)
            for partition, (start, end) in produced.batches.items()
            if partition in bases
            for batch in based(asked.frame[start:end], bases[partition])
        )
        self._log.end(asked.number)

    def flush(self) -> None:
        """Send the client the answers that wait for nothing, in their order."""
        while self._answers and self._log.has(self._answers[0][0]):
            _, answer = self._answers.popleft()
            if not self._client.gone:
                self._client.write(answer)
        self._log.hold(self, waits=bool(self._answers))

    def end_if_done(self) -> None:
        """Close the connection if its client has gone and no answer is needed."""
        if self._client.gone and not any(each.number for each in self._asked):
            self._answers.clear()
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Close the client's side, without an answer: the broker has refused a request, or ended."""
        self._log.hold(self, waits=False)
        for asked in self._asked:
            # It closes a connection before it appends anything of a request that it cannot read.
            if asked.number:
                self._log.end(asked.number)
        self._client.transport.abort()


async def serve(
    settings: Settings, port: int, broker_port: int, *, end: asyncio.Event, segment_bytes: int = SEGMENT_BYTES
) -> None:
    """Forward requests, and keep the journal.

    Args:
        settings: the deployment.
        port: where clients connect to.
        broker_port: where the broker listens.
        end: closes the journal once it is set.
        segment_bytes: how large a segment may grow before the journal is compacted.
    """
    loop, log = asyncio.get_running_loop(), Log(settings, segment_bytes)
    server = await loop.create_server(lambda: _ToClient(log, broker_port), "127.0.0.1", port)
    keeping = asyncio.create_task(log.keep())
    await end.wait()
    server.close()
    keeping.cancel()
    log.close()
    await asyncio.sleep(0)  # connections are closed in the loop's next turn


async def _until_the_end(settings: Settings, port: int, broker_port: int) -> None:
    """Serve until SIGTERM, or until no process is left that needs the broker.

    `sager up`, the worker and the materializer hold the other end of standard input.
    """
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, end.set)
    loop.add_reader(0, end.set)
    await serve(settings, port, broker_port, end=end)


def _end_with(broker: EmbeddedBroker) -> None:
    """End this process when the broker ends: a broker holds nothing then, and the journal has everything."""
    broker.wait()
    os._exit(1)


def main() -> None:
    """Own a broker. Open the public port at the first byte on standard input, when the journal has been loaded."""
    port, broker_port, log = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    settings = Settings()
    configure(settings.log_level, settings.log_format)
    private.begin(settings.group)
    broker = EmbeddedBroker(log, broker_port, public=port).start(end_with_parent)
    threading.Thread(target=_end_with, args=(broker,), daemon=True).start()
    if os.read(0, 1):
        asyncio.run(_until_the_end(settings, port, broker_port))
    os._exit(0)  # the broker is killed with this process


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        end_unwritable(error)
    except StreamsError as error:
        logger.critical("the broker cannot be used: %s", error)
        raise SystemExit(1) from None
