"""Who comes in to the console, with what, and what is kept out."""

import hashlib
import re

import pytest

from streams.console import security
from streams.console.pages import HTMX, PAGES, STATIC
from streams.console.security import Sessions
from streams.http.app import PAGE_HEADERS
from streams.http.limits import Gate
from streams.http.tokens import TokensFile, find_token
from tests.unit.console.console_world import Visitor
from tests.unit.http.http_world import Served, settings_of


@pytest.fixture(scope="module")
def settings(file):
    return settings_of(file, console_hosts="console.example")


@pytest.fixture(scope="module")
def served(settings):
    with Served(settings, console=True) as api:
        yield api


@pytest.fixture
def visitor(served):
    return Visitor(served)


def made(file):
    secret = file.make("read-all")
    return find_token(TokensFile(file.path).all(), secret)


def at(reply):
    return reply.status, reply.headers.get("location")


# --- signing in and out


def test_signing_in_sets_a_cookie_that_scripts_and_other_sites_cannot_read(visitor, file):
    reply = visitor.sign_in(file.make("read-all"))

    assert at(reply) == (303, "/console/")
    cookie = reply.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/console"} <= {part.strip() for part in cookie.split(";")}
    assert at(visitor.get("/console/")) == (303, "/console/people")
    assert "ann" in visitor.get("/console/people").text


def test_the_cookie_requires_tls_off_the_loopback(visitor, file):
    reply = visitor.post(
        "/console/login", {"token": file.make("read-all")}, Host="console.example", Origin="https://console.example"
    )

    assert "; Secure" in reply.headers["set-cookie"]


@pytest.mark.parametrize("token", ["", "sager_" + "a" * 43, "Bearer x", "sager_\r\nX: y", "é" * 50])
def test_a_wrong_token_begins_no_session_and_is_not_shown(visitor, token):
    reply = visitor.sign_in(token)

    assert reply.status == 401
    assert "set-cookie" not in reply.headers
    assert not token or token not in reply.text


def test_without_a_session_every_page_redirects_to_sign_in(visitor, served):
    pages = PAGES

    assert pages
    for page in pages:
        reply = (
            visitor.get(f"/console{page.path}") if page.method == "GET" else visitor.post(f"/console{page.path}", {})
        )
        assert at(reply) == (303, "/console/login"), page.path
    scripted = visitor.get("/console/people", **{"HX-Request": "true"})
    assert (scripted.status, scripted.headers["hx-redirect"]) == (204, "/console/login")


def test_a_session_ends_when_its_token_is_removed(visitor, file):
    token = file.make("read-all")
    visitor.sign_in(token)
    assert visitor.get("/console/people").status == 200

    file.revoke(token)

    assert at(visitor.get("/console/people")) == (303, "/console/login")


def test_signing_out_ends_the_session_for_copies_of_its_cookie(visitor, served, file):
    visitor.sign_in(file.make("read-all"))
    stolen = Visitor(served, visitor.cookie)

    assert visitor.post("/console/logout", {"csrf": "wrong"}).status == 403
    assert stolen.get("/console/people").status == 200
    assert at(visitor.post("/console/logout", {"csrf": visitor.csrf()})) == (303, "/console/login")

    assert at(stolen.get("/console/people")) == (303, "/console/login")


def a_link(served, file):
    path = served.request("/v1/console/links", file.make("read-all", name="mallory"), "POST").body["path"]
    return path, path.partition("code=")[2]


def test_a_link_signs_in_once(visitor, served, file):
    link, code = a_link(served, file)

    assert served.request(link, method="HEAD").status == 200, "a scanner of links uses none up"
    assert [visitor.get(link).status for _ in range(2)] == [200, 200], "so does a scanner that gets it"
    assert at(visitor.post("/console/enter", {"code": code})) == (303, "/console/")
    assert visitor.get("/console/people").status == 200
    again = Visitor(served)
    assert again.get(link).status == 401
    assert again.post("/console/enter", {"code": code}).status == 401
    assert again.cookie == ""


