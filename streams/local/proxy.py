"""The broker's proxy: it acknowledges a record after journaling it.

It owns the broker on a private port and forwards Kafka's requests from the public port. Answers to Produce and
OffsetCommit wait for the journal. Answers to Fetch wait for earlier Produce requests, so no consumer sees a record that
the journal lacks. If the journal cannot be written, this process ends at once, and the broker with it.
"""

import asyncio
import json
import logging
import os
import signal
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from aiokafka.protocol.api import RequestStruct
from aiokafka.protocol.commit import OffsetCommitRequest_v2
from aiokafka.protocol.produce import ProduceRequest_v7
from aiokafka.protocol.transaction import InitProducerIdRequest_v0, InitProducerIdResponse_v0

from schemas import TOPICS, Receipt, by_name
from streams import permissions
from streams.analytics.store import RESTORED_TOPIC, Progress, live_file, open_store
from streams.exceptions import StreamsError
from streams.local.batches import bounds, rebased, without_producer
from streams.local.broker import BrokerClient, EmbeddedBroker
from streams.local.children import signal_on_parent_exit
from streams.local.journal import ERASURES_PENDING, Journal, JournalUnusable, compact, install, path_of, read, write
from streams.logs import configure
from streams.settings import Settings

SYNC_SECONDS = 1.0
COMPACTION_BYTES = 64 * 1024 * 1024
# After its receipt, an erasure goes on to the memories of items: compaction is repeated until it has all of them.
RECOMPACT_SECONDS, RECOMPACT_FOR_SECONDS = 10.0, 60.0
FRAME_BYTES = 100 * 1024 * 1024  # Kafka's limit for a request
BUFFER_BYTES, MAX_ANSWERS = 1024 * 1024, 1_000
PRODUCE, FETCH, OFFSET_COMMIT, API_VERSIONS, INIT_PRODUCER_ID = 0, 1, 8, 18, 22
# The requests that the proxy decodes. Clients find these versions alone in the answer to ApiVersions.
_DECODED: dict[int, type[RequestStruct]] = {
    PRODUCE: ProduceRequest_v7,
    OFFSET_COMMIT: OffsetCommitRequest_v2,
    INIT_PRODUCER_ID: InitProducerIdRequest_v0,
}
# A restarted broker would refuse the producers of its predecessor, so it never sees a producer's id: all producers get
# the same one. The price: a producer that retries after a lost answer repeats its records. Workers drop repeated ids.
PRODUCER_ID = InitProducerIdResponse_v0(0, 0, 1, 0).encode()

logger = logging.getLogger("sager.journal")
_Future = asyncio.Future[None]
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class _Pending:
    """A request that waits for the broker, decoded if in `_DECODED`."""

    api: int
    version: int
    request: Any = None
    wants_answer: bool = True
    # For Produce: done once the journal has the batches, or the broker has refused them.
    journaled: _Future | None = None


