"""Connections: malformed requests, slow clients, too many of them, TLS, metrics and health, over real sockets."""

import json
import logging
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.error import URLError

import pytest
from prometheus_client import REGISTRY
from typer.testing import CliRunner

from infra.kafka.secured import OpensslUnavailable, Secured
from streams.analytics.run import MaterializerHealth
from streams.cli import app
from streams.http.process_health import EVERY, serve
from streams.http.tokens import TokensUnusable
from streams.local.broker import free_port
from streams.local.children import environment
from streams.settings import Settings
from tests import waiting
from tests.unit.http.http_world import Raw, Served, Tokens, ask, settings_of
from tests.waiting import WAIT_SECONDS, until

HOST = b"Host: localhost\r\n"
GET = b"GET /v1/token HTTP/1.1\r\n" + HOST
POST = b"POST /v1/users/ann/commands HTTP/1.1\r\n" + HOST
CANARY = "sager_" + "Canary" * 7 + "x"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return Tokens(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="module")
def token(file):
    return file.make("read-all", "change-user", user="*")


@pytest.fixture(scope="module")
def api(file):
    with Served(settings_of(file)) as served:
        yield served


@pytest.fixture(scope="module")
def slow(file):
    with Served(settings_of(file, http_request_seconds=0.3, http_idle_seconds=0.4)) as served:
        yield served


def count(reason):
    return REGISTRY.get_sample_value("sager_http_refused_total", {"reason": reason}) or 0.0


def bearer(token):
    return f"Authorization: Bearer {token}\r\n".encode()


def answered(api, token):
    reply = ask(api.port, GET + bearer(token) + b"\r\n")
    return reply is not None and reply.status == 200


# --- malformed requests

# Each stands for a kind; the rest is h11's own business.
MALFORMED = {
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) + b"\r\n\r\n",
    "raw UTF-8 in the path": "GET /v1/users/zoë HTTP/1.1\r\n".encode() + HOST + b"\r\n",
    "two hosts": GET + HOST + b"\r\n",
    "a NUL": GET + b"X-One: a\0b\r\n\r\n",
    "two lengths": POST + b"Content-Length: 2\r\ncontent-length: 3\r\n\r\n{}",
    "a long path": b"GET /" + b"x" * 20_000,
    "headers without an end": GET + b"X-One: 1\r\n" * 2_000,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_request_gets_400_and_closes_the_connection(api, name, caplog):
    caplog.set_level(logging.DEBUG)
    before = count("malformed")
    with Raw(api.port) as raw:
        raw.send(MALFORMED[name])
        reply = raw.reply()
        assert raw.is_closed()

    assert reply is not None
    assert (reply.status, reply.body["title"], reply.headers["connection"]) == (400, "Bad Request", "close")
    assert reply.headers["content-type"] == "application/problem+json"
    assert "server" not in reply.headers
    assert (count("malformed"), caplog.text) == (before + 1, "")


def test_neither_logs_nor_responses_quote_a_request(api, token, caplog):
    caplog.set_level(logging.DEBUG)
    good = bearer(token) + b"Content-Type: application/json\r\n"
    heads = (
        b"%s /v1/token HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/users/a/skills?domain=%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/token HTTP/%s\r\nHost: localhost\r\n\r\n",
        GET + b"%s: 1\r\n\r\n",
        GET + b"Authorization: Bearer %s\r\n\r\n",
        GET + b"Authorization: Bearer %s\0\r\n\r\n",
        GET + b"Content-Length: %s\r\n\r\n",
        GET + b"Connection: upgrade\r\nUpgrade: %s\r\n\r\n",
        GET + good + b"Cookie: %s\r\nX: \0\r\n\r\n",
        POST + good + b"Transfer-Encoding: chunked\r\n\r\n%s\r\n",
    )
    bodies = (
        b"%s", b'{"%s": 1}', b'{"action": "%s"}', b'{"domain": "%s", "action": "pin"}',
        b'{"domain": "films", "action": "add", "line": {"%s": 1, "dimension": "genre", "value": "x"}}',
        b'{"domain": "films", "action": "roll-back", "to_version": "%s"}',
    )  # fmt: skip
    whole = [body.replace(b"%s", CANARY.encode()) for body in bodies]
    filled = [head.replace(b"%s", CANARY.encode()) for head in heads]
    filled += [POST + good + b"Content-Length: %d\r\n\r\n" % len(body) + body for body in whole]

    replies = [ask(api.port, data) for data in filled]

    assert [data for data, reply in zip(filled, replies, strict=True) if reply is None or reply.status < 400] == []
    answers = str([(reply.headers, reply.text) for reply in replies if reply])
    for text in (answers, caplog.text):
        assert (CANARY[-20:] in text, token in text, "Traceback" in text) == (False, False, False)
    assert "uvicorn" not in answers.lower()


