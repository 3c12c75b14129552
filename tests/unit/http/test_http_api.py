"""The API over real HTTP, in front of a real snapshot: who gets what, and what everybody else is told."""

import asyncio
import json
import logging
import re
import sys
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client import generate_latest

from streams.http import rights
from streams.http.api import query_snapshot
from streams.http.openapi import document
from streams.http.problems import Problem
from streams.http.skills import command_of
from streams.http.tokens import USER_SCOPES, Scope
from streams.settings import Settings
from tests.unit.http.http_world import DOMAINS, VERSIONS, Served, Tokens, history, publish, settings_of

SECRET_USER = "whom-no-log-may-name"
COMMANDS = "/v1/users/ann/commands"
ANN, BOB = "/v1/users/ann/skills", "/v1/users/bob/skills"


@pytest.fixture
def file(tmp_path):
    return Tokens(tmp_path)


@pytest.fixture
def api(file):
    with Served(settings_of(file)) as served:
        yield served


def assert_problem(reply, status):
    assert reply.status == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["cache-control"] == "no-store"
    assert (reply.body["status"], reply.body["title"]) == (status, HTTPStatus(status).phrase)
    assert "Traceback" not in reply.text


# --- what there is


def test_skills_and_their_log_come_from_the_snapshot(api, file):
    token = file.make("read-all")

    skills = api.request("/v1/users/ann/skills", token)
    [films] = api.request("/v1/users/ann/skills?domain=films", token).body["skills"]
    newest = api.request("/v1/users/ann/log?domain=books&last=2", token)

    assert skills.headers["cache-control"] == "no-store"
    assert [skill["domain"] for skill in skills.body["skills"]] == list(DOMAINS)
    assert "last_diff" not in films
    assert films == skills.body["skills"][1]
    assert [line["value"] for line in films["attributes"]] == ["number 0", "number 1", "number 2"]
    assert [diff["version"] for diff in newest.body["diffs"]] == [VERSIONS - 1, VERSIONS]
    assert {diff["reasoned_by"]["reasoner"] for diff in newest.body["diffs"]} == {"command by advocate"}
    assert len(api.request("/v1/users/ann/log", token).body["diffs"]) == len(DOMAINS) * VERSIONS
    assert api.request("/v1/token", token).body == {
        "name": "console",
        "scopes": ["read-all"],
        "user": None,
        "expires": None,
    }


def test_a_newer_snapshot_is_read_unless_it_is_another_tenants(file, tmp_path):
    own = publish(tmp_path / "own.duckdb", users=("ann",))
    token = file.make("read-all")
    with Served(settings_of(file, duckdb=own)) as api:
        assert api.request(BOB, token).status == 404
        publish(own, users=("ann", "bob"))
        assert api.request(BOB, token).status == 200
        publish(own, prefix="other.")
        assert_problem(api.request(BOB, token), 503)
        own.unlink()
        assert_problem(api.request(BOB, token), 503)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_no_snapshot_stays_open_after_a_query(tmp_path):
    own = publish(tmp_path / "own.duckdb", users=("ann",))

    def users_of(con):
        return con.execute("SELECT DISTINCT user_id FROM skills").fetchall()

    assert query_snapshot(Settings(duckdb=own), users_of) == [("ann",)]
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert not [link for link in links if link.startswith(str(tmp_path))]


# --- who gets it


ROUTES = [
    (method.upper(), path, [set(each["bearer"]) for each in operation["security"]])
    for path, operations in document()["paths"].items()
    for method, operation in operations.items()
]


@pytest.mark.parametrize("scope", list(Scope))
def test_each_scope_opens_its_own_endpoints_for_its_user_only(api, file, monkeypatch, scope):
    monkeypatch.setattr(rights, "_export_to_file", lambda *_: None)
    token = file.make(scope, user="*" if scope in USER_SCOPES else None)
    of_bob = file.make(scope, user="bob") if scope in USER_SCOPES else ""

    for method, path, needed in ROUTES:
        # A body that asks for nothing is refused only once the token has been found good.
        here = path.format(user="ann", domain="films", attribute="x").replace("/card", "/card?format=text")
        body = b"{}" if method == "POST" else None
        allowed = any(scopes <= {scope} for scopes in needed)
        assert (api.request(here, token, method, body).status != 403) is allowed, path
        if of_bob and ("{user}" in path or path == "/v1/slim/stream"):
            assert api.request(here, of_bob, method, body).status == 403, path
        assert api.request(here, "", method, body).status == 401, path


