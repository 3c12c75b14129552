"""Slim skills over HTTP: for a request and a session, with tags, and as streams."""

import json
from contextlib import ExitStack
from datetime import timedelta
from http.client import HTTPConnection

import pytest

from schemas import SlimSkill, compound_key, encode
from streams.http import slims
from tests.builders import NOW
from tests.unit.http.http_world import Served, Tokens, settings_of
from tests.waiting import WAIT_SECONDS, until

SLIM = "/v1/users/ann/domains/films/slim"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return Tokens(tmp_path_factory.mktemp("slims"))


@pytest.fixture
def api(file):
    with Served(settings_of(file)) as served:
        served.api.cache.is_ready = True
        yield served


class Topic:
    """What comes on the topic of slim skills."""

    def __init__(self, api):
        self.cache = api.api.cache

    def put(self, user, text, version=1, domain="films", **more):
        slim = SlimSkill(
            event_id=f"{user}-{version}", occurred_at=NOW, user_id=user, domain=domain, skill_version=version,
            text=text, tokens=len(text.split()), **more,
        )  # fmt: skip
        self._take(user, domain, encode(slim))

    def remove(self, user):
        self._take(user, "films", None)

    def _take(self, user, domain, value):
        self.cache.apply(SlimSkill.TOPIC, compound_key(user, domain), value, 0)


@pytest.fixture
def topic(api):
    return Topic(api)


class Stream:
    """Server-sent events, read one by one."""

    def __init__(self, api, path, token):
        self._connection = HTTPConnection("127.0.0.1", api.port, timeout=WAIT_SECONDS)
        self._connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        self.reply = self._connection.getresponse()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def next(self):
        found = {}
        while line := self.reply.readline().decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            found[name] = value
        if "event" not in found:  # a heartbeat
            return self.next()
        data = json.loads(found["data"])
        return found["event"], data.get("user_id"), data.get("text")

    def until_ready(self):
        """What a connection begins with."""
        found = []
        while (event := self.next())[0] != "ready":
            found.append(event)
        return found


def test_an_unchanged_slim_skill_gets_304(api, topic, file):
    token = file.make("read-slim", user="ann")
    topic.put("ann", "likes: noir")

    first = api.request(SLIM, token)
    same = api.request(SLIM, token, **{"If-None-Match": first.headers["etag"]})
    topic.put("ann", "likes: noir, heist", version=2)
    newer = api.request(SLIM, token, **{"If-None-Match": first.headers["etag"]})

    assert (first.status, same.status, newer.status) == (200, 304, 200)
    assert first.body == {
        "user_id": "ann", "domain": "films", "skill_version": 1, "text": "likes: noir", "likes": [], "style": "",
        "lines": [], "tokens": 2,
    }  # fmt: skip
    assert (same.text, same.headers["etag"]) == ("", first.headers["etag"])
    assert newer.body["text"] == "likes: noir, heist"
    assert first.headers["cache-control"] == "private, no-cache"


def test_a_token_reads_no_other_users_slim_skill(api, topic, file):
    topic.put("bob", "likes: noir")
    ann, everybody = file.make("read-slim", user="ann"), file.make("read-slim", user="*")

    assert api.request("/v1/users/nobody/domains/films/slim", ann).status == 403
    assert api.request("/v1/users/bob/domains/films/slim", everybody).status == 200
    assert api.request("/v1/users/nobody/domains/films/slim", everybody).status == 404
    topic.remove("bob")
    assert api.request("/v1/users/bob/domains/films/slim", everybody).status == 404


def test_the_lines_of_a_session_appear_within_it_only(api, topic, file):
    token = file.make("read-slim", user="ann")
    more = {"session_id": "s1", "session_text": "likes: noir | now: jazz", "now": ("jazz",)}
    topic.put("ann", "likes: noir", session_until=NOW + timedelta(days=36_500), **more)

    within, other, outside = (
        api.request(f"{SLIM}{query}", token).body for query in ("?session_id=s1", "?session_id=s2", "")
    )
    topic.put("ann", "likes: noir", version=2, session_until=NOW - timedelta(days=1), **more)
    over = api.request(f"{SLIM}?session_id=s1", token).body

    assert (within["text"], within["now"]) == ("likes: noir | now: jazz", ["jazz"])
    for each in (other, outside, over):
        assert each["text"] == "likes: noir"
        assert not {"now", "session_id", "session_until"} & set(each)