def test_pipelined_bodies_are_not_parsed_as_requests(api, token):
    good = bearer(token) + b"Content-Type: application/json\r\n"
    inner = GET + good + b"\r\n"
    outer = POST + good + b"Content-Length: %d\r\n\r\n" % len(inner) + inner
    chunked = POST + good + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"

    with Raw(api.port) as raw:
        raw.send(inner + outer + chunked + inner)
        replies = [raw.reply() for _ in range(4)]

    assert [reply.status for reply in replies] == [200, 400, 422, 200]


def test_the_listening_socket_disables_nagles_algorithm(api):
    assert api.listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# --- slow clients

HALVES = {
    "nothing": b"",
    "half a first line": b"GET /v1/us",
    "half of its headers": GET + b"X-One: 1\r\n",
    "a head without its body": POST + b"Content-Length: 10\r\n%s\r\n",
    "half a body": POST + b"Content-Length: 10\r\n%s\r\n12345",
}


def test_an_incomplete_request_gets_408(slow, token):
    before = count("too-slow")
    halves = [half.replace(b"%s", bearer(token)) for half in HALVES.values()]
    with ThreadPoolExecutor(len(halves)) as clients:
        replies = list(clients.map(lambda half: ask(slow.port, half), halves))

    assert [reply.status for reply in replies] == [408] * len(HALVES)
    assert {reply.headers["connection"] for reply in replies} == {"close"}
    assert count("too-slow") == before + len(HALVES)


@pytest.mark.parametrize("drop", [(GET, b"X-One: 1\r\n"), (POST + b"Content-Length: 10000\r\n%s\r\n", b"x")])
def test_dripping_bytes_does_not_extend_the_deadline(slow, token, drop):
    ended = threading.Event()
    with Raw(slow.port) as raw:
        raw.send(drop[0].replace(b"%s", bearer(token)))

        def drip():
            while not ended.wait(0.05) and raw.send(drop[1]):
                pass

        dripping = threading.Thread(target=drip)
        dripping.start()
        reply = raw.reply()
        ended.set()
        dripping.join()

    assert reply.status == 408


def test_an_idle_connection_is_closed_between_requests(slow, token):
    with Raw(slow.port) as raw:
        for _ in range(2):
            raw.send(GET + bearer(token) + b"\r\n")
            assert raw.reply().status == 200
        assert raw.is_closed()


def test_a_client_that_does_not_read_is_disconnected(file, token):
    with Served(settings_of(file, http_idle_seconds=0.4, http_connections=1)) as api:
        api.listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        before = count("not-read")
        quiet = socket.socket()
        quiet.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        quiet.connect(("127.0.0.1", api.port))

        def send():
            with suppress(OSError):
                while True:
                    quiet.sendall((GET + b"\r\n") * 100)

        sending = threading.Thread(target=send)
        sending.start()
        until(lambda: count("not-read") > before, "the server to cut the connection")
        sending.join()
        quiet.close()
        until(lambda: answered(api, token), "its place to be free")


# --- too many connections


