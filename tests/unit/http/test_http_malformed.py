"""Malformed requests over raw sockets: refused as problems, counted, and quoted by no log and no answer."""

import itertools
import json
import logging
import random
from http import HTTPStatus

import pytest
from prometheus_client import REGISTRY

from streams.settings import Settings
from tests.unit.http.http_world import Served, Tokens, published
from tests.unit.http.raw import Raw, ask

HEAD = b"Host: localhost\r\n"
GET = b"GET /v1/users HTTP/1.1\r\n"
POST = b"POST /v1/users/ann/commands HTTP/1.1\r\n" + HEAD
BANNERS = ("aiohttp", "python", "werkzeug", "uvicorn", "starlette", "granian", "hypercorn")
CANARY = "sager_" + "Canary" * 7 + "x"

MALFORMED = {
    # the first line
    "no request at all": b"hello\r\n\r\n",
    "an empty line first": b"\r\n" + GET + HEAD + b"\r\n",
    "no version": b"GET /v1/users\r\n\r\n",
    "two spaces": b"GET  /v1/users HTTP/1.1\r\n" + HEAD + b"\r\n",
    "a tab": b"GET\t/v1/users\tHTTP/1.1\r\n" + HEAD + b"\r\n",
    "another protocol": b"GET /v1/users ICY/1.1\r\n" + HEAD + b"\r\n",
    "a version of many digits": b"GET /v1/users HTTP/1.1111\r\n" + HEAD + b"\r\n",
    "a path without a slash": b"GET v1/users HTTP/1.1\r\n" + HEAD + b"\r\n",
    "a proxy's form": b"GET http://localhost/v1/users HTTP/1.1\r\n" + HEAD + b"\r\n",
    "a fragment": b"GET /v1/users#x HTTP/1.1\r\n" + HEAD + b"\r\n",
    "a broken escape": b"GET /v1/users/%zz/skills HTTP/1.1\r\n" + HEAD + b"\r\n",
    "an escape that is no UTF-8": b"GET /v1/users/%ff/skills HTTP/1.1\r\n" + HEAD + b"\r\n",
    "an overlong escape": b"GET /v1/users/%c0%af/skills HTTP/1.1\r\n" + HEAD + b"\r\n",
    "a backslash": b"GET /v1\\users HTTP/1.1\r\n" + HEAD + b"\r\n",
    "raw UTF-8 in the path": "GET /v1/users/zoë/skills HTTP/1.1\r\n".encode() + HEAD + b"\r\n",
    # the ends of lines
    "bare line feeds": b"GET /v1/users HTTP/1.1\nHost: localhost\n\n",
    "a bare line feed in a header": GET + HEAD + b"X-One: 1\nX-Two: 2\r\n\r\n",
    "a bare carriage return": GET + HEAD + b"X-One: 1\rX-Two: 2\r\n\r\n",
    "a carriage return too many": GET + HEAD + b"X-One: 1\r\r\n\r\n",
    "a folded header": GET + HEAD + b"X-One: 1\r\n 2\r\n\r\n",
    "a header that begins with a tab": GET + b"\tHost: localhost\r\n\r\n",
    # headers
    "a NUL": GET + HEAD + b"X-One: a\0b\r\n\r\n",
    "a header without a colon": GET + HEAD + b"X-One\r\n\r\n",
    "a header without a name": GET + HEAD + b": 1\r\n\r\n",
    "a space before the colon": GET + HEAD + b"X-One : 1\r\n\r\n",
    "Latin-1 in a header": GET + HEAD + b"X-One: caf\xe9\r\n\r\n",
    "UTF-8 in a header": GET + HEAD + "X-One: café\r\n\r\n".encode(),
    "a header's name in UTF-8": GET + HEAD + "Übung: 1\r\n\r\n".encode(),
    "an escape sequence of a terminal": GET + HEAD + b"X-One: \x1b[31m\r\n\r\n",
    "no host": GET + b"\r\n",
    "two hosts": GET + HEAD + HEAD + b"\r\n",
    "a host with a path": GET + b"Host: localhost/x\r\n\r\n",
    "a host with a name before it": GET + b"Host: a@localhost\r\n\r\n",
    "two tokens": GET + HEAD + 2 * b"Authorization: Bearer x\r\n" + b"\r\n",
    # lengths
    "two equal lengths": POST + 2 * b"Content-Length: 2\r\n" + b"\r\n{}",
    "two other lengths": POST + b"Content-Length: 2\r\ncontent-length: 3\r\n\r\n{}",
    "a list of lengths": POST + b"Content-Length: 2, 2\r\n\r\n{}",
    "a length with a sign": POST + b"Content-Length: +2\r\n\r\n{}",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a length in hexadecimal": POST + b"Content-Length: 0x2\r\n\r\n{}",
    "a length with an underscore": POST + b"Content-Length: 1_0\r\n\r\n0123456789",
    "an empty length": POST + b"Content-Length: \r\n\r\n",
    "a length and chunks": POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and a length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
    "a TLS client": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
    "SSH": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "a PROXY line": b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + GET + HEAD + b"\r\n",
    "nothing but NULs": bytes(64),
}
OTHERS = {
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "HTTP/0.9": (b"GET /v1/users HTTP/0.9\r\n" + HEAD + b"\r\n", 505),
    "HTTP/1.2": (b"GET /v1/users HTTP/1.2\r\n" + HEAD + b"\r\n", 505),
    "an unknown method": (b"BREW /v1/users HTTP/1.1\r\n" + HEAD + b"\r\n", 501),
    "a method in lower case": (b"get /v1/users HTTP/1.1\r\n" + HEAD + b"\r\n", 501),
    "TRACE": (b"TRACE /v1/users HTTP/1.1\r\n" + HEAD + b"\r\n", 501),
    "CONNECT": (b"CONNECT localhost:9092 HTTP/1.1\r\n" + HEAD + b"\r\n", 501),
    "an upgrade": (GET + HEAD + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 501),
    "an upgrade to HTTP/2": (GET + HEAD + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n", 501),
    "chunks": (POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411),
    "chunks with a trailing header": (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-One: 1\r\n\r\n", 411),
    "chunks by another name": (POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 411),
    "gzip": (POST + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", 415),
    "two encodings": (POST + b"Content-Encoding: identity, br\r\nContent-Length: 2\r\n\r\n{}", 415),
    "Expect": (POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", 417),
    "a body over the limit": (POST + b"Content-Length: 16385\r\n\r\n" + b"x" * 16_385, 413),
    "a body of a petabyte": (POST + b"Content-Length: 999999999999\r\n\r\n", 413),
    "a long path": (b"GET /" + b"x" * 9_000 + b" HTTP/1.1\r\n" + HEAD + b"\r\n", 414),
    "a path without an end": (b"GET /" + b"x" * 20_000, 414),
    "a long header": (GET + HEAD + b"X-One: " + b"x" * 9_000 + b"\r\n\r\n", 431),
    "headers without an end": (GET + HEAD + b"X-One: 1\r\n" * 2_000, 431),
    "many headers": (GET + HEAD + b"".join(b"X-%d: 1\r\n" % n for n in range(65)) + b"\r\n", 431),
}
CASES = {**{name: (data, 400) for name, data in MALFORMED.items()}, **OTHERS}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return Tokens(tmp_path_factory.mktemp("malformed"))


@pytest.fixture(scope="module")
def api(file):
    settings = Settings(duckdb=published(), http_tokens=file.path, http_rate=1e4, http_burst=10_000, http_failures=1e6)
    with Served(settings) as served:
        yield served


@pytest.fixture(scope="module")
def token(file):
    return file.make("read-all", "change-user", user="*")


def refused():
    return sum(
        sample.value
        for family in REGISTRY.collect()
        if family.name == "sager_http_refused"
        for sample in family.samples
        if sample.name.endswith("_total")
    )


def assert_no_banner(text):
    assert [banner for banner in BANNERS if banner in text.lower()] == []
    assert "Traceback" not in text


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_request_is_a_problem_and_the_end_of_its_connection(api, name, caplog):
    data, status = CASES[name]
    caplog.set_level(logging.DEBUG)
    before = refused()
    with Raw(api.port) as raw:
        raw.send(data)
        reply = raw.reply()
        raw.send(GET + HEAD + b"\r\n")
        more = raw.rest()

    assert reply is not None
    assert (reply.status, reply.body["status"], reply.body["title"]) == (status, status, HTTPStatus(status).phrase)
    assert reply.headers["content-type"] == "application/problem+json"
    assert (reply.headers["connection"], reply.headers["cache-control"]) == ("close", "no-store")
    assert "server" not in reply.headers
    assert_no_banner(reply.text + str(reply.headers))
    assert more == b"", "nothing after a malformed request is read as one"
    assert refused() == before + 1
    assert caplog.text == ""


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_no_log_and_no_answer_quotes_what_a_request_holds(api, file, token, caplog, level):
    """A canary in each place of requests that are malformed in each other place."""
    secret = CANARY.encode()
    places = (
        b"%s /v1/users HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/users/%s/skills?x=%%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/users?token=%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/users?%s=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/users HTTP/%s\r\nHost: localhost\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: %s\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\n%s: 1\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\nCookie: token=%s\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer\n%s\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer\r\n %s\r\n\r\n",
        b"GET /v1/users HTTP/1.1\nHost: localhost\nAuthorization: Bearer %s\n\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\n\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\0\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\nExpect: %s\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: %s\r\n\r\n",
        b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: %s\r\n\r\n",
        *(
            POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunk
            for chunk in (b"%s\r\n", b"2;%s\r\n{}\r\n0\r\n\r\n", b"43\r\n%s", b"0\r\n%s: 1\r\n\r\n")
        ),
    )
    bodies = (
        b"%s", b'"%s"', b'{"%s": 1}', b'{"action": "%s"}', b'{"domain": "%s", "action": "pin"}',
        b'{"domain": "films", "action": "add", "line": {"%s": 1, "dimension": "genre", "value": "x"}}',
        b'{"domain": "films", "action": "add", "line": {"kind": "%s", "dimension": "genre", "value": "x"}}',
        b'{"domain": "films", "action": "roll-back", "to_version": "%s"}',
        b'{"domain": "films", "action": "set-tier", "attribute_id": "%s", "tier": "%s\\u0000"}',
    )  # fmt: skip
    good = b"Authorization: Bearer " + token.encode() + b"\r\nContent-Type: application/json\r\n"
    filled = [place.replace(b"%s", secret) for place in places]
    for body in (body.replace(b"%s", secret) for body in bodies):
        filled.append(POST + good + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        filled.append(POST + good.replace(b"application", secret) + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    caplog.set_level(level)

    told = []
    for data in filled:
        # Also behind a good request: what the server held back must not come to light later.
        for before in (b"", GET + HEAD + good + b"\r\n"):
            with Raw(api.port) as raw:
                raw.send(before + data)
                replies = [raw.reply() for _ in range(2 if before else 1)]
                told.append((data, replies, raw.rest().decode()))

    assert [data for data, replies, _ in told if replies[-1] is None or replies[-1].status < 400] == []
    assert [data for data, replies, rest in told if CANARY in str([r and r.text for r in replies]) + rest] == []
    assert CANARY[-20:] not in caplog.text
    assert token not in caplog.text
    assert "Traceback" not in caplog.text
    assert_no_banner(str([(r.headers, r.text) for _, replies, _ in told for r in replies if r]))


def test_whatever_is_changed_in_a_request_no_log_quotes_it(api, token, caplog):
    """Bytes put in, taken out, doubled and replaced at random: each answer is a proper one, and nothing is told."""
    caplog.set_level(logging.DEBUG)
    chance = random.Random(14)
    body = b'{"action": "%s", "domain": "films"}' % CANARY.encode()
    good = POST + b"Authorization: Bearer " + token.encode() + b"\r\nContent-Type: application/json\r\n"
    good += b"Cookie: " + CANARY.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    strange = (b"\n", b"\r", b"\r\n", b"\0", b" ", b"\t", b":", b"\xff", b"%", b"\r\n\r\n", b";", b"chunked", b"\x85")
    statuses = set()
    for _ in range(400):
        data = bytearray(good)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(data))
            data[at : at + chance.choice((0, 1, 1, 9))] = chance.choice(strange) * chance.choice((0, 1, 1, 2))
        with Raw(api.port) as raw:
            raw.send(bytes(data) + bytes(17_000))  # ends what waits for more
            reply, rest = raw.reply(), raw.rest()
        assert reply is not None
        assert (CANARY in reply.text, CANARY.encode() in rest) == (False, False)
        statuses.add(reply.status)

    assert len(statuses) > 3
    assert min(statuses) >= 400
    assert (CANARY in caplog.text, token in caplog.text, "Traceback" in caplog.text) == (False, False, False)


def test_answers_come_in_the_order_of_the_requests_and_a_malformed_one_is_the_last(api, token):
    good = GET + HEAD + b"Authorization: Bearer " + token.encode() + b"\r\n\r\n"
    unknown = b"GET /v1/users/nobody/skills HTTP/1.1\r\n" + good[len(GET) :]

    with Raw(api.port) as raw:
        raw.send(good + unknown + good + b"GET / HTTP/1.1\nHost: x\n\n" + good)
        statuses = [reply.status if (reply := raw.reply()) else None for _ in range(4)]
        more = raw.rest()

    assert (statuses, more) == ([200, 404, 200, 400], b"")


def test_a_body_is_no_request(api, token):
    """Whatever a body looks like, the next request begins after it."""
    good = b"Authorization: Bearer " + token.encode() + b"\r\n"
    inner = GET + HEAD + good + b"\r\n"

    with Raw(api.port) as raw:
        raw.send(POST + good + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner)
        first = raw.reply()
        raw.send(b"GET /v1/users/ann/skills HTTP/1.1\r\n" + HEAD + good + b"\r\n")
        second = raw.reply()

    assert first is not None
    assert second is not None
    assert (first.status, second.status) == (400, 200)
    assert "skills" in second.body


@pytest.mark.parametrize("pieces", [1, 7])
def test_a_request_may_come_in_pieces(api, token, pieces):
    data = GET + HEAD + b"Authorization: Bearer " + token.encode() + b"\r\n\r\n"
    with Raw(api.port) as raw:
        for start in range(0, len(data), pieces):
            raw.send(data[start : start + pieces])
        reply = raw.reply()

    assert reply is not None
    assert reply.status == 200


# --- what a path and a body may say

SAME = b"Host: localhost\r\nAuthorization: Bearer %s\r\n"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/users/ann/../bob/skills", "/v1/users/./bob/skills", "//v1/users/bob/skills", "/v1//users/bob/skills",
        "/v1/users/ann%2f..%2fbob/skills", "/v1/users/ann/%2e%2e/bob/skills", "/v1/users/%2e%2e/users/bob/skills",
        "/v1/users/bob;x=1/skills", "/v1/users/bob%3bx/skills", "/v1/users/bob/skills/", "/V1/users/bob/skills",
        "/v1/users/bob%00/skills", "/v1/users/bob%0a/skills", "/v1/users/%2562ob/skills", "/v1/users/bob%20/skills",
        "/v1/users/BOB/skills", "/v1/users/ann/skills/../../bob/skills", "/v1/users/ann?user=bob",
        "/v1/users/ann/skills?user=bob", "/v1/users/%62ob/skills", "/v1/users/bob/skills?user=ann",
        "/v1/users/%ef%bd%82ob/skills",
    ],
)  # fmt: skip
def test_no_way_to_write_a_path_reads_somebody_else(api, file, path):
    own = file.make("read-user", user="ann")

    reply = ask(api.port, f"GET {path} HTTP/1.1\r\n".encode() + SAME % own.encode() + b"\r\n")

    assert reply is not None
    assert reply.status in (400, 403, 404, 422)
    assert "bob" not in reply.text


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_a_method_is_that_of_the_first_line(api, token, header):
    asked = b"POST /v1/users HTTP/1.1\r\n" + SAME % token.encode() + header.encode() + b": GET\r\n"

    assert ask(api.port, asked + b"Content-Length: 0\r\n\r\n").status == 405


@pytest.mark.parametrize(
    "header", [b"X-Original-URL", b"X-Rewrite-URL", b"X-Forwarded-Path", b"X-User", b"X-Forwarded-User"]
)
def test_a_path_and_a_user_are_those_of_the_first_line(api, file, header):
    own = file.make("read-user", user="ann")

    reply = ask(api.port, b"GET /v1/users/ann/skills HTTP/1.1\r\n" + SAME % own.encode() + header + b": bob\r\n\r\n")

    assert {skill["user_id"] for skill in reply.body["skills"]} == {"ann"}


def test_no_page_of_a_browser_reads_an_answer(api, token):
    """No cookie signs anybody in, and no origin is allowed: a page of another site, also by DNS rebinding, gets 401."""
    origin = b"Origin: https://evil.example\r\n"
    preflight = ask(
        api.port,
        b"OPTIONS /v1/users HTTP/1.1\r\nHost: evil.example\r\nAccess-Control-Request-Method: GET\r\n"
        + origin
        + b"\r\n",
    )
    rebound = ask(api.port, GET + b"Host: evil.example\r\nCookie: token=" + token.encode() + b"\r\n" + origin + b"\r\n")
    own = ask(api.port, GET + SAME % token.encode() + origin + b"\r\n")

    assert (preflight.status, rebound.status, own.status) == (401, 401, 200)
    for reply in (preflight, rebound, own):
        assert not [name for name in reply.headers if name.startswith("access-control")]
        assert (reply.headers["cache-control"], reply.headers["x-content-type-options"]) == ("no-store", "nosniff")


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=1_0", "limit=%201", "limit=%2B1", "limit=1.0", "limit=1e2",
                                   "limit=%D9%A1", "limit=true", "limit=", "page=1", "after=a&after=b"])  # fmt: skip
def test_a_query_is_read_in_one_way_only(api, token, query):
    assert ask(api.port, f"GET /v1/users?{query} HTTP/1.1\r\n".encode() + SAME % token.encode() + b"\r\n").status == 422


def command(api, token, body, kind="application/json"):
    head = POST + b"Authorization: Bearer " + token.encode() + b"\r\n"
    head += f"Content-Type: {kind}\r\n".encode() if kind else b""
    return ask(api.port, head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


BACK = '{{"action": "roll-back", "domain": "films", "to_version": {}}}'


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "*/*",
                                  "application/json; charset=utf-16", "application/json; charset=latin1", "text/json",
                                  "application/jsonp", "application/json, text/plain", "application/problem+json",
                                  "application/json; charset=utf-8; charset=utf-7"])  # fmt: skip
