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
PENDING = Gauge("sager_webhook_pending", "Slim skills that an endpoint has not been told yet.", ["endpoint"])
OLDEST = Gauge("sager_webhook_oldest_seconds", "How long the oldest of these has waited.", ["endpoint"])
RESETS = Counter("sager_webhook_resets", "How often an endpoint was told to begin anew.", ["endpoint"])


def begin(endpoint: str) -> None:
    """Has the series of an endpoint start at 0, so that rates exist before the first delivery."""
    for outcome in OUTCOMES:
        DELIVERIES.labels(endpoint, outcome)
    for each in (SECONDS, PENDING, OLDEST, RESETS):
        each.labels(endpoint)