def test_connections_over_an_address_share_get_503_until_one_closes(file, token):
    asked, reason = GET + bearer(token) + b"\r\n", "full"
    with Served(settings_of(file, http_connections=10)) as api:
        held = [Raw(api.port) for _ in range(5)]
        for each in held:
            each.send(asked)
            assert each.reply().status == 200
        before = count(reason)
        with Raw(api.port) as one_more:
            reply = one_more.reply()
        assert (reply.status, reply.headers["retry-after"], reply.body["title"]) == (503, "5", "Service Unavailable")
        assert count(reason) == before + 1
        held[0].send(asked)
        assert held[0].reply().status == 200, "accepted connections stay"
        held[1].socket.close()
        until(lambda: answered(api, token), "room")
        for each in held:
            each.socket.close()


# --- the process


def refused(**settings):
    done = CliRunner().invoke(app, ["serve"], env=environment(Settings(**settings)) | {"SAGER_PARENT_PID": ""})
    assert done.exit_code == 1
    return done.stderr


def test_serve_refuses_to_start_with_invalid_tokens_or_certificates(tmp_path):
    file = Tokens(tmp_path)
    assert "sager token new" in refused()
    assert "No such file" in refused(http_tokens=tmp_path / "nowhere.toml")
    assert "matching PEM files" in refused(http_tokens=file.path, http_certificate=file.path, http_key=file.path)
    with pytest.raises(ValueError, match="SAGER_HTTP_CERTIFICATE go together"):
        Settings(http_key=file.path)
    file.write(mode=0o644)
    assert "chmod" in refused(http_tokens=file.path)


def test_serve_speaks_tls_and_exits_cleanly_on_sigterm(file, token, tmp_path):
    try:
        files = Secured(tmp_path / "pem", {})
    except OpensslUnavailable as why:
        pytest.skip(str(why))
    port = free_port()
    pem = {"http_certificate": files.ca.with_name("broker.pem"), "http_key": files.ca.with_name("broker.key")}
    settings = settings_of(file, http_port=port, **pem)
    context = ssl.create_default_context(cafile=files.ca)

    def name():
        assert process.poll() is None
        asked = urllib.request.Request(f"https://127.0.0.1:{port}/v1/token")
        asked.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(asked, timeout=5, context=context) as reply:
                return json.load(reply)["name"]
        except URLError as error:
            if isinstance(error.reason, ssl.SSLError):
                raise
            return None

    command = [sys.executable, "-P", "-m", "streams.cli", "serve"]
    process = subprocess.Popen(command, env=environment(settings), stderr=subprocess.PIPE)
    try:
        assert until(name, "an answer over TLS") == "console"
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == 0
    finally:
        process.kill()
    assert b"ann" not in process.communicate()[1]


# --- metrics and health


def health(**settings):
    port = free_port()
    serve(Settings(metrics_port=port, **settings), MaterializerHealth(), EVERY)
    return port


def test_metrics_and_reasons_need_the_scope_operate(tmp_path):
    file = Tokens(tmp_path)
    port = health(http_tokens=file.path, http_failures=5)
    operator, reader = file.make("operate"), file.make("read-all")

    statuses = [waiting.ask(port, "/metrics", token)[0] for token in ("", "sager_wrong", reader, operator)]
    assert statuses == [401, 401, 403, 200]
    assert "sager_ready" in waiting.ask(port, "/metrics", operator)[1]
    for token in ("", reader):
        assert waiting.ask(port, "/live", token) == (200, {"live": True})
        assert waiting.ask(port, "/ready", token) == (503, {"ready": False})
    assert waiting.ask(port, "/ready", operator) == (503, {"ready": False, "reasons": ["opening the DuckDB file"]})
    file.revoke(operator)
    guessed = [waiting.ask(port, "/metrics", operator)[0] for _ in range(3)]
    assert (guessed[0], guessed[-1]) == (401, 429), "guesses are limited"
    file.write("nonsense")
    assert waiting.ask(port, "/metrics", reader)[0] == 503
    with pytest.raises(TokensUnusable, match="TOML"):
        health(http_tokens=file.path)


def test_metrics_are_open_without_a_tokens_file():
    assert waiting.ask(health(), "/metrics")[0] == 200
