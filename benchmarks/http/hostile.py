"""What others notice of clients that trickle, send what is huge, or hold streams and say nothing."""

import asyncio
import time
from typing import Any

from benchmarks.http.load import Measured, at_a_pace, connect
from benchmarks.http.world import World

READS = 500
"""Slim reads a second beside what is hostile."""
CONNECTIONS = 16
SLOW, HUGE, STREAMS = 500, 8, 1_000
TRICKLE_SECONDS = 1.0
MIB = 1024 * 1024
Line = dict[str, Any]


async def slow(here: World, seconds: float) -> Line:
    """Connections that send a byte a second; the server ends each after its time for a request."""
    stop = asyncio.Event()
    trickling = [asyncio.create_task(_trickle(here, stop)) for _ in range(SLOW)]
    await asyncio.sleep(2 * TRICKLE_SECONDS)
    found = await _beside(here, f"slim beside {SLOW} slow clients", seconds)
    stop.set()
    await asyncio.gather(*trickling, return_exceptions=True)
    return found


async def huge(here: World, seconds: float) -> Line:
    """Batches of a mebibyte that are no events, from clients with a token."""
    request = here.post("/v1/events", b'{"events": [' + b",".join([b"[" * 20 + b"]" * 20] * (MIB // 41 - 1)) + b"]}")
    stop = asyncio.Event()

    async def send() -> int:
        [client] = await connect(here.port, 1)
        sent = 0
        while not stop.is_set():
            if await client.ask(request) == 0:
                [client] = await connect(here.port, 1)
            sent += 1
        client.close()
        return sent

    sending = [asyncio.create_task(send()) for _ in range(HUGE)]
    found = await _beside(here, f"slim beside {HUGE} clients with bodies of 1 MiB", seconds)
    stop.set()
    bodies = sum(await asyncio.gather(*sending))
    return {**found, "bodies_per_s": round(bodies / seconds, 1)}


async def streams(here: World, seconds: float) -> Line:
    """A thousand streams on which nothing happens."""
    before = here.rss
    request = [here.get(f"/v1/users/user-{number}/domains/films/slim/stream") for number in range(STREAMS)]
    opened = [await asyncio.open_connection("127.0.0.1", here.port) for _ in range(STREAMS)]
    try:
        for (reader, writer), asked in zip(opened, request, strict=True):
            writer.write(asked)
            await reader.readuntil(b"event: position")
        held, spent, began = here.rss, here.cpu, time.perf_counter()
        await asyncio.sleep(seconds)
        idle = (here.cpu - spent) / (time.perf_counter() - began)
        found = await _beside(here, f"slim beside {STREAMS} idle streams", seconds)
    finally:
        for _, writer in opened:
            writer.close()
    return {**found, "kib_a_stream": round(1024 * (held - before) / STREAMS, 1), "idle_core": round(idle, 3)}


async def _trickle(here: World, stop: asyncio.Event) -> None:
    while not stop.is_set():
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", here.port)
            for byte in here.slim(1):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(TRICKLE_SECONDS)
                if stop.is_set():
                    break
            writer.close()
        except OSError:
            await asyncio.sleep(TRICKLE_SECONDS)


async def _beside(here: World, name: str, seconds: float) -> Line:
    clients = await connect(here.port, CONNECTIONS)
    before = here.cpu
    found: Measured = await at_a_pace(clients, here.slim, READS, seconds)
    spent = here.cpu - before
    for client in clients:
        client.close()
    return {
        "what": name,
        "per_s": round(len(found.waits) / found.seconds),
        "answered": round(found.statuses.get(200, 0) / len(found.waits), 4),
        "p50_ms": found.milliseconds(50),
        "p99_ms": found.milliseconds(99),
        "core": round(spent / found.seconds, 2),
        "rss_mib": round(here.rss),
    }
