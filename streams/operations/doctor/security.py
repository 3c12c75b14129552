"""Checks of access to data: seals, tokens, shared secrets, ACLs and files."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import KafkaException, admin

from streams import permissions, shared_settings
from streams.operations import process_metrics
from streams.operations.doctor.findings import DoctorFinding, Status, error, ok, warning
from streams.settings import Settings

ANSWER_SECONDS, _SHOWN = 8.0, 3
_ALL_PRINCIPALS = ("User:*", "User:ANONYMOUS")
_ONE_PERSON = "one person's machine needs none"


def chain_key(settings: Settings) -> Iterator[DoctorFinding]:
    """Check that a key seals the versions of skills."""
    found = "SAGER_CHAIN_KEY is not set: edits of the log of skills go unnoticed"
    todo = "set it to the same secret for workers and readers, such as `openssl rand -hex 32`"
    todo += "; keep it away from Kafka's administrators"
    yield _unless_embedded(settings, "chain key", "versions are sealed" if settings.chain_key else "", found, todo)


def tokens(settings: Settings) -> Iterator[DoctorFinding]:
    """Check that metrics, health and the HTTP API require a token."""
    found = "SAGER_HTTP_TOKENS is not set: metrics and reasons of health answer any client that reaches their port"
    todo = "`sager token new --name prometheus --scope operate > tokens.toml`, chmod 600"
    todo += ", and SAGER_HTTP_TOKENS for every process"
    yield _unless_embedded(settings, "HTTP tokens", str(settings.http_tokens or ""), found, todo)


def _unless_embedded(settings: Settings, check: str, good: str, found: str, todo: str) -> DoctorFinding:
    if good or settings.embedded:
        return ok(check, good or f"none; {_ONE_PERSON}")
    return warning(check, found, todo)


def settings_agree(settings: Settings) -> Iterator[DoctorFinding]:
    """Compare the settings that all processes must share, by fingerprint."""
    check = "agreement"
    readings = asyncio.run(process_metrics.fetch(settings))
    if not readings:
        found = "no process is compared: SAGER_CONSOLE_METRICS has no addresses of their metrics"
        yield DoctorFinding(check, Status.SKIPPED, found)
        return
    published = {
        reading.source: {
            labels["setting"]: labels["fingerprint"] for labels, _ in reading.samples_of(shared_settings.METRIC)
        }
        for reading in readings
        if not reading.unreachable
    }
    unreachable = [f"{reading.source} ({reading.unreachable})" for reading in readings if reading.unreachable]
    if unreachable:
        yield warning(check, f"not compared: {', '.join(unreachable)}", "start them, or correct SAGER_CONSOLE_METRICS")
    between = dict(shared_settings.differences(published))
    ours = {name: shared_settings.fingerprint(settings, name) for name in shared_settings.ALL}
    with_us = dict(shared_settings.differences({**published, "this command": ours}))
    for name, values in with_us.items():
        sides = " differs from ".join(" and ".join(processes) for processes in values.values())
        variable = f"SAGER_{name.upper()}"
        if name in between:
            todo = f"set {variable} to one value for all, and restart them: erased events may come back until then"
            yield error(check, f"{variable}: {sides}", todo)
        else:
            yield warning(check, f"{variable}: {sides}", f"run this command with the processes' {variable}")
    if not with_us and not unreachable:
        yield ok(check, f"{len(published)} processes have the same settings where they must")


def files(settings: Settings) -> Iterator[DoctorFinding]:
    """Find data and secrets that other users of the machine can read."""
    exposed = list(permissions.exposed(settings.data_dir, settings.group)) if settings.data_dir.exists() else []
    if settings.duckdb_file.exists():
        exposed += set(permissions.exposed(settings.duckdb_file, settings.group)) - set(exposed)
    if exposed:
        shown = ", ".join(f"{path} ({_mode(path)})" for path in exposed[:_SHOWN])
        more = f" and {len(exposed) - _SHOWN:,} more" if len(exposed) > _SHOWN else ""
        todo = "restart the processes there, which close their own files; close the rest with chmod (folders 700, files"
        found = f"other users can read data: {shown}{more}"
        yield warning("files", found, f"{todo} 640), or set SAGER_GROUP to the group that may read")
    config = os.environ.get("SAGER_CONFIG")
    secrets = (Path(config) if config else None, settings.http_tokens, settings.http_key, settings.kafka_ssl_key)
    open_paths = [path for path in secrets if path is not None and path.exists() and not permissions.is_secret(path)]
    for path in open_paths:
        yield warning("files", f"other users can read or change {path} ({_mode(path)}), a secret", f"chmod 600 {path}")
    if not exposed and not open_paths:
        yield ok("files", "data and secrets are readable for their owner and SAGER_GROUP only")


def _mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


def rules(settings: Settings, client: admin.AdminClient) -> Iterator[DoctorFinding]:
    """Check that brokers authenticate clients, and no ACL allows all."""
    if settings.embedded:
        yield ok("ACLs", f"the embedded broker has none; {_ONE_PERSON}")
        return
    what, pattern = admin.ResourceType.ANY, admin.ResourcePatternType.ANY
    allows = admin.AclOperation.ANY, admin.AclPermissionType.ALLOW
    every = admin.AclBindingFilter(what, None, pattern, None, None, *allows)
    try:
        found = client.describe_acls(every, request_timeout=ANSWER_SECONDS).result(ANSWER_SECONDS + 1)
    except (KafkaException, TimeoutError) as failed:
        yield _not_listed(failed)
        return
    names = (settings.prefix, settings.app_id)
    open_rules = sorted(
        f"{rule.operation.name.lower()} on {rule.restype.name.lower()} {rule.name}"
        for rule in found
        if rule.principal in _ALL_PRINCIPALS
        and (rule.name == "*" or rule.name.startswith(names) or settings.prefix.startswith(rule.name))
    )
    if open_rules:
        shown = ", ".join(open_rules[:_SHOWN]) + (", ..." if len(open_rules) > _SHOWN else "")
        todo = "give each process its own user, see `sager acls`, and remove them"
        yield warning("ACLs", f"rules allow all users: {shown}", todo)
    elif not settings.kafka_security_protocol.sasl and settings.kafka_ssl_certificate is None:
        todo = "allow.everyone.if.no.acl.found=false on the brokers, a user for each process, and `sager acls`"
        yield warning("ACLs", "the brokers accept clients without a name", todo)
    else:
        yield ok("ACLs", "the brokers have an authorizer, and no rule of ours allows all users")


def _not_listed(failed: Exception) -> DoctorFinding:
    name = failed.args[0].name() if isinstance(failed, KafkaException) else ""
    if name == "SECURITY_DISABLED":
        found = "the brokers have no authorizer: any client that reaches them may read and write everything"
        todo = "set authorizer.class.name and allow.everyone.if.no.acl.found=false on the brokers, then `sager acls`"
        return warning("ACLs", found, todo)
    if name.endswith("AUTHORIZATION_FAILED"):
        return ok("ACLs", "the brokers have an authorizer; only an administrator may list its rules")
    return DoctorFinding("ACLs", Status.SKIPPED, f"the brokers do not list their rules ({name or 'no answer in time'})")
