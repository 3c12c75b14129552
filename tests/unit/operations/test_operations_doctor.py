"""The doctor without a broker: settings, secrets, access of others, and checks that hang; and clipped dead letters."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType
from prometheus_client import generate_latest

from schemas import MAX_ORIGINAL_BYTES, DeadLetter
from streams import permissions
from streams.analytics.run import MaterializerHealth
from streams.http import process_health
from streams.metrics import SHARED_SETTINGS
from streams.operations import doctor
from streams.operations.dead_letters import StoredLetter
from streams.operations.doctor import DoctorFinding, Status, TimedCheck, ok
from streams.settings import SecurityProtocol, Settings
from tests.builders import NOW, a_position

KEY = "a key of more than thirty-two characters"


def test_processes_publish_digests_of_shared_settings_and_not_their_values() -> None:
    def publish(**given: Any) -> None:
        process_health.serve(Settings(**given), MaterializerHealth(), process_health.ALL)

    publish(chain_key=KEY, sensitive={"books": ["religion"]})
    body = generate_latest(SHARED_SETTINGS).decode()
    publish(chain_key=f"another {KEY}")

    assert body != generate_latest(SHARED_SETTINGS).decode()
    assert all(f'setting="{name}"' in body for name in process_health.ALL)
    assert KEY not in body
    assert "religion" not in body


def test_a_file_of_values_is_compared_by_its_content(tmp_path: Path) -> None:
    here, there = tmp_path / "a.txt", tmp_path / "b.txt"
    here.write_text("noir\n")
    there.write_text("noir\n")

    assert process_health.fingerprint(Settings(vouched=here), "vouched") == process_health.fingerprint(
        Settings(vouched=there), "vouched"
    )


NAMED = {"kafka_security_protocol": SecurityProtocol.SASL_SSL, "kafka_sasl_username": "us", "kafka_sasl_password": "x"}


def only(findings) -> DoctorFinding:
    [found] = findings
    assert bool(found.todo) is (found.status is Status.WARNING)
    return found


def test_a_deployment_without_key_or_tokens_is_a_warning_except_on_the_embedded_broker(tmp_path):
    tokens = tmp_path / "tokens.toml"
    for check, good in (
        (doctor.chain_key, {"chain_key": "0123456789abcdef" * 2}),
        (doctor.tokens, {"http_tokens": tokens}),
    ):
        assert only(check(Settings())).status is Status.WARNING
        assert only(check(Settings(embedded=True))).status is Status.OK
        assert only(check(Settings(**good))).status is Status.OK


@pytest.mark.parametrize("kind", ["folder", "file", "nested", "snapshot"])
def test_data_that_other_users_can_read_is_found(tmp_path, kind):
    settings = Settings(
        data_dir=permissions.make_private(tmp_path / "data"), duckdb=tmp_path / "elsewhere.duckdb", embedded=True
    )
    nested = permissions.make_private(settings.data_dir / "worker" / "deep") / "of a new kind"
    for file in (settings.data_dir / "live.duckdb", nested, settings.duckdb_file):
        file.touch()
        file.chmod(0o600)
    assert only(doctor.files(settings)).status is Status.OK
    opened = {
        "folder": settings.data_dir, "file": settings.data_dir / "live.duckdb", "nested": nested,
        "snapshot": settings.duckdb_file,
    }[kind]  # fmt: skip
    opened.chmod(opened.stat().st_mode | 0o005)
    found = only(doctor.files(settings))
    assert (found.status, str(opened) in found.found, "chmod" in found.todo) == (Status.WARNING, True, True)


@pytest.mark.parametrize("setting", ["http_tokens", "http_key", "kafka_ssl_key", "SAGER_CONFIG"])
@pytest.mark.parametrize(("mode", "told"), [(0o600, False), (0o640, False), (0o644, True), (0o660, True)])
def test_a_secret_that_other_users_can_access_is_found(tmp_path, monkeypatch, setting, mode, told):
    file = tmp_path / "secret"
    file.touch()
    file.chmod(mode)
    settings = Settings(data_dir=tmp_path / "none")
    if setting == "SAGER_CONFIG":
        monkeypatch.setenv("SAGER_CONFIG", str(file))
    else:
        settings = settings.model_copy(update={setting: file})
    found = only(doctor.files(settings))
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
        (KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)), NAMED, Status.OK, "authorizer"),
        (KafkaException(KafkaError(KafkaError._UNSUPPORTED_FEATURE)), NAMED, Status.SKIPPED, "do not list"),
        (TimeoutError(), NAMED, Status.SKIPPED, "do not list"),
        ([rule("User:us")], {}, Status.WARNING, "without a name"),
        ([rule("User:*")], NAMED, Status.WARNING, "read on topic sager.skills"),
        ([rule("User:ANONYMOUS", "*")], NAMED, Status.WARNING, "all users"),
        ([rule("User:*", "another.topic")], NAMED, Status.OK, "authorizer"),
        ([rule("User:*")], {"embedded": True}, Status.OK, "embedded"),
    ],
)
def test_the_brokers_acls_are_checked(answer, more, status, told):
    found = only(doctor.rules(Settings(**more), Brokers(answer)))
    assert (found.status, told in found.found) == (status, True), found


def a_letter(value: bytes | None = b"x", key: bytes | None = b"ann", detail: str = "") -> DeadLetter:
    fields = {"event_id": "d1", "occurred_at": NOW, "stage": "evolve", "reason": "invalid", "source": a_position()}
    return DeadLetter(**fields, key=key, value=value, detail=detail)


@pytest.mark.parametrize(
    ("letter", "clipped"),
    [
        (a_letter(), False),
        (a_letter(None, None), False),
        (a_letter(b"x" * (MAX_ORIGINAL_BYTES - 1)), False),
        (a_letter(detail="[original bytes clipped] not-json: ..."), True),
        (a_letter(detail="the text [original bytes clipped] is in the record"), False),
    ],
    ids=["whole", "none", "just whole", "cut", "only quoted"],
)
def test_a_clipped_original_cannot_be_replayed(letter: DeadLetter, clipped: bool) -> None:
    assert StoredLetter(letter, 0, 0).is_clipped is clipped


def test_a_hanging_check_is_an_error_after_its_time_limit() -> None:
    released = threading.Event()

    def hangs() -> Iterator[DoctorFinding]:
        released.wait(60)
        yield ok("hangs", "at last")

    [found] = TimedCheck("hangs", hangs, seconds=0.05).findings()
    released.set()

    assert (found.check, found.status) == ("hangs", Status.ERROR)
    assert "no answer within" in found.found


def test_a_failing_check_is_an_error_and_the_others_run() -> None:
    def fails() -> Iterator[DoctorFinding]:
        yield ok("fails", "so far")
        raise RuntimeError("a defect")

    [found] = TimedCheck("fails", fails, seconds=20).findings()

    assert (found.status, found.found) == (Status.ERROR, "RuntimeError: a defect")