def test_a_body_of_another_type_is_refused(api, token, kind):
    assert command(api, token, BACK.format(99).encode(), kind).status == 415


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON", 'application/json;charset="UTF-8"'])
def test_a_body_of_json_is_read(api, token, kind):
    assert command(api, token, BACK.format(99).encode(), kind).status == 409, "there is no version 99"


@pytest.mark.parametrize("version", ["true", "false", '"3"', "1.0", "1e0", "null", "[1]", "{}", "-1", "NaN", "Infinity",
                                     "-Infinity", "0x1", "01", "+1", "1" * 5_000])  # fmt: skip
def test_a_version_is_a_whole_number(api, token, version):
    assert command(api, token, BACK.format(version).encode()).status in (400, 422)


NAMED_TWICE = b'{"action": "roll-back", "action": "pin", "domain": "films", "to_version": 99}'


@pytest.mark.parametrize(
    "body",
    [
        NAMED_TWICE,
        NAMED_TWICE.replace(b'"action": "pin"', b'"\\u0061ction": "pin"'),
        b'{"action": "add", "domain": "films", "line": {"dimension": "a", "value": "b", "value": "c"}}',
        b"\xef\xbb\xbf" + BACK.format(99).encode(),
        BACK.format(99).encode("utf-16"),
        BACK.format(99).encode("utf-32"),
        b'{"reason": "caf\xe9"}',
        b'{"reason": "\\ud800"}',
        b'{"\\udfff": 1}',
        b'{"reason": "a\0b"}',
        b'{"a":' * 2_000 + b"1" + b"}" * 2_000,
        b"[" * 16_000,
        BACK.format(99).encode() + b"{}",
        BACK.format("99,").encode(),
        b"{'action': 'pin'}",
        b"// no\n{}",
    ],
)
def test_a_body_that_can_be_read_in_two_ways_is_refused(api, token, body):
    assert command(api, token, body).status == 400


