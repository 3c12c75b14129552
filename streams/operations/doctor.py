"""`sager doctor`: read-only checks of a deployment, each with a remedy."""

import asyncio
import os
import queue
import re
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

import duckdb
from confluent_kafka import KafkaException, admin
from confluent_kafka.admin import AdminClient

from streams import permissions
from streams.analytics import read, schema
from streams.exceptions import KafkaUnreachable, StreamsError
from streams.kafka import consumer_group as group
from streams.kafka.clients import reach
from streams.kafka.topics import SAFE_REPLICATION, inspect
from streams.settings import Settings

CHECK_SECONDS, BROKER_SECONDS, ANSWER_SECONDS = 15.0, 5.0, 8.0
OPENAI_URL = "https://api.openai.com/v1"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_MAX_SHOWN, _SHOWN_MODELS, _AUTH_STATUSES = 3, 5, (401, 403)
_ALL_PRINCIPALS = ("User:*", "User:ANONYMOUS")
_ONE_PERSON = "one person's machine needs none"


class Status(StrEnum):
    """The severity: an error stops the pipeline, a warning may."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class DoctorFinding:
    """A check's finding; `todo` is the remedy, if any."""

    status: Status
    check: str
    found: str
    todo: str = ""


ok = partial(DoctorFinding, Status.OK)
warning = partial(DoctorFinding, Status.WARNING)
error = partial(DoctorFinding, Status.ERROR)


class TimedCheck:
    """A check that runs in a thread, with a time limit."""

    # A plain thread, because an executor would wait for a check that hangs.

    def __init__(self, name: str, check: Callable[[], Iterable[DoctorFinding]], seconds: float) -> None:
        self._name, self._check, self._seconds = name, check, seconds
        self._answer: queue.Queue[list[DoctorFinding]] = queue.Queue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            found = list(self._check())
        except Exception as failed:  # a failed check must not fail the others
            found = [error(self._name, f"{type(failed).__name__}: {failed}"[:500], "see the message")]
        self._answer.put(found)

    def findings(self) -> list[DoctorFinding]:
        """Wait for the findings; return an error after the time limit."""
        try:
            return self._answer.get(timeout=self._seconds)
        except queue.Empty:
            todo = "check the service that it queries; try again"
            return [error(self._name, f"no answer within {self._seconds:.0f} s", todo)]


def examine(settings: Settings, seconds: float = CHECK_SECONDS) -> Iterator[DoctorFinding]:
    """Run all checks, each with this time limit; yield findings in order."""
    reached: list[AdminClient] = []
    yield from TimedCheck("broker", lambda: broker(settings, reached), seconds).findings()
    kafka_checks = {"topics": topics, "workers": workers, "ACLs": rules}
    others = {
        "DuckDB": snapshot,
        "chain key": chain_key,
        "HTTP tokens": tokens,
        "files": files,
        "LLM": endpoint,
    }
    # Concurrently: the slowest check determines the time.
    running = [
        TimedCheck(name, partial(kafka_checks[name], settings, reached[0]), seconds) for name in kafka_checks if reached
    ]
    running += [TimedCheck(name, partial(check, settings), seconds) for name, check in others.items()]
    if not reached:
        yield from (DoctorFinding(Status.SKIPPED, name, "needs a broker") for name in kafka_checks)
    for each in running:
        yield from each.findings()


def broker(settings: Settings, reached: list[AdminClient]) -> Iterator[DoctorFinding]:
    """Check the brokers' number against the topics' replicas; fill `reached`."""
    try:
        client, cluster = reach(settings, BROKER_SECONDS)
    except StreamsError as failed:
        yield error("broker", str(failed), "start Kafka, or set SAGER_BOOTSTRAP to its address")
        return
    reached.append(client)
    brokers = len(cluster.brokers)
    found = f"{settings.bootstrap}: {brokers} broker{'s'[: brokers != 1]}, SAGER_REPLICATION={settings.replication}"
    if settings.replication > brokers:
        yield error("broker", found, "start more brokers, or lower SAGER_REPLICATION")
    elif brokers >= SAFE_REPLICATION > settings.replication:
        todo = f"SAGER_REPLICATION={SAFE_REPLICATION}, so that new topics survive the loss of a broker"
        yield warning("broker", found, todo)
    else:
        yield ok("broker", found)


