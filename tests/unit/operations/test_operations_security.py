"""The doctor tells of a deployment that lets others in, and is quiet about one person's machine."""

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from streams import private
from streams.operations.doctor import security
from streams.operations.doctor.findings import Finding, Status
from streams.settings import SecurityProtocol, Settings

NAMED = {"kafka_security_protocol": SecurityProtocol.SASL_SSL, "kafka_sasl_username": "us", "kafka_sasl_password": "x"}


def only(findings) -> Finding:
    [found] = findings
    assert bool(found.todo) is (found.status is Status.WARNING)
    return found


def test_a_deployment_without_a_key_or_tokens_is_warned_and_one_persons_machine_is_not(tmp_path):
    tokens = tmp_path / "tokens.toml"
    for check, good in (
        (security.chain_key, {"chain_key": "0123456789abcdef" * 2}),
        (security.tokens, {"http_tokens": tokens}),
    ):
        assert only(check(Settings())).status is Status.WARNING
        assert only(check(Settings(embedded=True))).status is Status.OK
        assert only(check(Settings(**good))).status is Status.OK


@pytest.mark.parametrize("kind", ["folder", "file", "nested", "snapshot"])
def test_whatever_others_can_read_is_found(tmp_path, kind):
    settings = Settings(data_dir=private.make(tmp_path / "data"), duckdb=tmp_path / "elsewhere.duckdb", embedded=True)
    nested = private.make(settings.data_dir / "worker" / "deep") / "of a new kind"
    for file in (settings.data_dir / "live.duckdb", nested, settings.duckdb_file):
        file.touch()
        file.chmod(0o600)
    assert only(security.files(settings)).status is Status.OK
    opened = {
        "folder": settings.data_dir, "file": settings.data_dir / "live.duckdb", "nested": nested,
        "snapshot": settings.duckdb_file,
    }[kind]  # fmt: skip
    opened.chmod(opened.stat().st_mode | 0o005)
    found = only(security.files(settings))
    assert (found.status, str(opened) in found.found, "chmod" in found.todo) == (Status.WARNING, True, True)


@pytest.mark.parametrize("setting", ["http_tokens", "http_key", "kafka_ssl_key", "SAGER_CONFIG"])
@pytest.mark.parametrize(("mode", "told"), [(0o600, False), (0o640, False), (0o644, True), (0o660, True)])
def test_a_secret_that_others_can_read_or_change_is_found(tmp_path, monkeypatch, setting, mode, told):
    file = tmp_path / "secret"
    file.touch()
    file.chmod(mode)
    settings = Settings(data_dir=tmp_path / "none")
    if setting == "SAGER_CONFIG":
        monkeypatch.setenv("SAGER_CONFIG", str(file))
    else:
        settings = settings.model_copy(update={setting: file})
    found = only(security.files(settings))
    assert (found.status is Status.WARNING, found.todo == f"chmod 600 {file}") == (told, told)


class Brokers:
    """What brokers answer about their rules."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def describe_acls(self, *_: object, **__: object) -> "Brokers":
        return self

    def result(self, _: float) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def rule(principal: str, name: str = "sager.skills") -> AclBinding:
    return AclBinding(ResourceType.TOPIC, name, ResourcePatternType.LITERAL, principal, "*", AclOperation.READ,
                      AclPermissionType.ALLOW)  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "more", "status", "told"),
    [
        (KafkaException(KafkaError(KafkaError.SECURITY_DISABLED)), {}, Status.WARNING, "no authorizer"),
        (KafkaException(KafkaError(KafkaError.SECURITY_DISABLED)), NAMED, Status.WARNING, "no authorizer"),
        (KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)), NAMED, Status.OK, "authorizer"),
        (KafkaException(KafkaError(KafkaError._UNSUPPORTED_FEATURE)), NAMED, Status.SKIPPED, "do not tell"),
        (TimeoutError(), NAMED, Status.SKIPPED, "do not tell"),
        ([rule("User:us")], NAMED, Status.OK, "authorizer"),
        ([rule("User:us")], {}, Status.WARNING, "without a name"),
        ([rule("User:*")], NAMED, Status.WARNING, "read on topic sager.skills"),
        ([rule("User:ANONYMOUS", "*")], NAMED, Status.WARNING, "everybody"),
        ([rule("User:*", "another.topic")], NAMED, Status.OK, "authorizer"),
        ([rule("User:*")], {"embedded": True}, Status.OK, "embedded"),
    ],
)
def test_what_brokers_tell_of_their_rules(answer, more, status, told):
    found = only(security.rules(Settings(**more), Brokers(answer)))
    assert (found.status, told in found.found) == (status, True), found


def test_where_there_is_no_folder_yet_nothing_is_open(tmp_path):
    assert only(security.files(Settings(data_dir=tmp_path / "none"))).status is Status.OK
    assert list(tmp_path.iterdir()) == []