@pytest.mark.parametrize(
    "body",
    [
        {"action": "add", "domain": "films", "line": {"dimension": "genre", "value": 3}},
        {"action": "add", "domain": "films", "line": {"dimension": "genre", "value": "x", "tier": 3}},
        {"action": "add", "domain": "films", "line": {"dimension": "genre", "value": "x", "pinned": True}},
        {"action": "add", "domain": "films", "line": [["dimension", "genre"], ["value", "x"]]},
        {"action": "pin", "domain": "films", "attribute_id": ["preference:genre:noir"]},
        {"action": True, "domain": "films"},
        {"action": "freeze", "domain": "films", "reason": True},
        {"action": "freeze", "domain": "films", "more": 1},
    ],
)
def test_no_value_of_another_type_is_taken(api, token, body):
    assert command(api, token, json.dumps(body).encode()).status == 422


def test_whoever_asks_for_the_path_of_a_refusal_gets_that_refusal_and_no_more(api, token):
    for name, with_token in itertools.product(
        ("malformed", "nothing", "", "../v1/users"), (b"", SAME % token.encode())
    ):
        data = f"GET /.refused/{name} HTTP/1.1\r\n".encode() + (with_token or HEAD) + b"\r\n"
        assert ask(api.port, data).status == (400 if name == "malformed" else 404 if with_token else 401)
