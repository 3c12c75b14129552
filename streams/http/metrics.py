"""The HTTP API's metrics. Labels never name users or tokens."""

from prometheus_client import Counter, Histogram

from schemas.topics import APP_TOPICS

REQUESTS = Counter(
    "sager_http_requests", "Requests to the HTTP API, by route and status.", ["method", "route", "status"]
)
SECONDS = Histogram(
    "sager_http_seconds",
    "Request duration, by route.",
    ["route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
AUTH_FAILURES = Counter(
    "sager_http_auth_failures", "Requests without a valid token or scope, by reason, including those for metrics.",
    ["reason"],
)  # fmt: skip
RATE_LIMITED = Counter("sager_http_rate_limited", "Requests over a rate limit or a share, by limit.", ["by"])
REFUSED = Counter(
    "sager_http_refused", "Requests and connections refused for their form, pace or number, by reason.",
    ["reason"],
)  # fmt: skip
EVENTS = Counter("sager_http_events", "Events from apps, by topic and outcome.", ["topic", "status"])

OTHER = "other"  # the label of unknown paths, and of topics that apps do not write

for _topic in APP_TOPICS:
    for _status in ("accepted", "refused"):
        EVENTS.labels(_topic, _status)
EVENTS.labels(OTHER, "refused")
for _reason in ("missing", "not-bearer", "unknown", "scope"):
    AUTH_FAILURES.labels(_reason)
for _by in ("token", "address", "share"):
    RATE_LIMITED.labels(_by)
for _reason in ("malformed", "too-slow", "body-too-large", "full", "not-read"):
    REFUSED.labels(_reason)
