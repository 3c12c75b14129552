"""Checks of the broker, topics, workers, DuckDB file and LLM endpoint."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterator

import duckdb
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata, ConfigResource, ResourceType

from streams.analytics import read, schema
from streams.exceptions import KafkaUnreachable, StreamsError
from streams.kafka import consumer_group as group
from streams.kafka.topics import SAFE_IN_SYNC, SAFE_REPLICATION, TopicState, inspect
from streams.operations.doctor.findings import DoctorFinding, error, ok, warning
from streams.settings import Settings
from streams.worker.runtime.watchdog import lag

ANSWER_SECONDS = 8.0
OPENAI_URL = "https://api.openai.com/v1"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_SHOWN_MODELS, _REFUSED = 5, (401, 403)


def broker(settings: Settings, cluster: ClusterMetadata) -> DoctorFinding:
    """Check the number of brokers against the topics' replicas."""
    brokers = len(cluster.brokers)
    found = f"{settings.bootstrap}: {brokers} broker{'s'[: brokers != 1]}, SAGER_REPLICATION={settings.replication}"
    if settings.replication > brokers:
        return error("broker", found, "start more brokers, or lower SAGER_REPLICATION")
    if brokers >= SAFE_REPLICATION > settings.replication:
        todo = f"SAGER_REPLICATION={SAFE_REPLICATION}, so that new topics survive the loss of a broker"
        return warning("broker", found, todo)
    return ok("broker", found)


def topics(settings: Settings, client: AdminClient, cluster: ClusterMetadata) -> Iterator[DoctorFinding]:
    """Check each topic's existence, partitions and configuration."""
    states = inspect(settings)
    there = [state for state in states if state.partitions is not None]
    missing = ", ".join(state.name for state in states if state.partitions is None)
    wrong = [error("topics", f"missing: {missing}", "`sager topics --create`, or start a worker")] if missing else []
    wrong += [error("topics", f"{s.name} {' and '.join(s.differs)}", "see `sager topics`") for s in there if s.differs]
    wrong += _configured_otherwise(settings, client, there)
    yield from wrong
    if not wrong:
        yield ok("topics", f"{len(there)} as required, {settings.partitions} partitions per user-keyed one")


def _configured_otherwise(settings: Settings, client: AdminClient, states: list[TopicState]) -> Iterator[DoctorFinding]:
    # With other limits, records are refused, lost too early, or kept after an erasure.
    in_sync = {"min.insync.replicas": str(SAFE_IN_SYNC)} if settings.replication >= SAFE_REPLICATION else {}
    wanted = {state.name: state.topic.config() | in_sync for state in states}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in wanted]
    for resource, future in client.describe_configs(resources, request_timeout=ANSWER_SECONDS).items():
        try:
            entries = future.result(ANSWER_SECONDS)
        except KafkaException:  # this broker does not describe configurations
            continue
        for key, value in wanted[resource.name].items():
            has = entries[key].value if key in entries else None
            if has not in (None, value) and key != "cleanup.policy":
                yield warning("topics", f"{resource.name} has {key}={has}", f"the registry has {value}: alter it")


def workers(settings: Settings, client: AdminClient) -> Iterator[DoctorFinding]:
    """Check the number of workers, and the records waiting for them."""
    try:
        waiting = lag(settings, client)
        count = group.members(settings, client)
    except (KafkaException, KafkaUnreachable) as failed:
        yield warning("workers", f"the group {settings.app_id} cannot be read: {failed}", "check the access rules")
        return
    per_topic: Counter[str] = Counter()
    for tp, count_of in waiting.items():
        per_topic[tp.topic] += count_of
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


def endpoint(settings: Settings) -> DoctorFinding:
    """Check that the LLM endpoint answers, accepts the key and has the model."""
    url = settings.llm_base_url or OPENAI_URL
    shown = _CREDENTIALS.sub("***@", url)
    if settings.llm_api_key is None and settings.llm_base_url is None:
        todo = "set OPENAI_API_KEY, or SAGER_LLM_BASE_URL to an endpoint of your own"
        return error("LLM", f"{shown} requires a key", todo)
    return asyncio.run(_ask(settings, url, shown))


async def _ask(settings: Settings, url: str, shown: str) -> DoctorFinding:
    # Some endpoints list no models: then ask for one token.
    from openai import APIError, APIStatusError  # noqa: PLC0415 - it takes half a second

    from streams.llm.client import connect  # noqa: PLC0415

    model = settings.llm_model
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    try:
        async with connect(url, key) as client, asyncio.timeout(ANSWER_SECONDS):
            try:
                names = [each.id for each in (await client.models.list()).data if isinstance(each.id, str)]
            except (APIStatusError, AttributeError, TypeError) as failed:
                if getattr(failed, "status_code", 0) in _REFUSED:
                    raise
                say_ok = [{"role": "user", "content": "Say ok."}]
                await client.chat.completions.create(model=model, max_tokens=1, messages=say_ok)  # type: ignore[arg-type]
                return ok("LLM", f"{shown}: lists no models, but {model} answers")
    except APIStatusError as failed:
        todo = "check SAGER_LLM_API_KEY" if failed.status_code in _REFUSED else "check SAGER_LLM_MODEL, and the account"
        return error("LLM", f"{shown} refuses {model!r} (status {failed.status_code})", todo)
    except (APIError, TimeoutError, ValueError) as failed:
        # Only the type: the message may repeat the key.
        todo = "check that it is up, and SAGER_LLM_BASE_URL, which usually ends in /v1"
        return error("LLM", f"{shown} does not answer ({type(failed).__name__})", todo)
    if model in names:
        return ok("LLM", f"{shown}: answers, has {model}")
    some = ", ".join(names[:_SHOWN_MODELS]) or "nothing"
    return error("LLM", f"{shown} does not list {model!r}, but {some}", "set SAGER_LLM_MODEL")
