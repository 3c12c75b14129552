"""The client without a broker: connection settings, refused events, the queue, and errors."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

import schemas
from sager_client import (
    BrokerUnreachable,
    Closed,
    Connection,
    EventProducer,
    Limits,
    Misconfigured,
    NotDelivered,
    NotShown,
    SlimSkill,
    SlimSkills,
    Undelivered,
)
from sager_client.errors import cause_of
from sager_client.schemas import GlobalSkill, encode, line_digest
from streams.local.broker import free_port
from streams.settings import Settings
from tests.builders import slate

REFUSED = "broker unreachable at {}: connection refused"


@pytest.fixture
def nowhere() -> str:
    return f"127.0.0.1:{free_port()}"


@pytest.fixture
def events(nowhere: str):
    producer = EventProducer(nowhere)
    yield producer
    producer.end()


# --- events


def test_events_have_the_pipelines_encoding(events: EventProducer) -> None:
    ranking = events.ranking("ann", "films", slate(1), "something calm", ranking_id="r1", arm="b")

    theirs = schemas.decode(schemas.Ranking, encode(ranking))

    assert (theirs.ranking_id, theirs.instruction, theirs.injected.arm) == ("r1", "something calm", "b")
    assert schemas.encode(theirs) == encode(ranking)


def test_an_item_outside_the_ranking_is_refused(events: EventProducer) -> None:
    ranking = events.ranking("ann", "films", slate(1))
    pending = events.pending

    with pytest.raises(NotShown, match="'no such film' is none of the ranking's 10 items"):
        events.selection(ranking, "no such film")

    assert issubclass(NotShown, ValueError)
    assert events.pending == pending


def test_an_erasure_names_a_user_or_a_digest_of_a_line(events: EventProducer) -> None:
    whole = events.forget("ann", actor="settings page")
    line = events.forget("ann", "films", "preference:genre:crime", actor="settings page")

    assert (whole.domain, whole.line) == (None, None)
    assert (
        line.line
        == line_digest("ann", "films", "preference:genre:crime")
        == schemas.line_digest("ann", "films", "preference:genre:crime")
    )
    with pytest.raises(TypeError, match="within a domain"):
        events.forget("ann", attribute_id="preference:genre:crime", actor="ann")


def test_events_of_the_pipeline_are_refused(events: EventProducer) -> None:
    skill = SlimSkill(
        event_id="1", occurred_at=datetime.now(UTC), user_id="a", domain="films", skill_version=1, text="", tokens=0
    )

    with pytest.raises(TypeError, match="only the pipeline writes slim-skills"):
        events.send(skill)
    events.send(GlobalSkill(event_id="1", occurred_at=datetime.now(UTC), domain="films", users=0))


# --- without a broker


def test_flush_reports_the_cause(events: EventProducer, nowhere: str) -> None:
    events.selection(events.ranking("ann", "films", slate(1)), slate(1)[0]["item_id"])

    with pytest.raises(NotDelivered) as reported:
        wait_for_cause(events, nowhere)

    assert str(reported.value).startswith("2 events not delivered within ")
    assert reported.value.cause == REFUSED.format(nowhere)
    assert (reported.value.unsent, reported.value.refused) == (2, 0)
    assert events.pending == 2, "they are still on their way"


def wait_for_cause(events: EventProducer, nowhere: str) -> None:
    """Flush until the connection has been tried: how soon that is depends on the machine."""
    give_up = time.monotonic() + 60
    while True:
        try:
            events.flush(1)
        except NotDelivered as error:
            if "no answer" not in error.cause or time.monotonic() > give_up:
                raise


def test_a_full_queue_raises_with_the_cause(nowhere: str) -> None:
    events = EventProducer(nowhere, limits=Limits(max_events=3, wait_seconds=0.1))
    for number in range(3):
        events.interaction("ann", "films", slate(number)[0])

    with pytest.raises(NotDelivered) as reported:
        events.interaction("ann", "films", slate(3)[0])

    assert str(reported.value).startswith(
        "3 events wait for the broker, and no room for another within 0.1 s: broker unre"
    )
    events.end()


def test_the_queue_is_bounded_in_bytes(nowhere: str) -> None:
    events = EventProducer(nowhere, limits=Limits(max_bytes=1_000, wait_seconds=0))
    events.ranking("ann", "films", slate(1))

    with pytest.raises(NotDelivered):
        events.ranking("ann", "films", slate(1))

    events.end()


def test_undelivered_events_are_reported(nowhere: str) -> None:
    reported: list[Undelivered] = []

    def on_error(undelivered: Undelivered) -> None:
        reported.append(undelivered)
        raise RuntimeError("an app's mistake")

    events = EventProducer(nowhere, on_error=on_error, limits=Limits(give_up_seconds=0.2))
    sent = [events.interaction("ann", "films", slate(number)[0]) for number in range(3)]
    with pytest.raises(NotDelivered, match=r"3 events given up: not delivered within 0.2 s: broker unreachable at "):
        events.flush(60)

    assert [each.event for each in reported] == sent
    assert all("not delivered within 0.2 s: broker unreachable" in each.cause for each in reported)
    events.flush(0)  # reported once
    events.close()


def test_closing_gives_up_the_remaining_events(nowhere: str) -> None:
    reported: list[Undelivered] = []
    events = EventProducer(nowhere, on_error=reported.append)
    events.interaction("ann", "films", slate(1)[0])

    with pytest.raises(NotDelivered, match=r"^1 event not delivered within 0.1 s"):
        events.close(0.1)

    assert len(reported) == 1
    assert "closed before it was delivered" in reported[0].cause
    with pytest.raises(Closed):
        events.interaction("ann", "films", slate(1)[0])
    events.close()


def test_slim_skills_start_empty_without_a_broker(nowhere: str, caplog: pytest.LogCaptureFixture) -> None:
    skills = SlimSkills(nowhere)
    try:
        assert skills.start(0.5) is skills
        assert (skills.ready, len(skills), skills.get("ann", "films")) == (False, 0, "")
        (logged,) = [each for each in caplog.records if each.name == "sager_client"]
        assert logged.levelname == "WARNING"
        assert logged.getMessage().startswith(
            "sager.slim-skills could not be read within 0.5 s: broker unreachable at "
        )
        with pytest.raises(BrokerUnreachable, match=r"could not be read within 0.1 s: broker unreachable at "):
            skills.wait(0.1)
    finally:
        skills.close()


# --- asyncio


async def test_with_asyncio_a_full_queue_raises_at_once(nowhere: str) -> None:
    events = EventProducer(nowhere, limits=Limits(max_events=1, wait_seconds=60))
    await events.__aenter__()
    events.interaction("ann", "films", slate(1)[0])

    with pytest.raises(NotDelivered, match="1 event wait for the broker, and no room for another within 0 s"):
        events.interaction("ann", "films", slate(2)[0])

    events.end()


USER: dict[str, Any] = {"kafka_sasl_username": "ann", "kafka_sasl_password": "secret-of-ann"}


def test_settings_have_the_workers_names_and_defaults() -> None:
    ours, theirs = Connection(), Settings()

    for name in Connection.model_fields:
        assert getattr(ours, name) == getattr(theirs, name), name


def test_arguments_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAGER_BOOTSTRAP", "environment:1")
    monkeypatch.setenv("SAGER_PREFIX", "environment.")

    found = Connection(bootstrap="argument:1")

    assert (found.bootstrap, found.prefix) == ("argument:1", "environment.")
    assert found.topic("rankings") == "environment.rankings"


def test_an_empty_variable_counts_as_unset_except_the_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BOOTSTRAP", "KAFKA_SASL_USERNAME", "KAFKA_SSL_VERIFY_HOSTNAME", "PREFIX"):
        monkeypatch.setenv(f"SAGER_{name}", "")

    found = Connection()

    assert (found.bootstrap, found.kafka_ssl_verify_hostname) == ("localhost:9092", True)
    assert Connection(kafka_ssl_verify_hostname=False, bootstrap="").kafka_ssl_verify_hostname is False
    assert found.topic("items") == "items"


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"prefix": "a b"}, "SAGER_PREFIX String should match pattern"),
        ({"kafka_security_protocol": "TLS"}, "SAGER_KAFKA_SECURITY_PROTOCOL Input should be 'PLAINTEXT', 'SSL'"),
        ({"kafka_security_protocol": "SASL_SSL"}, "SAGER_KAFKA_SASL_USERNAME is missing"),
        (USER, "SAGER_KAFKA_SASL_USERNAME is set, but only SASL_SSL and SASL_PLAINTEXT use it"),
        ({"kafka_security_protocol": "SSL", "kafka_ssl_ca": "/nowhere"}, "SSL_CA Path does not point to a file"),
    ],
)
def test_errors_name_the_variable(given: dict[str, Any], reported: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        Connection(**given)

    assert reported in str(refused.value)
    assert "secret" not in str(refused.value)


def test_only_librdkafka_receives_the_password() -> None:
    connection = Connection(kafka_security_protocol="SASL_PLAINTEXT", **USER)

    assert connection.librdkafka()["sasl.password"] == "secret-of-ann"
    assert "secret" not in repr(connection)
    Producer(connection.librdkafka())  # it takes all of them


@pytest.mark.parametrize(
    ("code", "said", "cause"),
    [
        (
            KafkaError._TRANSPORT,
            "kafka:9092/7: Connect to ipv4#10.0.0.7:9092 failed: Connection refused (after 0ms in state CONNECT)",
            "broker unreachable at kafka:9092: connection refused",
        ),
        (
            KafkaError._RESOLVE,
            "nohost:9092/bootstrap: Failed to resolve 'nohost:9092': Name or service not known (after 5ms in state x)",
            "broker unreachable at nohost:9092: name or service not known",
        ),
        (
            KafkaError._AUTHENTICATION,
            "sasl_ssl://kafka:9093/bootstrap: SASL authentication error: Authentication failed (after 9ms in state x)",
            (
                "broker at kafka:9093 refuses the connection: SASL authentication error: Authentication failed; check "
                "SAGER_KAFKA_SASL_USERNAME, SAGER_KAFKA_SASL_PASSWORD and SAGER_KAFKA_SASL_MECHANISM"
            ),
        ),
        (KafkaError.MSG_SIZE_TOO_LARGE, "Broker: Message size too large", "Broker: Message size too large"),
    ],
)
def test_librdkafka_errors_are_worded(code: int, said: str, cause: str) -> None:
    assert cause_of(KafkaError(code, said)) == cause