def test_unreadable_records_and_foreign_keys_are_no_slim_skills(api, topic, file):
    token = file.make("read-slim", user="*")
    live = api.api.cache
    topic.put("bob", "likes: noir")
    value = live.slims[compound_key("bob", "films")]
    for key in (compound_key("ann", "films"), b"no key", b"[1, 2]", b'["ann"]', b"["):
        live.apply(SlimSkill.TOPIC, key, value, 0)
    live.apply(SlimSkill.TOPIC, compound_key("cleo", "films"), b"\xff", 0)

    assert [api.request(f"/v1/users/{user}/domains/films/slim", token).status for user in ("ann", "cleo")] == [404, 404]
    with Stream(api, "/v1/slim/stream", token) as stream:
        assert [user for _, user, _ in stream.until_ready()] == [None, "bob"]


def test_a_users_stream_starts_with_the_current_state_and_sends_each_change(api, topic, file):
    token = file.make("read-slim", user="ann")
    topic.put("ann", "likes: noir")
    with Stream(api, f"{SLIM}/stream", token) as stream:
        assert stream.reply.getheader("content-type").startswith("text/event-stream")
        assert stream.until_ready() == [("slim", "ann", "likes: noir")]
        topic.put("bob", "likes: jazz")
        topic.put("ann", "likes: heist", version=2)
        assert stream.next() == ("slim", "ann", "likes: heist")
        topic.remove("ann")
        assert stream.next() == ("forgotten", "ann", None)
    with Stream(api, f"{SLIM}/stream", token) as stream:
        assert stream.until_ready() == [("forgotten", "ann", None)], "a new connection learns of an erasure too"


def test_a_stream_of_all_starts_with_everything_and_sends_each_change(api, topic, file):
    for user in ("ann", "bob", "cleo"):
        topic.put(user, "likes: noir")
    topic.remove("cleo")
    with Stream(api, "/v1/slim/stream", file.make("read-slim", user="*")) as stream:
        found = [("slim", user, "likes: noir") for user in ("ann", "bob")]
        assert stream.until_ready() == [("reset", None, None), *found]
        topic.put("ann", "likes: heist", version=2)
        assert stream.next() == ("slim", "ann", "likes: heist")
        topic.remove("bob")
        assert stream.next() == ("forgotten", "bob", None)


def test_a_change_while_a_stream_begins_is_sent(api, topic, file, monkeypatch):
    topic.put("ann", "likes: noir")
    event_of = slims._event_of

    def change_after_reading(api, key):
        found = event_of(api, key)
        monkeypatch.setattr(slims, "_event_of", event_of)
        topic.remove("ann")
        return found

    monkeypatch.setattr(slims, "_event_of", change_after_reading)
    with Stream(api, "/v1/slim/stream", file.make("read-slim", user="*")) as stream:
        assert stream.until_ready() == [("reset", None, None), ("slim", "ann", "likes: noir")]
        assert stream.next() == ("forgotten", "ann", None)


def test_a_stream_that_has_ended_collects_no_more_changes(api, topic, file):
    token = file.make("read-slim", user="*")
    with Stream(api, "/v1/slim/stream", token) as stream:
        stream.until_ready()
        assert len(api.api.cache._watches) == 1
    until(lambda: not api.api.cache._watches, "the end of the stream")


@pytest.mark.parametrize("has_news", [False, True])
def test_a_stream_ends_when_its_token_is_revoked_or_loses_the_scope(api, topic, file, monkeypatch, has_news):
    monkeypatch.setattr("streams.http.slims.HEARTBEAT_SECONDS", 0.0 if has_news else 0.05)
    token = file.make("read-slim", user="*")
    with Stream(api, "/v1/slim/stream", token) as stream:
        stream.until_ready()
        if has_news:
            file.write(file.path.read_text().replace('scopes = ["read-slim"]\nuser = "*"', 'scopes = ["read-all"]'))
            topic.put("ann", "likes: noir")
        else:
            file.revoke(token)
        left = stream.reply.read()
    assert b"noir" not in left


def status_of_a_stream(api, token):
    with Stream(api, f"{SLIM}/stream", token) as stream:
        return stream.reply.status


def test_the_streams_of_one_token_leave_connections_for_others(file):
    of_ann, of_all = (file.make("read-slim", user=user, name=user) for user in ("ann", "*"))
    with Served(settings_of(file, http_connections=16)) as served, ExitStack() as open_streams:
        served.api.cache.is_ready = True
        streams = [open_streams.enter_context(Stream(served, f"{SLIM}/stream", of_ann)) for _ in range(4)]
        assert [stream.reply.status for stream in streams] == [200] * 4
        assert status_of_a_stream(served, of_ann) == 429, "a token has half of the streams, a quarter of connections"
        assert status_of_a_stream(served, of_all) == 200
        assert served.request(SLIM, of_ann).status == 404, "requests are answered meanwhile"

        streams[0].__exit__()
        until(lambda: status_of_a_stream(served, of_ann) == 200, "the place of a stream that has ended")
