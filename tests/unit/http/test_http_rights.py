"""What people may have, over real HTTP: a line explained, forgetting in two steps, exporting."""

import gzip
import io
import json
from collections import Counter
from typing import Any, BinaryIO

import pytest
from pydantic_core import to_json

from schemas import ForgetRequest, Receipt, encode, subject_digest
from streams.http import rights
from streams.http.api import Api
from streams.rights import exporting, importing
from streams.rights.previews import DataInventory, ErasureReach, StoreErasure
from tests import analytics_world
from tests.builders import NOW
from tests.unit.http.http_world import Served, Tokens, history, settings_of

EVERYTHING = {"everything": True}


@pytest.fixture
def file(tmp_path):
    return Tokens(tmp_path)


@pytest.fixture
def api(file):
    with Served(settings_of(file, duckdb=analytics_world.published(), bootstrap="127.0.0.1:1")) as served:
        yield served


def post(api: Served, path: str, token: str, body: dict[str, Any]) -> Any:
    return api.request(path, token, "POST", json.dumps(body).encode())


# --- explaining


def test_a_line_is_explained_as_on_the_command_line(api, file):
    user, domain = "person-003", "books"
    line = analytics_world.build().skills[user, domain].attributes[0]

    reply = api.request(f"/v1/users/{user}/domains/{domain}/lines/{line.attribute_id}", file.make("read-all"))

    assert reply.status == 200
    assert reply.body["now"]["attribute_id"] == line.attribute_id
    assert line.value in reply.body["words"]
    assert [step["sentence"] for step in reply.body["steps"] if not step["sentence"]] == []
    assert {step["version"] for step in reply.body["steps"]}


@pytest.mark.parametrize("path", ["person-003/domains/books/lines/nothing", "person-00/domains/books/lines/x"])
def test_an_unknown_line_gets_404_without_naming_other_users(api, file, path):
    reply = api.request(f"/v1/users/{path}", file.make("read-all"))

    assert reply.status == 404
    assert "person" not in reply.text


# --- forgetting


@pytest.fixture
def forgets(api, monkeypatch) -> list[ForgetRequest]:
    sent: list[ForgetRequest] = []

    def counted(_: object, user: str, domain: str | None, line: str | None) -> ErasureReach:
        held = DataInventory(user, stores={"topic selections": Counter({"books": 2})}, unread=["cards"])
        return ErasureReach(held, [StoreErasure(store="topic selections", records=2, fate="goes")], "")

    async def send_and_wait(_: Api, token: object, request: ForgetRequest, *__: object) -> Receipt:
        sent.append(request)
        return Receipt(event_id=request.event_id, occurred_at=NOW, subject=subject_digest(request.user_id))

    monkeypatch.setattr(rights, "preview_erasure", counted)
    monkeypatch.setattr(Api, "send_and_wait", send_and_wait)
    api.api.cache.is_ready = True
    return sent


def test_erasure_has_a_preview_and_requires_the_users_id(api, file, forgets):
    token = file.make("forget-user", user="ann", name="ann's app")

    preview = post(api, "/v1/users/ann/forget", token, EVERYTHING)
    assert (preview.status, forgets) == (200, [])
    assert preview.body["goes"] == [{"store": "topic selections", "records": 2, "fate": "goes"}]
    assert (preview.body["known"], preview.body["domains"], preview.body["unread"]) == (True, ["books"], ["cards"])
    assert post(api, "/v1/users/ann/forget", token, EVERYTHING | {"confirm": "bob"}).status == 409
    assert forgets == []

    done = post(api, "/v1/users/ann/forget", token, EVERYTHING | {"confirm": "ann"})

    assert (done.status, done.body["carried_out"]) == (200, True)
    assert done.body["receipt"]["subject"] == subject_digest("ann")
    assert [(each.user_id, each.domain, each.actor) for each in forgets] == [("ann", None, "ann's app")]


# --- exporting


def an_export() -> bytes:
    header = exporting.Header(user_id="ann", prefix="sager.", exported_at=NOW)
    skill = {"topic": "skills", "value": history("ann", "books")[0]}
    return gzip.compress(b"\n".join([encode(header), to_json(skill), b'{"end": {}}', b""]), mtime=0)


def test_an_export_is_one_file(api, file, monkeypatch):
    def export(_: object, user: str, out: BinaryIO) -> exporting.ExportCounts:
        out.write(an_export())
        return exporting.ExportCounts({"skills": 1} if user == "ann" else {})

    monkeypatch.setattr(exporting, "export", export)

    reply = api.request("/v1/users/ann/export", file.make("read-user", user="ann"))

    assert (reply.status, reply.headers["content-type"]) == (200, "application/gzip")
    assert importing.load(io.BytesIO(reply.raw)).header.user_id == "ann"
    assert api.request("/v1/users/bob/export", file.make("read-user", user="bob")).status == 404
