"""Clients that send nothing, or slowly, or do not read; and too many of them: real sockets against a real server."""

import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
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
    short = {"http_request_seconds": 0.3, "http_idle_seconds": 0.4} | other
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


def answered(api, token):
    reply = ask(api.port, asked(token))
    return reply is not None and reply.status == 200


def told(api, data, answers=1):
    """The answers to these bytes, and what comes after them. A busy machine may take longer than the server waits for
    a first byte; then it is tried again."""

    def tried():
        with Raw(api.port) as raw:
            raw.send(data)
            replies = [raw.reply() for _ in range(answers)]
            return None if None in replies else (replies, raw.rest())

    return until(tried, "all answers")


def test_half_a_request_is_answered_and_closed(api):
    before = count("too-slow")
    with ThreadPoolExecutor(len(HALVES)) as clients:
        found = dict(zip(HALVES, clients.map(lambda half: told(api, half), HALVES.values()), strict=True))

    assert {half: reply.status for half, ([reply], _) in found.items()} == dict.fromkeys(HALVES, 408)
    assert {reply.headers["connection"] for [reply], _ in found.values()} == {"close"}
    assert {rest for _, rest in found.values()} == {b""}
    assert count("too-slow") == before + len(HALVES)


DROPS = ([b"GET /", b"x"], [GET, b"X-One: 1\r\n"], [POST, b"Content-Length: 10000\r\n\r\n", b"x"])


def test_a_byte_now_and_then_buys_no_time(api):
    """The deadline is the whole request's: neither byte after byte nor header after header moves it."""

    def dripped(drops):
        ended = threading.Event()
        with Raw(api.port) as raw:
            raw.send(b"".join(drops[:-1]))

            def drip():
                while not ended.wait(0.05) and raw.send(drops[-1]):
                    pass

            dripping = threading.Thread(target=drip)
            dripping.start()
            reply = raw.reply()
            ended.set()
            dripping.join()
        return reply

    with ThreadPoolExecutor(len(DROPS)) as clients:
        replies = list(clients.map(lambda drops: until(lambda: dripped(drops), "an answer"), DROPS))

    assert [reply.status for reply in replies] == [408] * len(DROPS)


def test_a_connection_that_says_nothing_is_closed_at_first_and_between_requests(api, token):
    before = count("silent")
    with Raw(api.port) as raw:
        assert raw.is_closed()
    assert count("silent") == before + 1

    def kept_and_closed():
        with Raw(api.port) as raw:
            raw.send(asked(token))
            if raw.reply() is None or not raw.send(asked(token)) or raw.reply() is None:
                return False
            return raw.is_closed()

    until(kept_and_closed, "two answers on one connection, and its end")


def test_the_next_request_on_a_connection_has_the_same_deadline(api, token):
    replies, _ = told(api, asked(token) + GET, answers=2)

    assert [reply.status for reply in replies] == [200, 408]


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


def test_sixty_half_sent_heads_keep_nobody_out_and_are_gone(file, token):
    with Served(settings_of(file, http_connections=200)) as api:
        halves = [Raw(api.port) for _ in range(60)]
        for half in halves:
            half.send(GET)
        until(lambda: answered(api, token), "somebody else's answer")
        replies = [half.reply() for half in halves]
        assert {reply.status for reply in replies if reply} <= {408}
        assert [half.rest() for half in halves] == [b""] * 60
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
            before = count("tls")
            halves = [Raw(api.port) for _ in range(2)]
            for half in halves:
                half.send(hello)
            with Raw(api.port) as third:
                assert third.is_closed() or hello.startswith(b"GET")
            for half in halves:
                half.rest()
                half.socket.close()
            until(lambda before=before: count("tls") >= before + 2, "both to be ended")

        def over_tls(data):
            with Raw(api.port) as raw, suppress(OSError):
                raw.socket = ssl.create_default_context(cafile=files.ca).wrap_socket(
                    raw.socket, server_hostname="127.0.0.1"
                )
                raw.send(data)
                return raw.reply()
            return None

        assert until(lambda: over_tls(asked(token)), "an answer over TLS").status == 200
        assert until(lambda: over_tls(GET), "an answer over TLS").status == 408
        assert until(lambda: over_tls(b"GET / HTTP/1.1\nX: y\n\n"), "an answer over TLS").status == 400
