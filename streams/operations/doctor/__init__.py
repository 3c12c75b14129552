"""`sager doctor`: read-only checks of a deployment, each with a remedy."""

from collections.abc import Iterator
from functools import partial

from confluent_kafka.admin import AdminClient

from streams.exceptions import StreamsError
from streams.kafka.clients import reach
from streams.operations.doctor import checks
from streams.operations.doctor.findings import DoctorFinding, Status, TimedCheck, error
from streams.settings import Settings

__all__ = ["DoctorFinding", "Status", "examine"]

CHECK_SECONDS, BROKER_SECONDS = 15.0, 5.0


def examine(settings: Settings, seconds: float = CHECK_SECONDS) -> Iterator[DoctorFinding]:
    """Run all checks, each with this time limit; yield findings in order."""
    reached: list[AdminClient] = []
    yield from TimedCheck("broker", lambda: _broker(settings, reached), seconds).findings()
    of_kafka = {"topics": checks.topics, "workers": checks.workers, "ACLs": checks.rules}
    others = {
        "DuckDB": checks.snapshot,
        "chain key": checks.chain_key,
        "agreement": checks.settings_agree,
        "HTTP tokens": checks.tokens,
        "files": checks.files,
        "LLM": checks.endpoint,
    }
    # Concurrently: the slowest check determines the time.
    running = [TimedCheck(name, partial(of_kafka[name], settings, reached[0]), seconds) for name in of_kafka if reached]
    running += [TimedCheck(name, partial(check, settings), seconds) for name, check in others.items()]
    if not reached:
        yield from (DoctorFinding(name, Status.SKIPPED, "needs a broker") for name in of_kafka)
    for each in running:
        yield from each.findings()


def _broker(settings: Settings, reached: list[AdminClient]) -> Iterator[DoctorFinding]:
    try:
        client, cluster = reach(settings, BROKER_SECONDS)
    except StreamsError as failed:
        yield error("broker", str(failed), "start Kafka, or set SAGER_BOOTSTRAP to its address")
        return
    reached.append(client)
    yield checks.broker(settings, cluster)