def topics(settings: Settings, _: AdminClient) -> Iterator[DoctorFinding]:
    """Check each topic's existence, partitions and configuration."""
    states = inspect(settings)
    existing = [state for state in states if state.partitions is not None]
    missing = ", ".join(state.name for state in states if state.partitions is None)
    wrong = [error("topics", f"missing: {missing}", "`sager topics --create`, or start a worker")] if missing else []
    wrong += [
        error("topics", f"{s.name} {' and '.join(s.differs)}", "see `sager topics`") for s in existing if s.differs
    ]
    # With other limits, records are refused, lost too early, or kept after an erasure.
    wrong += [warning("topics", f"{s.name} has {each}", "alter it") for s in existing for each in s.wrong_limits]
    yield from wrong
    if not wrong:
        yield ok("topics", f"{len(existing)} as required, {settings.partitions} partitions per user-keyed one")


def workers(settings: Settings, client: AdminClient) -> Iterator[DoctorFinding]:
    """Check the number of workers, and the records waiting for them."""
    try:
        waiting = group.lag(settings, client)
        count = group.members(settings, client)
    except (KafkaException, KafkaUnreachable) as failed:
        yield warning("workers", f"the group {settings.app_id} cannot be read: {failed}", "check the access rules")
        return
    per_topic: Counter[str] = Counter()
    for tp, lag in waiting.items():
        per_topic[tp.topic] += lag
    records = ", ".join(f"{count:,} of {name}" for name, count in per_topic.items() if count)
    working = "members unknown" if count is None else str(count)
    found = f"{working} in the group {settings.app_id}; waiting: {records or 'nothing'}"
    if count == 0:
        yield (error if records else warning)("workers", found, "start `sager worker`")
    elif (count or 0) > settings.partitions:
        yield warning("workers", found, f"only {settings.partitions} of them have work, one per partition")
    else:
        yield ok("workers", found)


def snapshot(settings: Settings) -> Iterator[DoctorFinding]:
    """Check that the DuckDB file is readable and belongs to this deployment."""
    path = settings.duckdb_file
    if not path.exists():
        yield warning("DuckDB", f"there is no {path}", "start `sager materialize`; SAGER_DUCKDB, if it is elsewhere")
        return
    try:
        with read.connect(settings) as con:
            [(layout,)] = con.execute("SELECT schema_version FROM meta").fetchall()
            [(published, records)] = con.execute("SELECT epoch(published_at), records FROM snapshot_info").fetchall()
    except (StreamsError, duckdb.Error, ValueError) as failed:
        yield error("DuckDB", f"{failed}", "move it away: `sager materialize` publishes it again")
        return
    found = f"{path}: layout {layout}, {records:,} records, published {time.time() - published:,.0f} s ago"
    if layout == schema.LAYOUT_VERSION:
        yield ok("DuckDB", found)
    else:
        yield error("DuckDB", found, "`sager rebuild --duckdb` makes a new file from the topics")


def endpoint(settings: Settings) -> Iterator[DoctorFinding]:
    """Check the LLM's endpoint, key and model, if one is configured."""
    models = (settings.reasoner, settings.ranker, settings.extract_by, settings.enrich)
    if models == ("rules", "deterministic", "rules", "off"):
        yield ok("LLM", "none is configured: rules handle everything")
        return
    shown = _CREDENTIALS.sub("***@", settings.llm_base_url or OPENAI_URL)
    if settings.llm_api_key is None and settings.llm_base_url is None:
        todo = "set OPENAI_API_KEY, or SAGER_LLM_BASE_URL to an endpoint of your own"
        yield error("LLM", f"{shown} requires a key", todo)
    else:
        yield asyncio.run(_ask(settings, shown))