class Proxy:
    """Serves clients and writes the journal."""

    def __init__(self, settings: Settings, broker_port: int, compaction_bytes: int = COMPACTION_BYTES) -> None:
        self._settings, self._broker_port, self._compaction_bytes = settings, broker_port, compaction_bytes
        self._names = {topic.name(settings.prefix) for topic in TOPICS.values()}
        self._journal = Journal(settings)
        self._compact_at, self._recompact_until = float("inf"), 0.0
        self.unjournaled: set[_Future] = set()

    async def serve(self, port: int, end: asyncio.Event, on_start: Callable[[], None] = lambda: None) -> None:
        """Serve clients until `end` is set, then sync the journal."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", port, limit=BUFFER_BYTES)
        on_start()
        maintaining = asyncio.create_task(self._maintain_journal())
        await end.wait()
        server.close()
        maintaining.cancel()
        self._journal.sync()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            broker = await asyncio.open_connection("127.0.0.1", self._broker_port, limit=BUFFER_BYTES)
            await _Connection(self, (reader, writer), broker).run()
        except OSError as error:
            logger.warning("the broker accepts no connection: %s", error)
        finally:
            writer.transport.abort()

    def journal_answer(self, request: Any, answer: bytes) -> None:
        """Append the accepted batches or offsets of a request to the journal."""
        response = request.RESPONSE_TYPE.decode(BytesIO(answer[4:]))
        answered = [(name, each) for name, partitions in response.topics for each in partitions]
        accepted = {(name, number): more for name, (number, error, *more) in answered if not error}
        wanted = [((name, number), data) for name, partitions in request.topics for number, data, *_ in partitions]
        try:
            if request.API_KEY == PRODUCE:
                kept = [each for each in wanted if each[0][0] in self._names and each[0] in accepted]
                self._journal.append((where, one) for where, data in kept for one in rebased(data, accepted[where][0]))
                if any(name == self._settings.topic(Receipt.TOPIC) for (name, _), _ in kept):
                    self._compact_at = asyncio.get_running_loop().time()
                    self._recompact_until = self._compact_at + RECOMPACT_FOR_SECONDS
            elif request.consumer_group == self._settings.app_id:
                self._journal.commit({where: offset for where, offset in wanted if where in accepted})
        except OSError as error:
            exit_unwritable(error)

    async def _maintain_journal(self) -> None:
        """Sync the journal every second, and compact it when due."""
        now = asyncio.get_running_loop().time
        limit, begun_at = self._journal.size + self._compaction_bytes, 0
        compaction: subprocess.Popen[bytes] | None = None
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            try:
                await asyncio.to_thread(self._journal.sync)
                if compaction is not None and (code := compaction.poll()) is not None:
                    compaction = None
                    if code in (0, ERASURES_PENDING):
                        self._journal.switch_to_compacted(begun_at)
                    if code or now() < self._recompact_until:
                        self._compact_at = now() + RECOMPACT_SECONDS
                    limit = self._journal.size + self._compaction_bytes
                if compaction is None and (now() >= self._compact_at or self._journal.size > limit):
                    self._compact_at, begun_at = float("inf"), self._journal.size
                    compaction = _compaction(begun_at)
            except OSError as error:
                exit_unwritable(error)


class _Connection:
    """A client's connection and its counterpart to the broker."""

    def __init__(self, proxy: Proxy, client: _Streams, broker: _Streams) -> None:
        self._proxy = proxy
        self._from_client, self._to_client = client
        self._from_broker, self._to_broker = broker
        self._pending: deque[_Pending] = deque()
        self._answers: asyncio.Queue[tuple[set[_Future], bytes]] = asyncio.Queue(MAX_ANSWERS)

    async def run(self) -> None:
        """Forward until either side closes and accepted batches are journaled."""
        parts = [asyncio.create_task(each) for each in (self._forward(), self._journal_answers(), self._send())]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in parts:
                each.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            self._to_broker.transport.abort()
            # The broker has accepted none of these: it closes a connection before it appends an unreadable request.
            for pending in self._pending:
                self._mark_journaled(pending)

    async def _forward(self) -> None:
        try:
            while True:
                pending, frame = self._prepared(await _read_frame(self._from_client))
                self._pending.append(pending)
                self._to_broker.write(len(frame).to_bytes(4) + frame)
                await self._to_broker.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        except (ValueError, IndexError, OverflowError, TypeError, struct.error) as error:
            logger.warning("closing the connection of a client after a malformed request: %s", error)
        if left := [each.journaled for each in self._pending if each.journaled is not None]:
            await asyncio.wait(left)

    def _prepared(self, frame: bytes) -> tuple[_Pending, bytes]:
        """Return a request in the form for the broker."""
        api, version = struct.unpack_from(">hh", frame)
        if (kind := _DECODED.get(api)) is None:
            return _Pending(api, version), frame
        if version != kind.API_VERSION:
            raise ValueError(f"request {api} has version {version} instead of {kind.API_VERSION}")
        (client_bytes,) = struct.unpack_from(">h", frame, 8)
        body_at = 10 + max(0, client_bytes)
        request: Any = kind.decode(BytesIO(frame[body_at:]))
        if api != PRODUCE:
            return _Pending(api, version, request), frame
        request.topics = [
            (name, [(number, without_producer(data or b"")) for number, data in partitions])
            for name, partitions in request.topics
        ]
        journaled = asyncio.get_running_loop().create_future()
        pending = _Pending(api, version, request, request.required_acks != 0, journaled)
        if not request.required_acks:
            request.required_acks = 1  # the broker has to name the offsets
        self._proxy.unjournaled.add(journaled)
        return pending, frame[:body_at] + request.encode()

    async def _journal_answers(self) -> None:
        """Journal accepted requests in the order of the broker's answers."""
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                frame = await _read_frame(self._from_broker)
                pending = self._pending[0]
                if pending.api in (PRODUCE, OFFSET_COMMIT):
                    self._proxy.journal_answer(pending.request, frame)
                elif pending.api == API_VERSIONS:
                    frame = _with_decoded_versions(frame, pending.version)
                elif pending.api == INIT_PRODUCER_ID:
                    frame = frame[:4] + PRODUCER_ID  # the broker refuses this version
                self._mark_journaled(self._pending.popleft())
                if pending.wants_answer:
                    await self._answers.put((set(self._proxy.unjournaled) if pending.api == FETCH else set(), frame))

    def _mark_journaled(self, pending: _Pending) -> None:
        if pending.journaled is not None:
            pending.journaled.set_result(None)
            self._proxy.unjournaled.discard(pending.journaled)

    async def _send(self) -> None:
        # A task of its own: an answer that waits for another client must not hold up the journal.
        while True:
            waits_for, frame = await self._answers.get()
            if waits_for:
                await asyncio.wait(waits_for)
            if not self._to_client.is_closing():
                with suppress(OSError):  # the client has gone, and `_forward` notices
                    self._to_client.write(len(frame).to_bytes(4) + frame)
                    await self._to_client.drain()


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    size = int.from_bytes(await reader.readexactly(4), signed=True)
    if not 0 < size <= FRAME_BYTES:
        raise ValueError(f"a frame of {size} bytes")
    return await reader.readexactly(size)


