"""Metrics and health with a file of tokens: who asks without one learns only whether it lives and is ready."""

import socket

import pytest
from streams.http.exceptions import TokensUnusable

from streams.http import process_health
from streams.http.process_health import serve
from streams.local.broker import free_port
from streams.materializer.health import MaterializerHealth
from streams.settings import Settings
from tests.patience import PATIENCE_SECONDS, until
from tests.probes import ask
from tests.unit.http.http_world import Tokens
from tests.unit.http.raw import Raw
from tests.unit.http.raw import ask as raw_ask


@pytest.fixture
def file(tmp_path):
    return Tokens(tmp_path)


def served(**settings):
    port = free_port()
    serve(Settings(metrics_port=port, **settings), MaterializerHealth())
    return port


def test_metrics_are_for_who_operates(file):
    port = served(http_tokens=file.path)
    operator, reader = file.make("operate"), file.make("read-all")

    assert [ask(port, "/metrics", token)[0] for token in ("", "sager_wrong", reader, operator)] == [401, 401, 403, 200]
    assert "sager_ready" in ask(port, "/metrics", operator)[1]
    file.revoke(operator)
    assert ask(port, "/metrics", operator)[0] == 401
    file.write("nonsense")
    assert ask(port, "/metrics", reader)[0] == 503


def test_health_is_for_everybody_and_its_reasons_for_who_operates(file):
    port = served(http_tokens=file.path)
    operator, reader = file.make("operate"), file.make("read-all")

    for token in ("", "sager_wrong", reader):
        assert ask(port, "/live", token) == (200, {"live": True})
        assert ask(port, "/ready", token) == (503, {"ready": False})
    status, told = ask(port, "/ready", operator)
    assert status == 503
    assert told["reasons"] == ["opening the DuckDB file"]


def test_whoever_guesses_is_told_to_come_later(file):
    port = served(http_tokens=file.path, http_failures=2)

    assert [ask(port, "/metrics", "sager_guess")[0] for _ in range(3)] == [401, 401, 429]
    assert ask(port, "/metrics", file.make("operate"))[0] == 200


def test_without_a_file_of_tokens_nobody_is_asked_for_one():
    port = served()

    assert ask(port, "/metrics")[0] == 200
    assert ask(port, "/ready")[1]["reasons"]


def test_a_process_does_not_start_with_a_file_that_is_wrong(file):
    file.write(mode=0o644)

    with pytest.raises(TokensUnusable, match="chmod"):
        served(http_tokens=file.path)


# --- over raw sockets

MALFORMED = {
    "no request": (b"hello CANARY\r\n\r\n", 400),
    "a bare line feed": (b"GET /metrics HTTP/1.1\nAuthorization: Bearer CANARY\nCANARY\n\n", 401),
    "another version": (b"GET /CANARY HTTP/9.CANARY\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "another method": (b"CANARY /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    "POST": (b"POST /metrics HTTP/1.1\r\nContent-Length: 6\r\n\r\nCANARY", 405),
    "chunks": (b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nCANARY", 405),
    "a long path": (b"GET /" + b"CANARY" * 2_000 + b" HTTP/1.1\r\n\r\n", 414),
    "a long header": (b"GET / HTTP/1.1\r\nX: " + b"CANARY" * 20_000 + b"\r\n\r\n", 431),
    "many headers": (b"GET / HTTP/1.1\r\n" + b"X-CANARY: 1\r\n" * 200 + b"\r\n", 431),
    "NUL": (b"GET /\0CANARY HTTP/1.1\r\n\r\n", 404),
    "Latin-1": (b"GET /\xe9CANARY HTTP/1.1\r\nX: \xe9\r\n\r\n", 404),
    "a TLS client": (b"\x16\x03\x01\x02\x00\x01CANARY\r\n", 400),
}


def test_malformed_requests_are_answered_without_a_banner_and_nothing_quotes_them(file, caplog, capfd):
    caplog.set_level("DEBUG")
    port = served(http_tokens=file.path)

    told = {name: raw_ask(port, data) for name, (data, _) in MALFORMED.items()}
    health = raw_ask(port, b"GET /live HTTP/1.1\r\nHost: x\r\n\r\n")

    assert {name: reply.status for name, reply in told.items()} == {n: status for n, (_, status) in MALFORMED.items()}
    assert [name for name, reply in told.items() if "CANARY" in str(reply) + reply.text] == []
    assert [reply for reply in (health, *told.values()) if "server" in reply.headers] == []
    assert {reply.headers["cache-control"] for reply in (health, *told.values())} == {"no-store"}
    out, err = capfd.readouterr()
    assert (caplog.text, out, err) == ("", "", "")


def test_clients_that_send_nothing_or_little_are_closed_and_leave_room(file, monkeypatch):
    monkeypatch.setattr(process_health, "REQUEST_SECONDS", 0.5)
    monkeypatch.setattr(process_health, "CONNECTIONS", 4)
    port = served(http_tokens=file.path)
    held = [Raw(port) for _ in range(4)]
    for each in held:
        each.send(b"GET /live HTT")
    until(lambda: Raw(port).is_closed(), "one more to be turned away")

    assert [each.is_closed() for each in held] == [True] * 4
    until(lambda: ask(port, "/live")[0] == 200, "room again")


def test_one_address_that_holds_all_it_can_keeps_no_probe_out():
    port = served()
    held = [Raw(port) for _ in range(process_health.PER_ADDRESS)]
    try:
        until(lambda: raw_ask(port, LIVE) is None, "its places are taken")
        with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS, ("127.0.0.2", 0)) as other:
            other.sendall(LIVE)
            assert b" 200 OK" in other.recv(1_000)
    finally:
        for each in held:
            each.socket.close()
    until(lambda: raw_ask(port, LIVE) is not None, "the places are free again")


LIVE = b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"