async def _ask(settings: Settings, shown: str) -> DoctorFinding:
    from openai import APIError, APIStatusError  # noqa: PLC0415 - it takes half a second

    from streams.llm.client import connect  # noqa: PLC0415

    model = settings.llm_model
    try:
        async with connect(settings) as client, asyncio.timeout(ANSWER_SECONDS):
            names = [each.id for each in (await client.models.list()).data if isinstance(each.id, str)]
    except APIStatusError as failed:
        if failed.status_code in _AUTH_STATUSES:
            return error("LLM", f"{shown} refuses the key (status {failed.status_code})", "check SAGER_LLM_API_KEY")
        return ok("LLM", f"{shown}: answers, but lists no models (status {failed.status_code})")
    except (APIError, TimeoutError, ValueError, AttributeError, TypeError) as failed:
        # Only the type: the message may repeat the key.
        todo = "check that it is up, and SAGER_LLM_BASE_URL, which usually ends in /v1"
        return error("LLM", f"{shown} does not answer ({type(failed).__name__})", todo)
    if model in names:
        return ok("LLM", f"{shown}: answers, has {model}")
    offered = ", ".join(names[:_SHOWN_MODELS]) or "nothing"
    return error("LLM", f"{shown} does not list {model!r}, but {offered}", "set SAGER_LLM_MODEL")


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


def files(settings: Settings) -> Iterator[DoctorFinding]:
    """Find data and secrets that other users of the machine can read."""
    exposed = list(permissions.exposed(settings.data_dir, settings.group)) if settings.data_dir.exists() else []
    if settings.duckdb_file.exists():
        exposed += set(permissions.exposed(settings.duckdb_file, settings.group)) - set(exposed)
    if exposed:
        shown = ", ".join(f"{path} ({_mode(path)})" for path in exposed[:_MAX_SHOWN])
        more = f" and {len(exposed) - _MAX_SHOWN:,} more" if len(exposed) > _MAX_SHOWN else ""
        todo = "restart the processes there, which close their own files; close the rest with chmod (folders 700, files"
        found = f"other users can read data: {shown}{more}"
        yield warning("files", found, f"{todo} 640), or set SAGER_GROUP to the group that may read")
    config = os.environ.get("SAGER_CONFIG")
    secrets = (Path(config) if config else None, settings.http_tokens, settings.http_key, settings.kafka_ssl_key)
    open_paths = [path for path in secrets if path is not None and path.exists() and not permissions.is_private(path)]
    for path in open_paths:
        yield warning("files", f"other users can read or change {path} ({_mode(path)}), a secret", f"chmod 600 {path}")
    if not exposed and not open_paths:
        yield ok("files", "data and secrets are readable for their owner and SAGER_GROUP only")


def _mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


def rules(settings: Settings, client: AdminClient) -> Iterator[DoctorFinding]:
    """Check that brokers authenticate clients, and no ACL allows all."""
    if settings.embedded:
        yield ok("ACLs", f"the embedded broker has none; {_ONE_PERSON}")
        return
    any_resource, pattern = admin.ResourceType.ANY, admin.ResourcePatternType.ANY
    allows = admin.AclOperation.ANY, admin.AclPermissionType.ALLOW
    match_all = admin.AclBindingFilter(any_resource, None, pattern, None, None, *allows)
    try:
        found = client.describe_acls(match_all, request_timeout=ANSWER_SECONDS).result(ANSWER_SECONDS + 1)
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
        shown = ", ".join(open_rules[:_MAX_SHOWN]) + (", ..." if len(open_rules) > _MAX_SHOWN else "")
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
    return DoctorFinding(Status.SKIPPED, "ACLs", f"the brokers do not list their rules ({name or 'no answer in time'})")
