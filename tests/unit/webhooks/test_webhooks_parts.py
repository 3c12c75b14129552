"""The endpoints file, messages, signatures and health of webhooks."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook, WebhookVerificationError

from schemas import SlimSkill, compound_key, encode
from streams.exceptions import StreamsError
from streams.webhooks.delivery import STUCK_SECONDS, WebhooksHealth
from streams.webhooks.messages import MAX_ENDPOINTS, Endpoint, EndpointDown, Notification, headers, read, refusal_of
from tests.builders import NOW
from tests.webhook_receiver import SECRET

MS = int(NOW.timestamp() * 1000)


def slim(user: str = "ann", domain: str = "films", version: int = 1) -> SlimSkill:
    return SlimSkill(
        event_id="e", occurred_at=NOW, user_id=user, domain=domain, skill_version=version, text="likes: noir",
        likes=("noir",), tokens=3, seal="0" * 64,
    )  # fmt: skip


def note(user: str = "ann", offset: int = 0, *, gone: bool = False) -> Notification:
    value = None if gone else encode(slim(user, version=offset))
    return Notification(compound_key(user, "films"), value, 0, offset, MS)


# --- the file


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "webhooks.toml"
    file.touch(mode=0o600)
    file.write_text(text)
    file.chmod(mode)
    return file


def entry(**more: object) -> str:
    message = {"name": "shop", "url": "https://shop.example/hook", "secret": SECRET, **more}
    return "[[endpoint]]\n" + "".join(f"{key} = {orjson.dumps(value).decode()}\n" for key, value in message.items())


def test_endpoints_are_read_from_the_file(tmp_path):
    text = entry() + entry(
        name="local", url="http://127.0.0.1:9/x", domains=["films"], users=["ann"], old_secret=SECRET
    )

    shop, local = read(written(tmp_path, text))

    assert shop.wants("bob", "books")
    assert [local.wants(*who) for who in (("ann", "films"), ("ann", "books"), ("bob", "films"))] == [True, False, False]
    assert (shop.old_secret, local.old_secret) == (None, SecretStr(SECRET))
    assert SECRET not in repr(shop)


@pytest.mark.parametrize(
    "text",
    [
        "", "[[endpoint]]", "x = 1", "[[endpoint", entry(more=1), entry() + entry(), entry(name="A b"),
        entry(url="http://shop.example/"), entry(url="ftp://shop.example"), entry(url="https://me@shop.example/"),
        entry(url="https://shop.example/#x"), entry(url="https://[::1"), entry(url="https:///x"),
        entry(secret="whsec_"),
        entry(secret=SECRET.removeprefix("whsec_")), entry(secret="whsec_" + "A" * 8), entry(secret="whsec_é"),
        entry(old_secret="x"), "".join(entry(name=f"e{n}") for n in range(MAX_ENDPOINTS + 1)),
    ],
)  # fmt: skip
def test_an_invalid_file_is_refused_without_quoting_secrets(tmp_path, text):
    with pytest.raises(StreamsError, match="SAGER_WEBHOOKS") as refused:
        read(written(tmp_path, text))

    assert SECRET not in str(refused.value)


def test_a_file_that_others_can_read_is_refused(tmp_path):
    with pytest.raises(StreamsError, match="chmod"):
        read(written(tmp_path, entry(), 0o644))
    with pytest.raises(StreamsError, match="cannot be read"):
        read(tmp_path / "none")


def test_plain_http_needs_a_local_address_or_allow_http(tmp_path):
    for url in ("http://localhost/", "http://[::1]:8/", "http://127.0.0.2/"):
        assert read(written(tmp_path, entry(url=url)))
    assert read(written(tmp_path, entry(url="http://10.0.0.7/", allow_http=True)))


# --- messages


def test_messages_verify_with_both_secrets():
    other = "whsec_" + base64.b64encode(bytes(range(32))).decode()
    endpoint = Endpoint(name="a", url="https://a", secret=SecretStr(SECRET), old_secret=SecretStr(other))
    body, now = note().body() or b"", datetime.now(UTC)
    signed = headers(endpoint, "msg_1", now, body)

    for secret in (SECRET, other):
        assert Webhook(secret).verify(body, signed)["type"] == "slim-skill.changed"
    late = headers(endpoint, "msg_1", now - timedelta(hours=1), body)
    for data, head in ((body + b" ", signed), (body, {**signed, "webhook-id": "msg_2"}), (body, late)):
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(data, head)


def test_a_message_has_only_the_slim_skill():
    data = orjson.loads(note(offset=4).body() or b"")["data"]

    assert data["text"] == "likes: noir"
    assert (data["user_id"], data["domain"], data["skill_version"]) == ("ann", "films", 4)
    assert not {"seal", "event_id", "schema_version"} & set(data)
    assert orjson.loads(note(gone=True).body() or b"")["data"] == {"user_id": "ann", "domain": "films"}


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"ann", b"{}"), (b"", None), (compound_key("ann", "films"), b"{"), (compound_key("bob", "films"), encode(slim())),
     (b'["ann",1]', None)],
)  # fmt: skip
def test_other_records_give_no_message(key, value):
    assert Notification(key, value, 0, 0, MS).body() is None


def test_a_message_id_depends_on_record_and_endpoint():
    assert note().id_for("a") == note().id_for("a")
    assert len({note().id_for("a"), note().id_for("b"), note(offset=1).id_for("a")}) == 3


@pytest.mark.parametrize("status", [302, 410, 429, 503, 401, 600])
def test_other_statuses_count_as_an_outage(status):
    with pytest.raises(EndpointDown):
        refusal_of(status)


# --- the process


def test_health_reports_endpoints_that_are_down_and_a_stuck_loop():
    health = WebhooksHealth()
    assert health.why_not_ready()
    health.doing = ""
    assert (health.why_not_ready(), health.why_not_live()) == ([], [])
    health.down = frozenset({"shop"})
    health.turned_at -= STUCK_SECONDS + 1
    assert "shop" in health.why_not_ready()[0]
    assert health.why_not_live()
    health.is_ending = True
    assert health.why_not_ready()[0] == "shutting down"
