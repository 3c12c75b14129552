"""Examines a deployment: what works, what does not, and what to do about it. It changes nothing.

Each check has a time limit, so that the examination always ends, whatever hangs.
"""

from collections.abc import Iterator

from confluent_kafka.admin import AdminClient, ClusterMetadata

from streams.exceptions import BrokerUnreachable, StreamsError
from streams.kafka.clients import reach
from streams.operations.doctor import agreement, kafka, llm, local, security
from streams.operations.doctor.findings import Bounded, Finding, Status, error, ok
from streams.settings import Settings

__all__ = ["Finding", "Status", "examine"]

CHECK_SECONDS = 15.0
BROKER_SECONDS = 5.0
KAFKA_CHECKS = ("topics", "workers", "clocks", "dead letters", "ACLs")


def examine(settings: Settings, seconds: float = CHECK_SECONDS) -> Iterator[Finding]:
    """Runs all checks and returns their findings in reading order; each check takes at most this many seconds."""
    yield from Bounded("versions", local.versions, seconds).findings()
    yield from Bounded("settings", lambda: local.contradictions(settings), seconds).findings()
    reached: list[tuple[AdminClient, ClusterMetadata]] = []
    yield from Bounded("broker", lambda: _broker(settings, reached), seconds).findings()
    # Concurrently: the slowest check determines the time.
    running = _on_kafka(settings, *reached[0], seconds) if reached else []
    running += [
        Bounded("DuckDB", lambda: local.snapshot(settings, reached[0][0] if reached else None), seconds),
        Bounded("data folder", lambda: local.folder(settings), seconds),
        Bounded("chain key", lambda: security.chain_key(settings), seconds),
        Bounded(agreement.CHECK, lambda: agreement.settings_agree(settings), seconds),
        Bounded("HTTP tokens", lambda: security.tokens(settings), seconds),
        Bounded("files", lambda: security.files(settings), seconds),
        Bounded("LLM", lambda: _model(settings), seconds),
    ]
    if not reached:
        yield from (Finding(name, Status.SKIPPED, "needs a broker") for name in KAFKA_CHECKS)
    for each in running:
        yield from each.findings()


def _on_kafka(settings: Settings, client: AdminClient, cluster: ClusterMetadata, seconds: float) -> list[Bounded]:
    return [
        Bounded("topics", lambda: kafka.topics(settings, client, cluster), seconds),
        Bounded("workers", lambda: kafka.workers(settings, client), seconds),
        Bounded("clocks", lambda: kafka.clocks(settings), seconds),
        Bounded("dead letters", lambda: kafka.dead_letters(settings), seconds),
        Bounded("ACLs", lambda: security.rules(settings, client), seconds),
    ]


def _broker(settings: Settings, reached: list[tuple[AdminClient, ClusterMetadata]]) -> Iterator[Finding]:
    try:
        found = reach(settings, BROKER_SECONDS)
    except BrokerUnreachable as failed:
        yield error("broker", str(failed), "start Kafka, or set SAGER_BOOTSTRAP to its address")
    except StreamsError as failed:
        yield error("broker", str(failed), "see the message")
    else:
        reached.append(found)
        yield from kafka.broker(settings, found[1])


def _model(settings: Settings) -> Iterator[Finding]:
    if local.uses_model(settings):
        yield from llm.endpoint(settings)
    else:
        yield ok("LLM", "none is configured: rules handle everything")
