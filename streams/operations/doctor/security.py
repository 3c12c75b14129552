"""Checks what keeps others out: the key that seals versions, tokens, the brokers' rules, and who can read our files."""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from streams import private
from streams.operations.doctor.findings import Finding, Status, ok, warning
from streams.settings import Settings

ANSWER_SECONDS = 8.0
_SHOWN = 3
_MOST = 100_000
_EVERYBODY = ("User:*", "User:ANONYMOUS")
_ONE_PERSON = "one person's machine needs none"


def chain_key(settings: Settings) -> Iterator[Finding]:
    """Whether versions of skills are sealed."""
    key = settings.chain_key
    if not key and settings.embedded:
        yield ok("chain key", f"none; {_ONE_PERSON}")
    elif not key:
        yield warning(
            "chain key",
            "SAGER_CHAIN_KEY is not set: nobody can tell whether the log of skills was edited",
            "set it to the same secret for workers and readers, such as `openssl rand -hex 32`; keep it away from "
            "Kafka's administrators",
        )
    else:
        yield ok("chain key", "versions are sealed")


def tokens(settings: Settings) -> Iterator[Finding]:
    """Whether metrics, health and the HTTP API ask who is there."""
    if settings.http_tokens is not None:
        yield ok("HTTP tokens", f"{settings.http_tokens}")
    elif settings.embedded:
        yield ok("HTTP tokens", f"none; {_ONE_PERSON}")
    else:
        yield warning(
            "HTTP tokens",
            "SAGER_HTTP_TOKENS is not set: metrics and reasons of health answer whoever reaches their port",
            "`sager token new --name prometheus --scope operate > tokens.toml`, chmod 600, and SAGER_HTTP_TOKENS for "
            "every process",
        )


def files(settings: Settings) -> Iterator[Finding]:
    """Whether others can read what holds people's data, or our secrets."""
    open_to_others = list(islice(_open_data(settings), _MOST))
    if open_to_others:
        shown = ", ".join(f"{path} ({_mode(path)})" for path in open_to_others[:_SHOWN])
        more = f" and {len(open_to_others) - _SHOWN:,} more" if len(open_to_others) > _SHOWN else ""
        yield warning(
            "files",
            f"others can read people's data: {shown}{more}",
            "restart what runs there, which closes its own files; close what is left with chmod (folders 700, files "
            "640), or set SAGER_GROUP to the group that may read",
        )
    secrets = [path for path in _secrets(settings) if path.exists() and not private.is_secret(path)]
    for path in secrets:
        yield warning("files", f"others can read or change {path} ({_mode(path)}), a secret", f"chmod 600 {path}")
    if not open_to_others and not secrets:
        yield ok("files", "people's data and secrets are readable for their owner" + _group(settings))


def rules(settings: Settings, client: AdminClient) -> Iterator[Finding]:
    """Whether the brokers ask who somebody is, and allow only what rules allow."""
    if settings.embedded:
        yield ok("ACLs", f"the embedded broker has none; {_ONE_PERSON}")
        return
    asked = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ALLOW
    )
    try:
        found = client.describe_acls(asked, request_timeout=ANSWER_SECONDS).result(ANSWER_SECONDS + 1)
    except (KafkaException, TimeoutError) as error:
        yield _refused(error)
        return
    everybodys = sorted({f"{rule.operation.name.lower()} on {rule.restype.name.lower()} {rule.name}" for rule in found
                         if rule.principal in _EVERYBODY and _concerns(settings, rule.name)})  # fmt: skip
    if everybodys:
        shown = ", ".join(everybodys[:_SHOWN]) + (", ..." if len(everybodys) > _SHOWN else "")
        yield warning(
            "ACLs",
            f"rules allow everybody: {shown}",
            "give each process its own user, see `sager acls`, and remove them",
        )
    elif not settings.kafka_security_protocol.sasl and settings.kafka_ssl_certificate is None:
        yield warning(
            "ACLs",
            "the brokers let us in without a name, and so everybody else",
            "allow.everyone.if.no.acl.found=false on the brokers, a user for each process, and `sager acls`",
        )
    else:
        yield ok("ACLs", "the brokers have an authorizer, and no rule of ours is for everybody")


def _refused(error: Exception) -> Finding:
    name = error.args[0].name() if isinstance(error, KafkaException) else ""
    if name == "SECURITY_DISABLED":
        return warning(
            "ACLs",
            "the brokers have no authorizer: whoever reaches them may read and write everything",
            "set authorizer.class.name and allow.everyone.if.no.acl.found=false on the brokers, then `sager acls`",
        )
    if name.endswith("AUTHORIZATION_FAILED"):
        return ok("ACLs", "the brokers have an authorizer; `sager acls ROLE --check`, as administrator, compares rules")
    return Finding("ACLs", Status.SKIPPED, f"the brokers do not tell ({name or 'no answer in time'})")


def _concerns(settings: Settings, name: str) -> bool:
    return name == "*" or name.startswith((settings.prefix, settings.app_id)) or settings.prefix.startswith(name)


def _open_data(settings: Settings) -> Iterator[Path]:
    if settings.data_dir.exists():
        yield from private.exposed(settings.data_dir, settings.group)
    snapshot = settings.duckdb_file
    if snapshot.exists() and not snapshot.resolve().is_relative_to(settings.data_dir.resolve()):
        yield from private.exposed(snapshot, settings.group)


def _secrets(settings: Settings) -> Iterator[Path]:
    config = os.environ.get("SAGER_CONFIG")
    yield from (Path(config),) if config else ()
    for path in (settings.http_tokens, settings.http_key, settings.kafka_ssl_key):
        if path is not None:
            yield path


def _mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


def _group(settings: Settings) -> str:
    return f" and the group {settings.group} only" if settings.group else " only"
