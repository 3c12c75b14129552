"""Events in over HTTP, slim skills and rankings out over HTTP: `sager serve` with a worker behind it, and no Kafka."""

import json
import urllib.request
from datetime import UTC, datetime
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from schemas import Correction, Ranking, Selection, SkillDiff
from streams.http import tokens
from streams.local.broker import free_port
from tests.harness import Harness
from tests.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

SLIM = "/v1/users/ann/domains/films/slim"


class Client:
    """Any HTTP client."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body; status 0 where nobody answers yet."""
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(asked, timeout=WAIT_SECONDS) as reply:
                return reply.status, json.load(reply)
        except HTTPError as refusal:
            with refusal:
                return refusal.code, json.load(refusal)
        except URLError:
            return 0, {}


def item(name: str, genre: str) -> dict[str, Any]:
    return {"item_id": name, "title": name.title(), "metadata": {"genres": [genre]}}


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
    file = harness.settings.data_dir / "tokens.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(tokens.token_toml(known))
    port = free_port()
    api = Client(port, secret)
    worker = harness.worker()
    server = harness.start("serve", http_tokens=file, http_port=port, http_wait_seconds=60)
    harness.until(lambda _: api.ask(SLIM)[0] == 404, "the API to have read its topics")

    batch = {"events": choices(3)}
    for _ in range(2):  # in doubt, it is sent again as it is
        status, taken = api.ask("/v1/events", batch)
        assert (status, taken["accepted"], taken["refused"]) == (200, 6, 0)
    assert harness.count(Selection, 6).dead_letters == []
    assert [diff.version for diff in harness.count(SkillDiff, 3).diffs] == [1, 2, 3]
    harness.until(lambda _: "sci-fi" in api.ask(SLIM)[1].get("text", ""), "the slim skill")

    status, ranking = api.ask("/v1/rank", {"user_id": "ann", "domain": "films", "candidates": SHOWN, "clarify": True})
    assert (status, ranking["candidates"][0]["item_id"], ranking["ranked_by"]) == (200, "arrival", "sager")
    status, heard = api.ask("/v1/users/ann/domains/films/corrections", {"text": "no sci-fi please", "items": SHOWN})
    assert (status, heard["understood"], heard["version"]) == (200, True, 4)
    assert [each["says"] for each in heard["stated"]] == ["avoids sci-fi (genre)"]
    status, ranking = api.ask("/v1/rank", {"user_id": "ann", "domain": "films", "candidates": SHOWN})
    assert ranking["candidates"][-1]["item_id"] == "arrival", "the next ranking goes by what was said"

    harness.until(lambda out: len({each.ranking_id for each in out.values(Ranking)}) == 5, "all rankings")
    outputs = harness.count(Correction, 1)
    assert (len(outputs.diffs), outputs.dead_letters) == (4, [])
    assert [harness.stop(process) for process in (server, worker)] == [0, 0]
    assert "ann" not in (harness.settings.data_dir / "serve.log").read_text()
