"""The Prometheus metrics of `sager webhooks`. Endpoints are named by the operator: a small, closed set."""

from prometheus_client import Counter, Gauge, Histogram

OUTCOMES = ("delivered", "failed", "refused", "given-up")

DELIVERIES = Counter("sager_webhook_deliveries", "Attempts to deliver, by outcome.", ["endpoint", "outcome"])
SECONDS = Histogram(
    "sager_webhook_seconds",
    "How long an endpoint takes to answer.",
    ["endpoint"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
PENDING = Gauge("sager_webhook_pending", "Records of slim skills that an endpoint has not got yet.", ["endpoint"])


def begin(endpoint: str) -> None:
    """Start the series of an endpoint at 0, so that rates exist before the first delivery."""
    for outcome in OUTCOMES:
        DELIVERIES.labels(endpoint, outcome)
    for each in (SECONDS, PENDING):
        each.labels(endpoint)
