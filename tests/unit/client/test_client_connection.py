"""How the client finds a deployment: arguments, environment, file, defaults; and how it says what is wrong."""

from dataclasses import fields
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from sager_client import Connection, Misconfigured
from sager_client.errors import cause_of
from streams.settings import Settings

USER: dict[str, Any] = {"kafka_sasl_username": "ann", "kafka_sasl_password": "secret-of-ann"}


def test_every_setting_is_one_of_the_workers_with_the_same_default() -> None:
    ours, theirs = Connection(), Settings()

    for each in fields(Connection):
        assert getattr(ours, each.name) == getattr(theirs, each.name), each.name


def test_arguments_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAGER_BOOTSTRAP", "environment:1")
    monkeypatch.setenv("SAGER_PREFIX", "environment.")

    found = Connection(bootstrap="argument:1")

    assert (found.bootstrap, found.prefix) == ("argument:1", "environment.")
    assert found.topic("rankings") == "environment.rankings"


def test_an_empty_variable_is_not_set_but_a_prefix_may_be_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BOOTSTRAP", "KAFKA_SASL_USERNAME", "KAFKA_SSL_VERIFY_HOSTNAME", "PREFIX"):
        monkeypatch.setenv(f"SAGER_{name}", "")

    found = Connection()

    assert (found.bootstrap, found.kafka_ssl_verify_hostname) == ("localhost:9092", True)
    assert found.topic("items") == "items"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"prefix": "a b"}, "SAGER_PREFIX must be letters"),
        ({"kafka_security_protocol": "TLS"}, "SAGER_KAFKA_SECURITY_PROTOCOL must be one of PLAINTEXT, SSL"),
        ({"kafka_security_protocol": "SASL_SSL"}, "SAGER_KAFKA_SASL_USERNAME is missing"),
        (USER, "SAGER_KAFKA_SASL_USERNAME is set, but only SASL_SSL and SASL_PLAINTEXT use it"),
        ({"kafka_security_protocol": "SSL", "kafka_ssl_ca": "/nowhere"}, "SSL_CA names /nowhere, which is no file"),
    ],
)
def test_what_is_wrong_is_told_by_its_variable(given: dict[str, Any], told: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        Connection(**given)

    assert told in str(refused.value)
    assert "secret" not in str(refused.value)


def test_librdkafka_is_given_the_password_and_nobody_else() -> None:
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
def test_what_librdkafka_says_in_words(code: int, said: str, cause: str) -> None:
    assert cause_of(KafkaError(code, said)) == cause