def test_a_users_token_cannot_tell_whether_other_users_exist(api, file):
    token = file.make("read-user", "change-user", user="ann")

    there, nowhere = api.request("/v1/users/bob/skills", token), api.request("/v1/users/nobody/skills", token)

    assert_problem(there, 403)
    assert there.text == nowhere.text
    assert api.request("/v1/users/bob/commands", token, "POST", b"{}").status == 403
    assert api.request("/v1/users/%61nn/skills", token).status == 200, "the same name, written otherwise"
    assert api.request("/v1/users/ann%2F..%2Fbob/skills", token).status == 403
    assert [api.request(each, file.make("read-user", user="*")).status for each in (ANN, BOB)] == [200, 200]


def test_a_request_without_a_valid_token_gets_401_on_every_path(api, file):
    good = file.make("read-all")
    expired = file.make("read-all", expires=datetime(2026, 1, 1, tzinfo=UTC))

    for path in (ANN, "/nowhere"):
        reply = api.request(path)
        assert_problem(reply, 401)
        assert reply.headers["www-authenticate"] == "Bearer"
    for wrong in (expired, good[:-1], "sager_", "x" * 5_000):
        reply = api.request(ANN, wrong)
        assert_problem(reply, 401)
        assert reply.headers["www-authenticate"].startswith("Bearer")
    assert api.request(f"{ANN}?access_token={good}").status == 401
    assert api.request(ANN, Authorization=f"Basic {good}").status == 401
    assert api.request(ANN, Authorization=f"bearer {good}").status == 200


def test_a_token_is_revoked_without_a_restart(api, file):
    token, other = file.make("read-all"), file.make("read-all")
    assert api.request(ANN, token).status == 200

    file.revoke(token)
    assert [api.request(ANN, each).status for each in (token, other)] == [401, 200]
    file.write("nonsense")
    assert_problem(api.request(ANN, other), 503)


# --- how often


def test_a_client_over_its_rate_gets_429_with_the_time_to_wait(file):
    limited = settings_of(file, http_rate=0.1, http_burst=2, http_failures=3)
    token, other = file.make("operate"), file.make("operate")
    with Served(limited) as api:
        told = [api.request("/v1/token", token) for _ in range(3)]
        failed = [api.request("/v1/token", "sager_guess") for _ in range(5)]
        assert api.request("/v1/token", other).status == 200, "whose token is good is not kept out by others' failures"

    assert [reply.status for reply in told] == [200, 200, 429]
    assert_problem(told[-1], 429)
    assert 9 <= int(told[-1].headers["retry-after"]) <= 11
    assert [reply.status for reply in failed] == [401] * 3 + [429] * 2
    assert int(failed[-1].headers["retry-after"]) >= 1


# --- what is refused


def test_unknown_and_invalid_requests_get_a_problem(api, file):
    token = file.make("read-all", "change-user", "operate", user="*")

    for path in ("/v1/users/nobody/skills", f"{ANN}?domain=music", "/v1/users/nobody/log", "/v1/users", "/v2"):
        assert_problem(api.request(path, token), 404)
    for path in (
        f"/v1/users/{'x' * 257}/skills",
        "/v1/users/a%00b/skills",
        f"{ANN}?domain=No%20Domain",
        "/v1/users/ann/log?last=0",
        "/v1/users/ann/log?last=1000000",
        "/v1/users/ann/log?last=many",
    ):
        assert_problem(api.request(path, token), 422)
    wrong_method = api.request(ANN, token, "DELETE")
    assert_problem(wrong_method, 405)
    assert "GET" in wrong_method.headers["allow"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"[" * 10_000, 400),
        (b"[]", 422),
        (b'{"action": "pin", "domain": "films"}', 422),
        (b'{"action": "destroy", "domain": "films"}', 422),
        (b'{"action": "freeze", "domain": "FILMS"}', 422),
        (b'{"action": "roll-back", "domain": "films"}', 422),
        (b'{"action": "roll-back", "domain": "films", "to_version": 99}', 409),
        (b'{"reason": "' + b"x" * 20_000 + b'"}', 413),
    ],
)
def test_an_invalid_command_is_refused(api, file, body, status):
    reply = api.request(COMMANDS, file.make("change-user", user="ann"), "POST", body)

    assert_problem(reply, status)
    assert "Value error" not in reply.text


@pytest.mark.parametrize("field", ["actor", "user_id", "event_id", "occurred_at", "lines", "schema_version"])
def test_a_body_cannot_set_the_fields_of_the_server(api, file, field):
    body = {"action": "freeze", "domain": "films", field: "somebody else"}

    reply = api.request(COMMANDS, file.make("change-user", user="ann"), "POST", json.dumps(body).encode())

    assert_problem(reply, 422)
    assert [each["what"] for each in reply.body["errors"]] == ["Extra inputs are not permitted"]


