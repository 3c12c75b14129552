"""A server on a core of its own, with slim skills on its topics, and the broker and the clients on the others."""

import argparse
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError

import orjson

from benchmarks.processes import cpu_seconds
from benchmarks.surroundings import deployment, rss_mib
from schemas import SlimSkill, compound_key, encode
from streams.http import tokens
from streams.kafka import topics
from streams.kafka.clients import partition_of
from streams.kafka.producer import Outbox
from streams.local.broker import free_port
from streams.local.launch import child
from streams.settings import Settings

DOMAIN = "films"
START_SECONDS = 60.0
CANDIDATES = 10
NO_LIMIT = 1_000_000


@dataclass
class World:
    """The server under load.

    Attributes:
        port: where it answers.
        process: the server.
        token: good for everything.
        users: how many have a slim skill.
        log: its output.
    """

    port: int
    process: "subprocess.Popen[bytes]"
    token: str
    users: int
    log: Path

    @property
    def cpu(self) -> float:
        """CPU seconds of the server so far."""
        return cpu_seconds(self.process.pid)

    @property
    def rss(self) -> float:
        """Its resident memory, in MiB."""
        return rss_mib(self.process.pid)

    def get(self, path: str, *headers: str) -> bytes:
        """A request without a body."""
        lines = [f"GET {path} HTTP/1.1", "Host: a", f"Authorization: Bearer {self.token}", *headers, "", ""]
        return "\r\n".join(lines).encode()

    def post(self, path: str, body: Any) -> bytes:
        """A request with a JSON body."""
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        lines = [
            f"POST {path} HTTP/1.1",
            "Host: a",
            f"Authorization: Bearer {self.token}",
            "Content-Type: application/json",
            f"Content-Length: {len(raw)}",
            "",
            "",
        ]
        return "\r\n".join(lines).encode() + raw

    def slim(self, number: int) -> bytes:
        """A read of a user's slim skill."""
        return self.get(f"/v1/users/user-{number * 7919 % self.users}/domains/{DOMAIN}/slim")

    def events(self, number: int, count: int) -> bytes:
        """A batch of rankings of ten items and the selections from them, by turns."""
        begin = number * count
        return self.post("/v1/events", {"events": [self._event(begin + each) for each in range(count)]})

    def _event(self, number: int) -> dict[str, Any]:
        pair, is_answer = divmod(number, 2)
        common = {
            "event_id": f"e-{number}",
            "occurred_at": datetime.now(UTC).isoformat(),
            "user_id": f"user-{pair % 997}",
        }
        if is_answer:
            return {"topic": "selections", "event": {**common, "ranking_id": f"r-{pair}", "item_id": "item-3"}}
        shown = [
            {"item_id": f"item-{each}", "title": f"Title {each}",
             "metadata": {"genres": ["Sci-Fi", "Drama"], "year": 1990 + each, "director": "Jane Doe"}}
            for each in range(CANDIDATES)
        ]  # fmt: skip
        return {
            "topic": "rankings",
            "event": {**common, "domain": DOMAIN, "ranking_id": f"r-{pair}", "candidates": shown},
        }


@contextmanager
def world(args: argparse.Namespace, folder: Path) -> Iterator[World]:
    """Start all of it; the server is pinned to one core, everything else to the others."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, set(cores[1:]) or set(cores))
    secret, known = tokens.new("benchmark", list(tokens.Scope), tokens.EVERYBODY, None)
    file = folder / "tokens.toml"
    file.touch(mode=0o600)
    file.write_text(tokens.as_toml(known.model_copy(update={"rate": NO_LIMIT})))
    port = free_port()
    served: dict[str, Any] = {
        "http_tokens": file,
        "http_port": port,
        "http_burst": NO_LIMIT,
        "http_connections": 4_096,
        "http_connections_per_address": 4_096,
    }
    with deployment(args, folder, **served) as settings:
        topics.ensure(settings)
        _fill(settings, args.users)
        os.sched_setaffinity(0, {cores[0]})  # what a child begins with
        process = child(["serve"], settings, folder / "serve.log")
        os.sched_setaffinity(0, set(cores[1:]) or set(cores))
        try:
            here = World(port, process, secret, args.users, folder / "serve.log")
            _wait(here)
            yield here
        finally:
            process.terminate()
            process.wait(30)


def _fill(settings: Settings, users: int) -> None:
    outbox = Outbox(settings)
    for number in range(users):
        slim = SlimSkill(
            event_id=f"c-{number}",
            occurred_at=datetime.now(UTC),
            user_id=f"user-{number}",
            domain=DOMAIN,
            skill_version=1,
            text="likes: sci-fi, drama | style: prefers 2010s",
            likes=("sci-fi", "drama"),
            style="prefers 2010s",
            tokens=12,
        )
        key, where = compound_key(slim.user_id, DOMAIN), partition_of(slim.user_id, settings.partitions)
        outbox.send(settings.topic(SlimSkill.TOPIC), key, encode(slim), where)
    outbox.flush(60, "slim skills")


def _wait(here: World) -> None:
    asked = urllib.request.Request(
        f"http://127.0.0.1:{here.port}/v1/users/user-{here.users - 1}/domains/{DOMAIN}/slim",
        headers={"Authorization": f"Bearer {here.token}"},
    )
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        try:
            with urllib.request.urlopen(asked, timeout=5):  # noqa: S310 - our own child's address  # nosec B310
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise SystemExit(f"the server does not answer: see {here.log}")
