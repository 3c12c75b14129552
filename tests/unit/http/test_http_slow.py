"""Clients that send nothing, or slowly, or do not read; and too many of them: real sockets against a real server."""

import socket
import threading
import time
from contextlib import suppress

import pytest
from prometheus_client import REGISTRY

from infra.kafka.secured import OpensslUnavailable, Secured
from streams.local.broker import free_port
from streams.settings import Settings
from tests.patience import until
from tests.unit.http.http_world import Served, Tokens, published
from tests.unit.http.raw import Raw, ask

GET = b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /v1/users/ann/commands HTTP/1.1\r\nHost: localhost\r\n"
HALVES = {
    "half a first line": b"GET /v1/us",
    "a first line": b"GET /v1/users HTTP/1.1\r\n",
    "half of its headers": GET + b"X-One: 1\r\n",
    "all but the last byte of the head": GET + b"\r",
    "a head without its body": POST + b"Content-Length: 10\r\n\r\n",
    "half a body": POST + b"Content-Length: 10\r\n\r\n12345",
}


def settings_of(file, **other):
    short = {"http_request_seconds": 0.3, "http_idle_seconds": 0.6} | other
    return Settings(duckdb=published(), http_tokens=file.path, http_rate=1e4, http_burst=10_000, **short)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return Tokens(tmp_path_factory.mktemp("slow"))


@pytest.fixture(scope="module")
def token(file):
    return file.make("read-all")


@pytest.fixture(scope="module")
def api(file):
    with Served(settings_of(file)) as served:
        yield served


def count(reason):
    return REGISTRY.get_sample_value("sager_http_refused_total", {"reason": reason}) or 0.0


def asked(token):
    return GET + f"Authorization: Bearer {token}\r\n\r\n".encode()


def test_half_a_request_is_answered_and_closed(api):
    before = count("too-slow")
    raws = {name: Raw(api.port) for name in HALVES}
    for name, raw in raws.items():
        raw.send(HALVES[name])
    replies = {name: raw.reply() for name, raw in raws.items()}

    assert {name: reply.status for name, reply in replies.items()} == dict.fromkeys(HALVES, 408)
    assert {reply.headers["connection"] for reply in replies.values()} == {"close"}
    assert {name: raw.rest() for name, raw in raws.items()} == dict.fromkeys(HALVES, b"")
    assert count("too-slow") == before + len(HALVES)
    for raw in raws.values():
        raw.socket.close()


@pytest.mark.parametrize("first", [b"", GET, POST + b"Content-Length: 10000\r\n\r\n"])
def test_a_byte_now_and_then_buys_no_time(api, first):
    """The deadline is of the whole request: neither bytes nor header after header move it."""
    drops = [b"G", b"E", b"T", b" ", b"/"] * 100 if not first else [b"X-One: 1\r\n"] * 500
    with Raw(api.port) as raw:
        raw.send(first)
        ended = threading.Event()

        def drip():
            for drop in drops:
                if ended.wait(0.05) or not raw.send(drop):
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        began = time.monotonic()
        reply = raw.reply()
        took = time.monotonic() - began
        ended.set()
        dripping.join()

    assert reply.status == 408
    assert took < 0.05 * len(drops), "it was ended, and did not end by itself"


def test_a_connection_that_says_nothing_is_closed_at_first_and_between_requests(api, token):
    before = count("silent")
    with Raw(api.port) as raw:
        assert raw.is_closed()
    assert count("silent") == before + 1
    with Raw(api.port) as raw:
        for _ in range(2):
            raw.send(asked(token))
            assert raw.reply().status == 200
        assert raw.is_closed()


def test_the_next_request_on_a_connection_has_the_same_deadline(api, token):
    with Raw(api.port) as raw:
        raw.send(asked(token) + GET)
        assert [raw.reply().status, raw.reply().status] == [200, 408]


def test_whoever_does_not_read_is_cut_off(file, token):
    with Served(settings_of(file, http_request_seconds=60, http_connections_per_address=1)) as api:
        api.shrink_buffers()
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


def answered(api, token):
    reply = ask(api.port, asked(token))
    return reply is not None and reply.status == 200


def test_sixty_half_sent_heads_keep_nobody_out_and_are_gone(file, token):
    with Served(settings_of(file, http_connections=200)) as api:
        halves = [Raw(api.port) for _ in range(60)]
        for half in halves:
            half.send(GET)
        assert answered(api, token)
        assert [half.reply().status for half in halves] == [408] * 60
        for half in halves:
            half.socket.close()


@pytest.mark.parametrize(
    ("limits", "reason"), [({"http_connections": 5}, "full"), ({"http_connections_per_address": 5}, "full-address")]
)
def test_connections_over_the_limit_are_turned_away_until_there_is_room(file, token, limits, reason):
    with Served(settings_of(file, http_request_seconds=60, http_idle_seconds=60, **limits)) as api:
        held = [Raw(api.port) for _ in range(5)]
        for each in held:
            each.send(asked(token))
            assert each.reply().status == 200
        before = count(reason)
        with Raw(api.port) as one_more:
            reply = one_more.reply()
        assert (reply.status, reply.headers["retry-after"], reply.body["title"]) == (503, "5", "Service Unavailable")
        assert "server" not in reply.headers
        assert count(reason) == before + 1
        held[0].send(asked(token))
        assert held[0].reply().status == 200, "who is in stays in"
        held[1].socket.close()
        until(lambda: answered(api, token), "room")
        for each in held:
            each.socket.close()


def test_half_a_tls_handshake_takes_a_place_for_a_while_only(file, token, tmp_path):
    try:
        files = Secured(tmp_path / "pem", {})
    except OpensslUnavailable as why:
        pytest.skip(str(why))
    pem = {"http_certificate": files.ca.with_name("broker.pem"), "http_key": files.ca.with_name("broker.key")}
    with Served(settings_of(file, http_connections_per_address=2, http_port=free_port(), **pem)) as api:
        for hello in (b"", b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/1.1\r\n\r\n"):
            before = count("tls"), count("full-address")
            halves = [Raw(api.port) for _ in range(2)]
            for half in halves:
                half.send(hello)
            with Raw(api.port) as third:
                assert third.is_closed() or hello.startswith(b"GET")
            for half in halves:
                half.rest()
                half.socket.close()
            until(lambda before=before: count("tls") == before[0] + 2, "both to be ended", lambda: str(count("tls")))