def test_another_sites_link_signs_no_browser_in(visitor, served, file):
    """Login CSRF: the victim would work in the attacker's session."""
    visitor.sign_in(file.make("read-all", name="ann"))
    own = visitor.cookie
    link, code = a_link(served, file)

    followed = visitor.get(link, **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
    posted = visitor.post("/console/enter", {"code": code}, Origin="https://attacker.example")
    framed = visitor.post("/console/enter", {"code": code}, **{"Sec-Fetch-Site": "cross-site"})

    assert (followed.status, posted.status, framed.status) == (200, 403, 403)
    assert "set-cookie" not in {**followed.headers, **posted.headers, **framed.headers}
    assert visitor.cookie == own
    assert "You are signed in as “ann”. That session ends." in followed.text


def test_sessions_and_links_expire(settings, file):
    now = 0.0
    sessions = Sessions(Gate(TokensFile(file.path), settings), lambda: now)
    token = made(file)
    idle, used, code = sessions.begin(token), sessions.begin(token), sessions.code(token.sha256)

    for _ in range(int(security.LONGEST_SECONDS / security.IDLE_SECONDS)):
        assert sessions.find(used)
        now += security.IDLE_SECONDS
    assert sessions.find(idle) is None
    assert sessions.find(used)
    assert sessions.token_of(code, redeem=True) is None

    now += 1
    assert sessions.find(used) is None


def test_the_number_of_sessions_is_limited(settings, file):
    sessions = Sessions(Gate(TokensFile(file.path), settings))
    token = made(file)
    first = sessions.begin(token)
    last = [sessions.begin(token) for _ in range(security.MOST_SESSIONS)][-1]

    assert sessions.find(first) is None
    assert sessions.find(last)


def test_guessed_tokens_are_limited(file):
    with Served(settings_of(file, http_failures=2), console=True) as api:
        visitor = Visitor(api)
        told = [visitor.sign_in("sager_" + "a" * 43).status for _ in range(3)]
        told.append(visitor.get("/console/enter?code=guessed").status)

    assert told == [401, 401, 429, 429]


# --- forms


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "", "Sec-Fetch-Site": "cross-site"},
    ],
)
@pytest.mark.parametrize("path", ["/console/login", "/console/logout"])
def test_a_form_of_another_page_is_refused(visitor, file, path, headers):
    visitor.sign_in(file.make("read-all"))
    csrf = visitor.csrf()

    assert visitor.post(path, {"token": file.make("read-all"), "csrf": csrf}, **headers).status == 403
    assert visitor.get("/console/people").status == 200


def test_malformed_and_ambiguous_forms_are_refused(visitor):
    def told(body, kind="application/x-www-form-urlencoded"):
        sent = {"Origin": visitor.origin, "Content-Type": kind}
        return visitor.served.request("/console/login", method="POST", body=body, **sent).status

    assert told(b"token=a&token=b") == 400
    assert told(b"token=%ff") == 400
    assert told("token=é".encode()) == 400
    assert told(b"&".join(b"f%d=1" % number for number in range(65))) == 400
    assert told(b"token=a", "text/plain") == 415
    assert told(b"token=a", "multipart/form-data; boundary=x") == 415
    assert told(b"token=" + b"a" * 20_000) == 413


# --- names, headers, files


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8088", 200),
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("[::1]:8088", 200),
        ("console.example", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("192.168.1.9", 421),
        ("0x7f000001", 421),
    ],
)
def test_only_known_host_names_are_served(visitor, host, status):
    assert visitor.get("/console/login", Host=host).status == status
    assert visitor.get("/console/static/console.css", Host=host).status == status


def test_every_response_has_the_security_headers(visitor, file):
    visitor.sign_in(file.make("read-user", user="ann"))
    policy = PAGE_HEADERS["Content-Security-Policy"]
    for path in ("/console/login", "/console/people?user=x", "/console/nowhere", "/console/static/console.js"):
        reply = visitor.get(path)
        assert reply.headers["content-security-policy"] == policy, path
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "same-origin"
        assert ("no-store" in reply.headers["cache-control"]) is ("static" not in path)
    assert "unsafe" not in policy
    assert "*" not in policy


def test_templates_have_no_inline_styles_or_scripts():
    for template in (STATIC.parent / "templates").rglob("*.html"):
        text = template.read_text()
        assert not re.search(r"\sstyle=|<style|\son[a-z]+=|<script(?! src=)|javascript:|https?:|\|\s*safe\b", text), (
            template
        )


def test_htmx_matches_its_published_digest():
    told = (STATIC / "vendor" / "README.md").read_text()

    assert hashlib.sha256((STATIC / HTMX).read_bytes()).hexdigest() in told
