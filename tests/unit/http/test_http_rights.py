"""What people may have, over real HTTP: a line explained, forgetting and importing in two steps, arms, dead letters."""

import io
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_json

from schemas import ForgetRequest, Receipt, subject_of
from streams.exceptions import BrokerUnreachable
from streams.http import rights
from streams.http.api import Api
from streams.rights import portable
from streams.rights.holdings import Holdings
from streams.rights.portable import archive
from streams.rights.preview import Goes, StoreGoes
from streams.settings import Settings
from tests import analytics_world
from tests.builders import NOW
from tests.unit.http.http_world import Served, Tokens, history

ZIP = {"Content-Type": "application/zip"}
EVERYTHING = {"everything": True}


@pytest.fixture
def file(tmp_path):
    return Tokens(tmp_path)


@pytest.fixture
def api(file, tmp_path):
    settings = Settings(
        duckdb=analytics_world.published(),
        http_tokens=file.path,
        data_dir=tmp_path,
        http_rate=1_000,
        http_burst=1_000,
        bootstrap="127.0.0.1:1",
    )
    with Served(settings) as served:
        yield served


def post(api: Served, path: str, token: str, body: dict[str, Any]) -> Any:
    return api.ask(path, token, "POST", json.dumps(body).encode())


# --- who may


@pytest.mark.parametrize(
    ("path", "method", "scope", "body"),
    [
        ("/v1/users/ann/domains/books/lines/x", "GET", {"read-user", "read-all"}, None),
        ("/v1/users/ann/export", "GET", {"read-user"}, None),
        ("/v1/users/ann/forget", "POST", {"forget-user"}, b"{}"),
        ("/v1/users/ann/import", "POST", {"change-user"}, b"PK"),
    ],
)
def test_each_takes_its_scope_for_its_user_and_no_other(api, file, monkeypatch, path, method, scope, body):
    def unreachable(*_: object, **__: object) -> None:
        raise BrokerUnreachable("no Kafka")

    monkeypatch.setattr(rights, "_exported", unreachable)
    for each in ("read-user", "read-all", "change-user", "forget-user", "produce", "read-slim", "operate"):
        about = None if each in ("read-all", "operate") else "ann"
        status = api.ask(path, file.make(each, user=about), method, body).status
        assert (status != 403) is (each in scope), each
        if about is not None and "/ann/" in path:
            assert api.ask(path, file.make(each, user="bob"), method, body).status == 403
    assert api.ask(path, "", method, body).status == 401


# --- explaining


def test_a_line_is_explained_as_the_command_line_does(api, file):
    user, domain = "person-003", "books"
    line = analytics_world.build().skills[user, domain].attributes[0]

    reply = api.ask(f"/v1/users/{user}/domains/{domain}/lines/{line.attribute_id}", file.make("read-all"))

    assert reply.status == 200
    assert reply.body["now"]["attribute_id"] == line.attribute_id
    assert line.value in reply.body["words"]
    assert [step["sentence"] for step in reply.body["steps"] if not step["sentence"]] == []
    assert {step["version"] for step in reply.body["steps"]}


@pytest.mark.parametrize("path", ["person-003/domains/books/lines/nothing", "person-00/domains/books/lines/x"])
def test_what_is_not_there_is_404_and_names_nobody_else(api, file, path):
    reply = api.ask(f"/v1/users/{path}", file.make("read-all"))

    assert reply.status == 404
    assert "person" not in reply.text


# --- forgetting


@pytest.fixture
def forgets(api, monkeypatch) -> list[ForgetRequest]:
    """What was sent; every request is carried out."""
    sent: list[ForgetRequest] = []

    def counted(_: object, user: str, domain: str | None, line: str | None) -> Goes:
        held = Holdings(user, topics={"selections": Counter({"books": 2})}, unread=["cards"])
        return Goes("", held, [StoreGoes(store="topic selections", records=2, fate="goes")], "", ())

    async def forget(_: Api, token: object, request: ForgetRequest) -> Receipt:
        sent.append(request)
        return Receipt(event_id=request.event_id, occurred_at=NOW, subject=subject_of(request.user_id))

    monkeypatch.setattr(rights, "goes", counted)
    monkeypatch.setattr(Api, "forget", forget)
    api.api.live._ready.set()
    return sent


def test_forgetting_has_a_preview_and_takes_the_users_id_again(api, file, forgets):
    token = file.make("forget-user", user="ann", name="ann's app")

    preview = post(api, "/v1/users/ann/forget", token, EVERYTHING)
    assert (preview.status, forgets) == (200, [])
    assert preview.body["goes"] == [{"store": "topic selections", "records": 2, "fate": "goes"}]
    assert (preview.body["known"], preview.body["domains"], preview.body["unread"]) == (True, ["books"], ["cards"])
    assert post(api, "/v1/users/ann/forget", token, EVERYTHING | {"confirm": "bob"}).status == 409
    assert forgets == []

    done = post(api, "/v1/users/ann/forget", token, EVERYTHING | {"confirm": "ann"})

    assert (done.status, done.body["carried_out"]) == (200, True)
    assert done.body["receipt"]["subject"] == subject_of("ann")
    assert [(each.user_id, each.domain, each.actor) for each in forgets] == [("ann", None, "ann's app")]


