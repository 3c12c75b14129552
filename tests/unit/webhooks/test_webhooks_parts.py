"""The file of endpoints, signatures, places and queues of webhooks."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook, WebhookVerificationError

from schemas import SlimSkill, compound_key, encode
from streams.webhooks import endpoints
from streams.webhooks.endpoints import MOST, Endpoint, WebhooksUnusable, fresh_secret, read
from streams.webhooks.messages import News, body_of, headers, message_id
from streams.webhooks.places import Place, note, noted
from streams.webhooks.posting import Outcome, _answer
from streams.webhooks.queue import Queue
from streams.webhooks.run import letter_of
from tests.builders import NOW
from tests.webhook_receiver import SECRET

MS = int(NOW.timestamp() * 1000)


def slim(user: str = "ann", domain: str = "films", version: int = 1) -> SlimSkill:
    return SlimSkill(
        event_id="e", occurred_at=NOW, user_id=user, domain=domain, skill_version=version, text="likes: noir",
        likes=("noir",), tokens=3, seal="0" * 64,
    )  # fmt: skip


def news(user: str = "ann", offset: int = 0, *, gone: bool = False, partition: int = 0, at_ms: int = MS) -> News:
    value = None if gone else encode(slim(user, version=offset))
    return News(compound_key(user, "films"), value, partition, offset, at_ms, at_ms)


# --- the file


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "webhooks.toml"
    file.touch(mode=0o600)
    file.write_text(text)
    file.chmod(mode)
    return file


def entry(**more: object) -> str:
    told = {"name": "shop", "url": "https://shop.example/hook", "secret": SECRET, **more}
    return "[[endpoint]]\n" + "".join(f"{key} = {orjson.dumps(value).decode()}\n" for key, value in told.items())


def test_an_endpoint_is_what_its_lines_say(tmp_path):
    text = entry() + entry(
        name="local", url="http://127.0.0.1:9/x", domains=["films"], users=["ann"], old_secret=SECRET
    )

    shop, local = read(written(tmp_path, text))

    assert shop.wants("bob", "books")
    assert [local.wants(*who) for who in (("ann", "films"), ("ann", "books"), ("bob", "films"))] == [True, False, False]
    assert (len(shop.keys), len(local.keys)) == (1, 2)
    assert SECRET not in repr(shop)


@pytest.mark.parametrize(
    "text",
    [
        "", "[[endpoint]]", "x = 1", "[[endpoint", entry(more=1), entry() + entry(), entry(name="A b"),
        entry(url="http://shop.example/"), entry(url="ftp://shop.example"), entry(url="https://me@shop.example/"),
        entry(url="https://shop.example/#x"), entry(url="https://[::1"), entry(url="https:///x"),
        entry(secret="whsec_"),
        entry(secret=SECRET.removeprefix("whsec_")), entry(secret="whsec_" + "A" * 8), entry(secret="whsec_é"),
        entry(old_secret="x"), "".join(entry(name=f"e{n}") for n in range(MOST + 1)),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_and_quotes_no_secret(tmp_path, text):
    with pytest.raises(WebhooksUnusable, match="SAGER_WEBHOOKS") as refused:
        read(written(tmp_path, text))

    assert SECRET not in str(refused.value)


def test_a_file_that_others_can_read_is_refused(tmp_path):
    with pytest.raises(WebhooksUnusable, match="chmod"):
        read(written(tmp_path, entry(), 0o644))
    with pytest.raises(WebhooksUnusable, match="cannot be read"):
        read(tmp_path / "none")


def test_plain_http_is_for_this_machine_unless_the_operator_says_so(tmp_path):
    for url in ("http://localhost/", "http://[::1]:8/", "http://127.0.0.2/"):
        assert read(written(tmp_path, entry(url=url)))
    assert read(written(tmp_path, entry(url="http://10.0.0.7/", allow_http=True)))


def test_a_fresh_secret_is_one():
    assert fresh_secret() != fresh_secret()
    assert len(endpoints.key_of(SecretStr(fresh_secret()))) == 24


# --- messages


def test_a_message_verifies_with_the_standards_own_package_under_both_secrets():
    other = "whsec_" + base64.b64encode(bytes(range(32))).decode()
    endpoint = Endpoint(name="a", url="https://a", secret=SecretStr(SECRET), old_secret=SecretStr(other))
    body = body_of(news()) or b""
    now = int(datetime.now(UTC).timestamp())
    signed = headers(endpoint.keys, "msg_1", now, body)

    for secret in (SECRET, other):
        said = Webhook(secret).verify(body, signed)
        assert said["type"] == "slim-skill.changed"
    wrong = [(body + b" ", signed), (body, {**signed, "webhook-id": "msg_2"}),
             (body, headers(endpoint.keys, "msg_1", now - int(timedelta(hours=1).total_seconds()), body))]  # fmt: skip
    for data, head in wrong:
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(data, head)


def test_a_message_has_the_slim_skill_and_nothing_of_the_pipeline():
    data = orjson.loads(body_of(news(offset=4)) or b"")["data"]

    assert data["text"] == "likes: noir"
    assert (data["user_id"], data["domain"], data["skill_version"]) == ("ann", "films", 4)
    assert not {"seal", "event_id", "schema_version"} & set(data)
    assert orjson.loads(body_of(news(gone=True)) or b"")["data"] == {"user_id": "ann", "domain": "films"}


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"ann", b"{}"), (b"", None), (compound_key("ann", "films"), b"{"), (compound_key("bob", "films"), encode(slim())),
     (b'["ann",1]', None)],
)  # fmt: skip
def test_what_is_no_slim_skill_is_no_message(key, value):
    assert body_of(News(key, value, 0, 0, MS)) is None


def test_the_id_is_the_same_for_every_attempt_and_another_for_every_endpoint():
    assert message_id("a", news()) == message_id("a", news())
    assert len({message_id("a", news()), message_id("b", news()), message_id("a", news(offset=1))}) == 3


def test_a_dead_letter_is_the_record_itself():
    letter = letter_of(news(offset=7), "shop", "status 422", "sager.slim-skills")

    assert (letter.stage, letter.reason, letter.source.offset) == ("webhook", "refused", 7)
    assert (letter.key, letter.value) == (news().key, news(offset=7).value)
    assert "shop" in letter.detail


@pytest.mark.parametrize(
    ("status", "retry", "outcome", "wait"),
    [(200, None, Outcome.DELIVERED, None), (302, None, Outcome.DOWN, None), (410, None, Outcome.GONE, None),
     (400, "9", Outcome.REFUSED, None), (429, "9", Outcome.DOWN, 9.0), (503, "999999", Outcome.DOWN, 3600.0),
     (500, "-1", Outcome.DOWN, None), (401, None, Outcome.DOWN, None), (600, "x", Outcome.DOWN, None)],
)  # fmt: skip
def test_what_an_answer_means(status, retry, outcome, wait):
    found = _answer(status, retry, 0.0)

    assert (found.outcome, found.retry_after) == (outcome, wait)


# --- queues


def test_of_each_person_the_newest_waits_and_one_is_on_its_way():
    queue = Queue(10)
    for each in (news("ann", 1), news("bob", 2), news("ann", 3), news("ann", 0)):
        assert queue.offer(each)

    first = queue.take(0)
    assert first is not None
    assert (first.about, first.offset) == (("ann", "films"), 3)
    assert queue.offer(news("ann", 5))
    bob = queue.take(0)
    assert bob is not None
    assert bob.about == ("bob", "films")
    assert queue.take(0) is None, "ann's next waits for ann's first"
    assert queue.lowest({0: 9, 1: 4}) == {0: 2, 1: 4}
    queue.again(first)
    newest = queue.take(0)
    assert newest is not None
    assert newest.offset == 5, "what failed is outdated"
    queue.done(newest)
    queue.done(bob)
    assert (len(queue), queue.lowest({0: 9}), queue.oldest_ms()) == (0, {0: 9}, None)


def test_a_refused_message_waits_its_time_and_holds_up_nobody():
    queue = Queue(10)
    for each in (news("ann", 1), news("bob", 2)):
        queue.offer(each)
    ann = queue.take(0)
    assert ann is not None
    queue.refused(ann, 5.0)

    bob = queue.take(1)
    assert bob is not None
    assert bob.about == ("bob", "films")
    assert (queue.take(4), queue.refusals(ann)) == (None, 1)
    again = queue.take(5)
    assert again is ann
    queue.refused(ann, 9.0)
    assert queue.refusals(ann) == 2
    queue.offer(news("ann", 8))
    fresh = queue.take(6)
    assert fresh is not None
    assert (fresh.offset, queue.refusals(fresh)) == (8, 0), "newer news is not refused yet"


def test_a_queue_is_bounded_by_keys():
    queue = Queue(2)

    assert [queue.offer(news(f"u{n}", n)) for n in range(3)] == [True, True, False]
    assert queue.offer(news("u1", 9))
    queue.clear()
    assert queue.take(0) is None


# --- places


def test_a_place_survives_its_metadata():
    places = {"shop": Place(7, 5), "crm": Place(9, 6)}

    assert noted(note(places)) == places
    for wrong in (None, "", "x", "[]", '{"a": 1}', '{"a": [1]}', '{"a": [1, "2"]}', '{"a": [true, 1]}'):
        assert noted(wrong) == {}
    assert len(note({f"{'e' * 37}{n:03}": Place(10**12, 10**13) for n in range(MOST)})) < 4096
