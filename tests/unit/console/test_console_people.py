"""The pages of people: who may see what, and that nothing in them is ever more than text."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import pytest

from schemas import PolicySkill, compound_key, encode
from streams.exceptions import KafkaUnreachable
from tests.unit.console.console_world import DOMAIN, HOSTILE, USERS, Visitor, page, person, published
from tests.unit.http.http_world import Served, settings_of

URLS = ("href", "src", "action")


@pytest.fixture(scope="module")
def served(file):
    with Served(settings_of(file, duckdb=published()), console=True) as api:
        yield api


@pytest.fixture
def sent(served, monkeypatch):
    found = []

    async def send_and_wait(token, event, *_):
        found.append(event)

    monkeypatch.setattr(served.api, "send_and_wait", send_and_wait)
    return found


@pytest.fixture(scope="module")
def advocate(signed_in):
    return signed_in("read-all", "change-user", user="*")


class Parts(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "srcdoc", "autofocus" if tag != "input" else ""):
                self.wrong.append(f"{tag} {name}")
            if name in URLS and not (value or "").startswith(("/console", "#")):
                self.wrong.append(f"{tag} {name}={value}")
            if name == "href":
                self.links.append(value or "")
        if tag in ("img", "iframe", "object", "embed", "base", "b", "style"):
            self.wrong.append(tag)
        if tag == "script" and {name for name, _ in attrs} - {"src", "defer"}:
            self.wrong.append(f"script {attrs}")


def visited(visitor: Visitor, start: str, lines: int) -> Iterator[tuple[str, str]]:
    """Follow all links to pages of a person, and so many to their lines."""
    waiting, seen = [start], set[str]()
    while waiting:
        path = waiting.pop()
        if path in seen or not re.match(r"/console/(person|line|log|card/log)\?", path):
            continue
        seen.add(path)
        if "/line?" in path:
            lines -= 1
            if lines < 0:
                continue
        reply = visitor.get(path)
        assert reply.status == 200, (path, reply.text[-600:])
        yield path, reply.text
        waiting += Parts(reply.text).links


@pytest.mark.parametrize("user", USERS)
def test_hostile_names_are_shown_as_text_and_their_links_work(advocate, user):
    every = len(HOSTILE) + 1 if user == "ann" else 1
    pages = dict(visited(advocate, page("/person", user=user), every))

    kinds = {path.partition("?")[0].removeprefix("/console/") for path in pages}
    assert kinds == {"person", "line", "log", "card/log"}
    for path, text in pages.items():
        assert Parts(text).wrong == [], path
    lines = [text for path, text in pages.items() if "/line?" in path]
    assert len(lines) == every


def test_a_statement_newer_than_the_snapshot_has_a_page(served, advocate):
    skill, _, _ = person("eve", DOMAIN)
    [told] = skill.stated
    said = told.model_copy(update={"statement_id": "avoids:new", "dimension": "genre", "value": "horror"})
    newer = skill.model_copy(update={"version": skill.version + 1, "stated": (*skill.stated, said)})
    served.api.cache.apply(PolicySkill.TOPIC, compound_key("eve", DOMAIN), encode(newer), 0)

    shown = advocate.get(page("/line", user="eve", domain=DOMAIN, line="avoids:new"))

    assert shown.status == 200
    assert "Avoids horror" in shown.text
    assert "It is new: its history appears in a few seconds." in shown.text
    assert "Take it back" in shown.text


def test_query_parameters_are_shown_as_text(advocate):
    for text in HOSTILE:
        for path in (page("/people", user=text), page("/person", user=f"no {text}"),
                     page("/person", user="ann", domain=f"x{text[:30]}"),
                     page("/line", user="ann", domain=DOMAIN, line=f"no{text[:20]}"),
                     page("/card/log", user=f"no {text}")):  # fmt: skip
            reply = advocate.get(path)
            assert reply.status in (200, 400, 404), path
            assert Parts(reply.text).wrong == [], path


@pytest.mark.parametrize(
    "query", ["", "user=", "user=a&user=b", "user=%00", "user=" + "a" * 2_000, "user=ann&domain=%0a", "user=%ff"]
)
def test_an_ambiguous_address_is_refused(advocate, query):
    assert advocate.get(f"/console/person?{query}").status == 400


# --- scopes


@pytest.mark.parametrize(
    ("scopes", "user", "own", "others"),
    [
        ({"read-all"}, None, 200, 200),
        ({"read-user"}, "ann", 200, 403),
        ({"read-user"}, "*", 200, 200),
        ({"operate"}, None, 403, 403),
        ({"change-user"}, "ann", 403, 403),
        ({"read-slim", "produce"}, "*", 403, 403),
    ],
)
def test_a_token_opens_the_pages_of_its_user_only(signed_in, served, scopes, user, own, others):
    visitor = signed_in(*scopes, user=user)

    for who, status in (("ann", own), ("..", others)):
        about = {"user": who, "domain": DOMAIN}
        assert visitor.get(page("/person", user=who)).status == status
        named = f"preference:x:0{HOSTILE[0][:40]}"
        assert visitor.get(page("/log", **about)).status == status
        assert visitor.get(page("/line", **about, line=named)).status == status
    # Whether somebody is there is told to nobody who may not read them.
    assert others != 403 or visitor.get(page("/person", user="nobody")).status == 403


def test_a_persons_token_opens_their_page_instead_of_the_search(signed_in):
    visitor = signed_in("read-user", user="ann")

    reply = visitor.get("/console/people?user=")
    assert (reply.status, reply.headers["location"]) == (303, "/console/person?user=ann")
    everybodys_app = signed_in("read-user", user="*")
    assert [link for link in Parts(everybodys_app.get("/console/people").text).links if "/person?" in link] == []


FORMS = {
    "/console/change": {"user": "ann", "domain": DOMAIN, "action": "freeze"},
    "/console/statements": {"user": "ann", "domain": DOMAIN, "text": "no horror"},
}


@pytest.mark.parametrize("path", FORMS)
def test_changes_need_the_scope_and_the_sessions_csrf_secret(signed_in, served, sent, path):
    fields = FORMS[path]
    may = signed_in("read-all", "change-user", user="ann")
    reads = signed_in("read-all")
    csrf = may.csrf(page("/person", user="ann"))

    assert may.post(path, fields).status == 403
    assert may.post(path, {**fields, "csrf": reads.csrf(page("/person", user="ann"))}).status == 403
    assert may.post(path, {**fields, "csrf": csrf}, Origin="https://evil.example").status == 403
    assert may.post(path, {**fields, "user": "..", "csrf": csrf}).status == 403
    assert reads.post(path, {**fields, "csrf": reads.csrf(page("/person", user="ann"))}).status == 403
    assert may.get(f"{path}?{urlencode(fields)}").status == 405
    assert sent == []

    assert may.post(path, {**fields, "csrf": csrf}).headers["location"] == page("/person", user="ann", domain=DOMAIN)
    assert "on its way" in may.get(page("/person", user="ann")).text
    assert may.post(path, fields, **{"X-CSRF-Token": csrf}).status == 303
    assert [each.user_id for each in sent] == ["ann", "ann"]
    assert {getattr(each, "actor", "console") for each in sent} == {"console"}


def test_the_log_restores_an_earlier_version(signed_in, sent):
    visitor = signed_in("read-all", "change-user", user="ann")
    about = {"user": "ann", "domain": DOMAIN}
    form = {**about, "action": "roll-back", "to_version": "0", "csrf": visitor.csrf(page("/log", **about))}

    shown = visitor.get(page("/log", **about)).text
    assert "Restore how it began" in shown
    assert "Restore version" not in shown  # it has one version, the newest
    assert visitor.post("/console/change", form).status == 303
    assert [(each.action, each.to_version) for each in sent] == [("roll-back", 0)]
    assert "Restore" not in signed_in("read-all").get(page("/log", **about)).text


def test_an_address_never_erases(signed_in, sent, monkeypatch):
    def unreachable(*_):
        raise KafkaUnreachable("no Kafka")

    monkeypatch.setattr("streams.console.changes.preview_erasure", unreachable)
    visitor = signed_in("forget-user", user="ann")
    asked = {"user": "ann", "typed": "ann"}
    for method in ("GET", "HEAD"):
        visitor.served.request(page("/forget", **asked), method=method, Cookie=visitor.cookie)
    assert sent == []

    assert visitor.post("/console/forget", asked).status == 403
    assert visitor.post("/console/forget", {**asked, "csrf": visitor.csrf()}).status == 303
    assert [each.user_id for each in sent] == ["ann"]


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "add"},
        {"action": "import"},
        {"action": "remove"},
        {"action": ""},
        {"action": "roll-back", "to_version": "x"},
        {"action": "roll-back", "to_version": "99"},
        {"action": "set-tier", "attribute_id": "a", "tier": "silent"},
        {"action": "reword", "attribute_id": "a", "value": "\x00"},
        {"action": "pin", "attribute_id": "a" * 999},
    ],
)
def test_an_unknown_form_changes_nothing(advocate, sent, fields):
    form = {"user": "ann", "domain": DOMAIN, "csrf": advocate.csrf(page("/person", user="ann")), **fields}

    assert advocate.post("/console/change", form).status in (400, 409, 422)
    assert sent == []


def test_no_log_names_a_person(signed_in, served, sent, caplog):
    visitor = signed_in("read-all", "change-user", user="*")
    visitor.get(page("/person", user="whom-no-log-may-name"))
    csrf = visitor.csrf(page("/person", user="ann"))
    visitor.post("/console/statements", {"user": "whom-no-log-may-name", "domain": "d", "text": "x", "csrf": csrf})

    assert "whom-no-log-may-name" not in caplog.text
    assert quote("whom-no-log-may-name") not in caplog.text
