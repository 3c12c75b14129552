"""Slim skills over HTTP: for a request and a session, with tags, and as streams that resume where they ended."""

import json
import time
from contextlib import ExitStack
from datetime import timedelta
from http.client import HTTPConnection

import pytest

from schemas import SlimSkill, compound_key, encode
from streams.http.topic_cache import CHANGES_MS, StreamPosition
from tests.builders import NOW
from tests.unit.http.http_world import Served, Tokens, settings_of
from tests.waiting import WAIT_SECONDS, until

SLIM = "/v1/users/ann/domains/films/slim"
AT_MS = int(time.time() * 1000)


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
        self.cache, self.offset = api.api.cache, 0

    def put(self, user, text, version=1, domain="films", **more):
        slim = SlimSkill(
            event_id=f"{user}-{version}", occurred_at=NOW, user_id=user, domain=domain, skill_version=version,
            text=text, tokens=len(text.split()), **more,
        )  # fmt: skip
        self._take(user, domain, encode(slim))

    def remove(self, user):
        self._take(user, "films", None)

    def _take(self, user, domain, value):
        self.cache.apply(SlimSkill.TOPIC, compound_key(user, domain), value, 0, self.offset, AT_MS)
        self.offset += 1


@pytest.fixture
def topic(api):
    return Topic(api)


class Stream:
    """Server-sent events, read one by one."""

    def __init__(self, api, path, token, last=None):
        self._connection = HTTPConnection("127.0.0.1", api.port, timeout=WAIT_SECONDS)
        headers = {"Authorization": f"Bearer {token}"} | ({"Last-Event-ID": last} if last else {})
        self._connection.request("GET", path, headers=headers)
        self.reply = self._connection.getresponse()
        self.last = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def next(self):
        found = {}
        while line := self.reply.readline().decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            found[name] = value
        self.last = found.get("id", self.last)
        return (found["event"], json.loads(found["data"])) if "event" in found else self.next()

    def until_position(self):
        """What comes until it is told where the stream is."""
        found = []
        while (event := self.next())[0] != "position":
            found.append(event)
        return [(name, data.get("user_id"), data.get("text")) for name, data in found]


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
        live.apply(SlimSkill.TOPIC, key, value, 0, 9, AT_MS)
    live.apply(SlimSkill.TOPIC, compound_key("cleo", "films"), b"\xff", 0, 10, AT_MS)

    assert [api.request(f"/v1/users/{user}/domains/films/slim", token).status for user in ("ann", "cleo")] == [404, 404]
    with Stream(api, "/v1/slim/stream", token) as stream:
        assert [user for _, user, _ in stream.until_position()] == ["bob"]


def test_a_users_stream_starts_with_the_current_state_and_sends_each_change(api, topic, file):
    token = file.make("read-slim", user="ann")
    topic.put("ann", "likes: noir")
    with Stream(api, f"{SLIM}/stream", token) as stream:
        assert stream.reply.getheader("content-type").startswith("text/event-stream")
        assert stream.until_position() == [("slim", "ann", "likes: noir")]
        topic.put("bob", "likes: jazz")
        topic.put("ann", "likes: heist", version=2)
        assert stream.until_position() == [("slim", "ann", "likes: heist")]
        topic.remove("ann")
        assert stream.until_position() == [("forgotten", "ann", None)]


def test_a_stream_of_all_resumes_without_missing_an_erasure(api, topic, file):
    token = file.make("read-slim", user="*")
    for user in ("ann", "bob", "cleo"):
        topic.put(user, "likes: noir")
    with Stream(api, "/v1/slim/stream", token) as stream:
        assert {user for _, user, _ in stream.until_position()} == {"ann", "bob", "cleo"}
        last = stream.last

    topic.put("ann", "likes: heist", version=2)
    topic.remove("bob")
    topic.put("dora", "likes: jazz")
    with Stream(api, "/v1/slim/stream", token, last) as stream:
        told = stream.until_position()

    assert sorted(told) == [
        ("forgotten", "bob", None), ("slim", "ann", "likes: heist"), ("slim", "dora", "likes: jazz"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "last",
    [
        "nonsense",
        "1" * 7_000,
        StreamPosition("kafka", int(time.time() * 1000) - CHANGES_MS - 1, {0: 0}),
        StreamPosition("kafka", int(time.time() * 1000) + 60_000, {0: 2}),
        StreamPosition("another", int(time.time() * 1000) + 60_000, {0: 0}),
    ],
    ids=["nonsense", "much of it", "too old", "ahead of the topic", "of another broker"],
)
def test_a_stream_that_may_have_missed_an_erasure_is_reset(api, topic, file, last):
    topic.put("ann", "likes: noir")
    with Stream(api, "/v1/slim/stream", file.make("read-slim", user="*"), str(last)) as stream:
        assert stream.until_position() == [("reset", None, None), ("slim", "ann", "likes: noir")]


def test_changes_are_dropped_when_no_stream_can_resume_from_them(api, topic, monkeypatch):
    live, now = api.api.cache, int(time.time() * 1000)
    live.apply(SlimSkill.TOPIC, compound_key("ann", "films"), None, 0, 0, now - CHANGES_MS - 1)
    live.apply(SlimSkill.TOPIC, compound_key("bob", "films"), None, 0, 1, now)

    assert live.keys_changed_from(StreamPosition("kafka", now, {0: 1})) == [compound_key("bob", "films")]
    assert live.keys_changed_from(StreamPosition("kafka", now, {0: 0})) is None
    assert live.keys_changed_from(StreamPosition("kafka", now - CHANGES_MS - 1, {0: 1})) is None
    monkeypatch.setattr("streams.http.topic_cache.CHANGES", 1)
    live.apply(SlimSkill.TOPIC, compound_key("cleo", "films"), None, 0, 2, now)
    assert (live.keys_changed_after(2), live.keys_changed_after(1)) == ([compound_key("cleo", "films")], None)


def test_a_resumed_users_stream_starts_with_the_current_state(api, topic, file):
    token = file.make("read-slim", user="ann")
    with Stream(api, f"{SLIM}/stream", token) as stream:
        assert stream.until_position() == []
        last = stream.last
    topic.put("bob", "likes: jazz")
    topic.put("ann", "likes: noir")
    with Stream(api, f"{SLIM}/stream", token, last) as stream:
        assert stream.until_position() == [("slim", "ann", "likes: noir")]
    topic.remove("ann")
    with Stream(api, f"{SLIM}/stream", token, "nonsense") as stream:
        assert stream.until_position() == [("forgotten", "ann", None)]


@pytest.mark.parametrize("has_news", [False, True])
def test_a_stream_ends_when_its_token_is_revoked_or_loses_the_scope(api, topic, file, monkeypatch, has_news):
    monkeypatch.setattr("streams.http.slims.HEARTBEAT_SECONDS", 0.0 if has_news else 0.05)
    token = file.make("read-slim", user="*")
    with Stream(api, "/v1/slim/stream", token) as stream:
        stream.until_position()
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