class ApiOfLog:
    def __init__(self, diffs):
        self.diffs = diffs

    async def query(self, token, do):
        return self.diffs


def test_a_command_names_its_token_and_a_roll_back_reads_its_lines_from_the_log():
    diffs = history("ann", "films")[1]
    body = {"action": "roll-back", "domain": "films", "to_version": 1, "reason": "so wished"}

    made = asyncio.run(command_of(ApiOfLog(diffs), SimpleNamespace(name="console"), "ann", body))

    assert (made.user_id, made.actor, made.reason) == ("ann", "console", "so wished")
    assert [line.value for line in made.lines or ()] == ["number 0"]
    with pytest.raises(Problem):
        asyncio.run(command_of(ApiOfLog([]), SimpleNamespace(name="console"), "ann", body))


# --- what is told to nobody


def test_neither_users_nor_tokens_are_in_logs_or_metrics(api, file, caplog, monkeypatch):
    def fail(con, user, domain=None):
        raise ValueError(f"a defect that quotes {user}")

    caplog.set_level(logging.DEBUG)
    token = file.make("read-all", "change-user", user="*", name="unmistakable")
    path = f"/v1/users/{SECRET_USER}"

    statuses = [
        api.request(f"{path}/skills", token).status,
        api.request(f"{path}/commands", token, "POST", b"{}").status,
        api.request(path).status,
    ]
    monkeypatch.setattr("streams.analytics.read.skill", fail)
    broken = api.request(f"{path}/skills", token)

    assert statuses == [404, 422, 401]
    assert_problem(broken, 500)
    told = caplog.text + generate_latest().decode() + broken.text
    assert 'sager_http_requests_total{method="GET",route="/v1/users/{user}/skills",status="404"}' in told
    assert "/v1/users/{user}/skills failed with ValueError" in told
    assert [secret for secret in (SECRET_USER, token, token[-20:], "unmistakable") if secret in told] == []


# --- paths, queries and types of bodies


@pytest.mark.parametrize(
    "path",
    [
        "/v1/users/ann/../bob/skills", "//v1/users/bob/skills", "/v1/users/ann%2f..%2fbob/skills",
        "/v1/users/ann/%2e%2e/bob/skills", "/v1/users/bob;x=1/skills", "/v1/users/bob/skills/", "/V1/users/bob/skills",
        "/v1/users/bob%00/skills", "/v1/users/%2562ob/skills", "/v1/users/BOB/skills",
        "/v1/users/%62ob/skills", "/v1/users/%ef%bd%82ob/skills", "/v1/users/%ff/skills", "/v1/users/%zz/skills",
    ],
)  # fmt: skip
def test_no_spelling_of_a_path_reads_another_user(api, file, path):
    reply = api.request(path, file.make("read-user", user="ann"), **{"X-Original-URL": "/v1/users", "X-User": "bob"})

    assert reply.status in (400, 403, 404, 422)
    assert "bob" not in reply.text


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_of_another_type_is_refused(api, file, kind):
    token = file.make("change-user", user="ann")

    assert api.request(COMMANDS, token, "POST", b"{}", **{"Content-Type": kind}).status == 415


def test_no_page_of_another_site_can_read_a_response(api, file):
    token, origin = file.make("read-all"), {"Origin": "https://evil.example"}
    preflight = api.request(ANN, "", "OPTIONS", **origin, **{"Access-Control-Request-Method": "GET"})
    rebound = api.request(ANN, "", Host="evil.example", Cookie=f"token={token}", **origin)
    own = api.request(ANN, token, **origin)

    assert (preflight.status, rebound.status, own.status) == (401, 401, 200)
    for reply in (preflight, rebound, own):
        assert not [name for name in reply.headers if name.startswith("access-control")]
        assert (reply.headers["cache-control"], reply.headers["x-content-type-options"]) == ("no-store", "nosniff")


# --- the API's document


def test_the_openapi_document_is_public_and_equals_the_exported_one(api):
    reply = api.request("/openapi.json")

    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.body == json.loads(json.dumps(document()))


def test_the_documentation_page_loads_nothing_from_other_hosts(api):
    page = api.request("/docs")

    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in page.headers["content-security-policy"]
    parts = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(parts) == 6
    for part in parts:
        assert part.startswith("/"), part
        reply = api.request(part)
        assert (reply.status, reply.headers["x-content-type-options"]) == (200, "nosniff"), part
    assert "<script>" not in page.text
    assert "style=" not in page.text


@pytest.mark.parametrize("path", ["/docs/", "/docs/..", "/docs/%2e%2e/app.py", "/docs/../app.py", "/docs/docs.js/x"])
def test_no_other_file_is_served(api, path):
    assert api.request(path).status == 404
