"""`sager serve` with real processes: events, rankings and corrections; explanations, export, erasure and webhooks."""

import gzip
import json
import socket
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from schemas import Correction, Ranking, Selection, SkillDiff, SlimSkill, subject_digest
from streams.http import tokens
from streams.local.broker import free_port
from streams.webhooks.messages import CHANGED, FORGOTTEN, RESET
from tests.harness import Harness
from tests.waiting import WAIT_SECONDS
from tests.webhook_receiver import SECRET, Receiver

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

SLIM = "/v1/users/ann/domains/films/slim"


def ask(port: int, token: str, path: str, body: Any = None) -> tuple[int, bytes]:
    """Return status and body; status 0 if no server answers yet."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as reply:
            return reply.status, reply.read()
    except HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read()
    except URLError:
        return 0, b"{}"


def item(name: str, genre: str) -> dict[str, Any]:
    return {"item_id": name, "title": name.title(), "metadata": {"genres": [genre]}}


CHOICES = 9  # enough to prove a taste among three items
SHOWN = [item("arrival", "Sci-Fi"), item("up", "Animation"), item("heat", "Crime")]


def choices(count: int) -> list[dict[str, Any]]:
    now, found = datetime.now(UTC).isoformat(), []
    for number in range(count):
        name = f"r{number}"
        common = {"occurred_at": now, "user_id": "ann", "ranking_id": name}
        chosen = {**common, "event_id": f"s{number}", "item_id": "arrival"}
        shown = {**common, "event_id": name, "domain": "films", "candidates": SHOWN}
        found += [{"topic": "selections", "event": chosen}, {"topic": "rankings", "event": shown}]
    return found


def test_events_sent_over_http_are_learned_once(harness: Harness) -> None:
    secret, known = tokens.new_token("app", ["produce", "read-slim", "change-user"], "*", None)
    file = private(harness.settings.data_dir / "tokens.toml", tokens.token_toml(known))
    port = free_port()

    def call(path: str, body: Any = None) -> tuple[int, Any]:
        status, reply = ask(port, secret, path, body)
        return status, json.loads(reply)

    worker = harness.worker()
    server = harness.start("serve", http_tokens=file, http_port=port, http_wait_seconds=60)
    harness.until(lambda _: call(SLIM)[0] == 404, "the API to have read its topics")

    batch = {"events": choices(CHOICES)}
    for _ in range(2):  # in doubt, it is sent again as it is
        status, taken = call("/v1/events", batch)
        assert (status, taken["accepted"], taken["refused"]) == (200, 2 * CHOICES, 0)
    assert harness.count(Selection, 2 * CHOICES).dead_letters == []
    assert [diff.version for diff in harness.count(SkillDiff, CHOICES).diffs] == [*range(1, CHOICES + 1)]
    harness.until(lambda _: "sci-fi" in call(SLIM)[1].get("text", ""), "the slim skill")

    status, ranking = call("/v1/rank", {"user_id": "ann", "domain": "films", "candidates": SHOWN, "clarify": True})
    assert (status, ranking["candidates"][0]["item_id"], ranking["ranked_by"]) == (200, "arrival", "sager")
    status, heard = call("/v1/users/ann/domains/films/corrections", {"text": "no sci-fi please", "items": SHOWN})
    assert (status, heard["understood"], heard["version"]) == (200, True, CHOICES + 1)
    assert [each["says"] for each in heard["stated"]] == ["avoids sci-fi (genre)"]
    status, ranking = call("/v1/rank", {"user_id": "ann", "domain": "films", "candidates": SHOWN})
    assert ranking["candidates"][-1]["item_id"] == "arrival", "the next ranking goes by what was said"

    harness.until(lambda out: len({each.ranking_id for each in out.values(Ranking)}) == CHOICES + 2, "all rankings")
    outputs = harness.count(Correction, 1)
    assert (len(outputs.diffs), outputs.dead_letters) == (CHOICES + 1, [])
    assert [harness.stop(process) for process in (server, worker)] == [0, 0]
    assert "ann" not in (harness.settings.data_dir / "serve.log").read_text()


USER = "https://people.example/ann b"
PATH = "/v1/users/https%3A%2F%2Fpeople.example%2Fann%20b"


def private(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(text)
    return file


@pytest.mark.thorough
def test_explanations_export_and_erasure_work_over_http(harness: Harness) -> None:
    token, known = tokens.new_token("the desk", ["read-user", "change-user", "forget-user"], "*", None)
    folder, port = harness.settings.data_dir, free_port()

    def change(user_path: str, value: str) -> None:
        line = {"dimension": "genre", "value": value}
        status, _ = ask(port, token, f"{user_path}/commands", {"domain": "films", "action": "add", "line": line})
        assert status == 200

    with Receiver() as shop, socket.socket() as down:
        down.bind(("127.0.0.1", 0))  # it never listens: connections are refused
        text = f'[[endpoint]]\nname = "shop"\nurl = "{shop.url}"\nsecret = "{SECRET}"\n'
        text += f'[[endpoint]]\nname = "down"\nurl = "http://127.0.0.1:{down.getsockname()[1]}/"\nsecret = "{SECRET}"\n'
        hooks = private(folder / "webhooks.toml", text)
        harness.start(
            "serve", http_tokens=private(folder / "tokens.toml", tokens.token_toml(known)), http_port=port,
            http_wait_seconds=60, http_rate=1000,
        )  # fmt: skip
        webhooks = harness.start("webhooks", "first", webhooks=hooks)
        harness.worker()
        harness.has_started("worker")
        harness.until(lambda _: ask(port, "", PATH)[0] == 401, "the API to answer")

        change(PATH, "film noir")
        harness.until(lambda _: len(shop.of(CHANGED)) == 1, "the shop to be told")
        assert shop.messages[0]["type"] == RESET
        assert shop.of(CHANGED)[0]["user_id"] == USER
        assert shop.of(CHANGED)[0]["likes"] == ["film noir"]

        # A crash: what changes meanwhile is told after the next start, the newest only.
        harness.kill(webhooks)
        for value in ("westerns", "silent films"):
            change(PATH, value)
        change("/v1/users/bob", "opera films")
        harness.until(lambda out: len(out.values(SlimSkill)) >= 4, "slim skills")
        told = len(shop.messages)
        harness.start("webhooks", "second", webhooks=hooks)
        harness.until(lambda _: {each["user_id"] for each in shop.of(CHANGED)} == {USER, "bob"}, "both to be told")
        own = [each for each in shop.messages[told:] if each["data"].get("user_id") == USER]
        assert [set(each["data"]["likes"]) for each in own] == [{"film noir", "westerns", "silent films"}]

        status, packed = ask(port, token, f"{PATH}/export")
        lines = gzip.decompress(packed)
        assert (status, b'"skill-diffs"' in lines, b"bob" in lines) == (200, True, False)

        # Forgotten, and told so.
        status, preview = ask(port, token, f"{PATH}/forget", {"everything": True})
        told = json.loads(preview)
        assert (status, told["known"], told["domains"]) == (200, True, ["films"])
        assert {"topic skill-diffs", "topic slim-skills"} <= {each["store"] for each in told["goes"]}
        status, receipt = ask(port, token, f"{PATH}/forget", {"everything": True, "confirm": USER})
        assert (status, json.loads(receipt)["receipt"]["subject"]) == (200, subject_digest(USER))
        harness.until(lambda _: shop.of(FORGOTTEN) == [{"user_id": USER, "domain": "films"}], "the shop to be told so")
        status, preview = ask(port, token, f"{PATH}/forget", {"everything": True})
        held = {each["store"] for each in json.loads(preview)["goes"]}
        assert held <= {"topic receipts"}, "what is left names nobody"
    assert USER not in harness.logs()
    assert SECRET not in harness.logs()
