"""`sager serve` as a process, with a worker behind it: what people change over HTTP, and what they are told of it."""

import json
import urllib.request
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from schemas import SkillDiff
from streams.http import tokens
from streams.local.broker import free_port
from tests.harness import Harness
from tests.patience import PATIENCE_SECONDS
from tests.probes import ask

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]


def post(port: int, token: str, **command: Any) -> tuple[int, dict[str, Any]]:
    """Status and body; status 0 where nobody answers yet."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/users/ann/commands",
        json.dumps({"domain": "films", **command}).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(asked, timeout=PATIENCE_SECONDS) as reply:
            return reply.status, json.load(reply)
    except HTTPError as refusal:
        with refusal:
            return refusal.code, json.load(refusal)
    except URLError:
        return 0, {}


def test_a_change_is_carried_out_in_the_name_of_its_token(harness: Harness) -> None:
    advocate, known = tokens.new("the advocate", ["change-user", "read-user"], "*", None)
    own, of_ann = tokens.new("ann's app", ["change-user"], "ann", None)
    file = harness.settings.data_dir / "tokens.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(tokens.as_toml(known) + tokens.as_toml(of_ann))
    hasty, port, health = free_port(), free_port(), free_port()
    harness.start("serve", "hasty", http_tokens=file, http_port=hasty, http_wait_seconds=0.2)
    server = harness.start("serve", http_tokens=file, http_port=port, http_wait_seconds=60, metrics_port=health)
    line = {"dimension": "genre", "value": "film noir"}

    for each in (hasty, port):
        harness.until(lambda _, each=each: post(each, "")[0] == 401, "the API to answer")
    answers: list[tuple[int, dict[str, Any]]] = []

    def accepted(_: object) -> bool:
        answers.append(post(hasty, advocate, action="add", line=line, reason="so said"))
        return answers[-1][0] != 503

    harness.until(accepted, "the topics to be read")
    status, sent = answers[-1]
    assert (status, sent["carried_out"]) == (202, False), "no worker runs yet"
    assert ask(health, "/ready") == (503, {"ready": False})

    worker = harness.worker()
    [first] = harness.count(SkillDiff, 1).diffs
    assert (first.event_id, first.reasoned_by.reasoner) == (sent["event_id"], "command by the advocate")

    status, pinned = post(port, own, action="pin", attribute_id=first.changes[0].attribute_id)
    assert (status, pinned["version"], pinned["diff"]) == (200, 2, None), "who may not read is not told the lines"
    assert harness.count(SkillDiff, 2).diffs[1].reasoned_by.reasoner == "command by ann's app"
    status, refused = post(port, advocate, action="pin", attribute_id="preference:genre:nothing")
    assert (status, [each["why"] for each in refused["refused"]]) == (409, ["unknown-attribute"])
    status, frozen = post(port, advocate, action="freeze")
    assert (status, frozen["diff"]["frozen"]) == (200, True)

    assert [harness.stop(process) for process in (server, worker)] == [0, 0]
    assert "ann" not in (harness.settings.data_dir / "serve.log").read_text()
