"""`sager doctor`: checks of a deployment, each with a remedy. It changes nothing."""

from collections.abc import Iterator

from confluent_kafka.admin import AdminClient, ClusterMetadata

from streams.exceptions import StreamsError
from streams.kafka.clients import reach
from streams.operations.doctor import security, services
from streams.operations.doctor.findings import DoctorFinding, Status, TimedCheck, error, ok
from streams.settings import RankerName, ReasonerName, Settings

__all__ = ["Finding", "Status", "examine"]

CHECK_SECONDS, BROKER_SECONDS = 15.0, 5.0


def examine(settings: Settings, seconds: float = CHECK_SECONDS) -> Iterator[DoctorFinding]:
    """Run all checks, each with this time limit; yield findings in order."""
    reached: list[tuple[AdminClient, ClusterMetadata]] = []
    yield from TimedCheck("broker", lambda: _broker(settings, reached), seconds).findings()
    of_kafka = {
        "topics": lambda: services.topics(settings, *reached[0]),
        "workers": lambda: services.workers(settings, reached[0][0]),
        "ACLs": lambda: security.rules(settings, reached[0][0]),
    }
    others = {
        "DuckDB": lambda: services.snapshot(settings),
        "chain key": lambda: security.chain_key(settings),
        "agreement": lambda: security.settings_agree(settings),
        "HTTP tokens": lambda: security.tokens(settings),
        "files": lambda: security.files(settings),
        "LLM": lambda: _model(settings),
    }
    # Concurrently: the slowest check determines the time.
    running = [TimedCheck(name, check, seconds) for name, check in {**(of_kafka if reached else {}), **others}.items()]
    if not reached:
        yield from (DoctorFinding(name, Status.SKIPPED, "needs a broker") for name in of_kafka)
    for each in running:
        yield from each.findings()


def _broker(settings: Settings, reached: list[tuple[AdminClient, ClusterMetadata]]) -> Iterator[DoctorFinding]:
    try:
        reached.append(reach(settings, BROKER_SECONDS))
    except StreamsError as failed:
        yield error("broker", str(failed), "start Kafka, or set SAGER_BOOTSTRAP to its address")
    else:
        yield services.broker(settings, reached[0][1])


def _model(settings: Settings) -> Iterator[DoctorFinding]:
    uses_rules = settings.reasoner is not ReasonerName.LLM and settings.ranker is RankerName.DETERMINISTIC
    if uses_rules and settings.extract_by is ReasonerName.RULES:
        yield ok("LLM", "none is configured: rules handle everything")
    else:
        yield services.endpoint(settings)