def _with_decoded_versions(answer: bytes, version: int) -> bytes:
    """Limit an answer to ApiVersions to the versions that the proxy decodes."""
    if answer[4:6] != b"\0\0":
        return answer  # an error: the client retries with an older version
    patched = bytearray(answer)
    # Since version 3 the length is a varint, and each entry ends with a byte for its (absent) tags.
    is_compact = version >= 3  # noqa: PLR2004
    count, first, size = (patched[6] - 1, 7, 7) if is_compact else (int.from_bytes(patched[6:10]), 10, 6)
    for at in range(first, first + count * size, size):
        (api,) = struct.unpack_from(">h", patched, at)
        if api in _DECODED:
            struct.pack_into(">hh", patched, at + 2, _DECODED[api].API_VERSION, _DECODED[api].API_VERSION)
    return bytes(patched)


def exit_unwritable(error: OSError) -> NoReturn:
    """End this process at once, so that no further record is acknowledged."""
    logger.critical("the journal cannot be written: %s", error.strerror or error)
    os._exit(os.EX_IOERR)


def restore(settings: Settings, broker: str) -> dict[str, int]:
    """Compact or create the journal, and send its records to `broker`.

    Returns the numbers of restored `records` and of those `waiting` for the worker. Raises OSError if the journal
    cannot be written.
    """
    if live_file(settings).exists() and not path_of(settings).exists():
        raise JournalUnusable(
            f"{settings.data_dir} has a DuckDB file, but no journal with the broker's records: choose another folder "
            "with --data-dir, or empty this one"
        )
    log, _ = compact(read(settings), settings)
    install(write(settings, log))
    with BrokerClient(broker) as wire:
        wire.create_topics(settings)
        for partition, batch in log.batches():
            at = wire.produce(partition, batch)
            if at != bounds(batch)[0]:
                raise StreamsError(
                    f"{partition[0]}[{partition[1]}] in the new broker is not empty: {at} instead of {bounds(batch)[0]}"
                )
        if log.commits:
            wire.commit(settings.app_id, log.commits)
    if live_file(settings).exists():
        # The topics have new ids, but their offsets continue.
        with open_store(settings) as store:
            store.move_offsets(
                {
                    partition: Progress(min(progress.next_offset, log.ends.get(partition, 0)), RESTORED_TOPIC)
                    for partition, progress in store.offsets().items()
                }
            )
    waiting = sum(
        record.offset >= log.commits.get(partition, 0)
        for partition, rows in log.records.items()
        if by_name(partition[0], settings.prefix).is_consumed
        for record in rows
    )
    return {"records": sum(map(len, log.records.values())), "waiting": waiting}


def _compaction(size: int) -> subprocess.Popen[bytes]:
    """Start a compaction of the journal's first bytes."""
    return subprocess.Popen(  # noqa: S603 - our own module, no shell
        [sys.executable, "-P", "-m", "streams.local.journal", str(size)],
        preexec_fn=signal_on_parent_exit,  # noqa: PLW1509 - one system call
    )


async def _serve(settings: Settings, port: int, broker_port: int, restored: dict[str, int]) -> None:
    """Serve until SIGTERM, or until the last user closes our stdin."""
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, end.set)
    loop.add_reader(0, end.set)
    await Proxy(settings, broker_port).serve(port, end, lambda: print(json.dumps(restored), flush=True))


def main() -> None:
    """Start a broker, restore the journal, print the result, and serve."""
    port, log = int(sys.argv[1]), Path(sys.argv[2])
    settings = Settings()
    configure(settings.log_level, settings.log_format)
    permissions.set_umask(settings.group)
    broker = EmbeddedBroker(log, public=port).start(signal_on_parent_exit)

    def end_with_broker() -> None:  # a new broker starts from the journal
        broker.wait()
        os._exit(1)

    threading.Thread(target=end_with_broker, daemon=True).start()
    asyncio.run(_serve(settings, port, broker.port, restore(settings, broker.bootstrap)))
    os._exit(0)  # the broker is killed with this process


if __name__ == "__main__":
    try:
        main()
    except StreamsError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        raise SystemExit(1) from None
    except OSError as error:
        exit_unwritable(error)