# --- importing


def an_export(folder: Path) -> bytes:
    """A zip file as /export answers it."""
    skill, _ = history("ann", "books")
    line = to_json({"partition": 0, "offset": 0, "sent_at": None, "key": "k", "value": skill})
    (folder / "topics").mkdir(parents=True)
    topic = archive.topic_file(folder, "skills")
    topic.write_bytes(line + b"\n")
    told = {"records": 1, "sha256": archive.digest_of(topic)}
    manifest = {"user_id": "ann", "prefix": "sager.", "exported_at": NOW.isoformat(), "topics": {"skills": told}}
    (folder / "manifest.json").write_text(json.dumps({"schema_version": 1, **manifest}))
    out = io.BytesIO()
    portable.pack(folder, out)
    return out.getvalue()


@pytest.fixture
def nobody_there(monkeypatch):
    monkeypatch.setattr("streams.rights.preview.skills", lambda _, user: Holdings(user))


def test_an_import_takes_a_preview_and_its_confirmation(api, file, tmp_path, monkeypatch, nobody_there):
    orders = []

    def take_in(
        _: Settings, bundle: portable.Bundle, user: str, order: portable.Order, seconds: float, **__: object
    ) -> Any:
        orders.append((bundle.manifest.user_id, user, order.actor, order.name("skill books")))
        return portable.Imported(diffs={"books": history("ann", "books")[1][0]})

    monkeypatch.setattr(portable, "take_in", take_in)
    token, body = file.make("change-user", user="anna", name="helper"), an_export(tmp_path / "x")

    preview = api.ask("/v1/users/anna/import", token, "POST", body, **ZIP)
    assert (preview.status, orders) == (200, [])
    assert preview.body["exported_from"] == "ann"
    assert preview.body["comes"] == [{"domain": "books", "lines": 3, "statements": 0, "replaces": None}]

    path = f"/v1/users/anna/import?confirmation={preview.body['confirmation']}"
    assert api.ask(path, token, "POST", an_export(tmp_path / "y") + b"\0", **ZIP).status == 409
    done, again = (api.ask(path, token, "POST", body, **ZIP) for _ in range(2))

    assert (done.status, done.body["carried_out"], done.body["skills"][0]["version"]) == (200, True, 1)
    assert again.body == done.body
    [(_, user, actor, name)] = orders
    assert (user, actor, len(name)) == ("anna", "helper", 16)


def zipped(_method: int = zipfile.ZIP_DEFLATED, **files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", _method) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"PK\x05\x06" + bytes(18),
        b"no zip",
        zipped(**{"../../etc/passwd": b"x"}),
        zipped(**{"manifest.json": b"{}"}),
        zipped(**{"manifest.json": b"[]", "topics/skills.jsonl": b"{}"}),
        zipped(**{f"tables/{n}.jsonl": b"" for n in range(400)}),
        zipped(zipfile.ZIP_BZIP2, **{"manifest.json": bytes(3_000_000)}),
        zipped(zipfile.ZIP_LZMA, **{"manifest.json": bytes(3_000_000)}),
        zipped(**{"manifest.jsön": b""}).replace("ö".encode(), b"\xff\xff"),
    ],
)  # fmt: skip
def test_a_hostile_archive_is_refused_and_leaves_nothing(api, file, body, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()

    reply = api.ask("/v1/users/ann/import", file.make("change-user", user="ann"), "POST", body, **ZIP)

    assert (reply.status, "zip file" in reply.text or "manifest" in reply.text) == (422, True)
    assert str(tmp_path) not in reply.text
    assert list((tmp_path / "temporary").iterdir()) == []
    assert api.ask("/v1/users/ann/import", file.make("change-user", user="ann"), "POST", b"{}").status == 415


def test_an_archive_that_unpacks_to_more_than_it_says_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 100_000)

    with pytest.raises(portable.NotPortable, match="more than"):
        portable.unpack(io.BytesIO(zipped(**{"manifest.json": bytes(200_000)})), tmp_path)


# --- exporting


def test_an_export_comes_as_one_file_and_stays_nowhere(api, file, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()

    def export(_: object, user: str, folder: Path) -> portable.Manifest:
        an_export(folder)
        return portable.Manifest.model_validate_json((folder / "manifest.json").read_text())

    monkeypatch.setattr(portable, "export", export)

    reply = api.ask("/v1/users/ann/export", file.make("read-user", user="ann"))

    assert (reply.status, reply.headers["content-type"]) == (200, "application/zip")
    assert sorted(zipfile.ZipFile(io.BytesIO(reply.raw)).namelist()) == ["manifest.json", "topics/skills.jsonl"]
    assert list((tmp_path / "temporary").iterdir()) == []
