"""The row *HTTP API* of the dashboard *Pipeline*: what is asked, how long it takes, and who is not let in."""

from infra.monitoring.panels import PER_SECOND, SECONDS, Panel, Query
from infra.monitoring.promql import per_second, quantiles

HTTP = (
    Panel(
        "Requests, by route and status",
        "Of `sager serve`. 503: no snapshot, too much at once, or Kafka confirms nothing; its log tells which.",
        PER_SECOND,
        [
            Query(
                per_second("sager_http_requests_total", "method", "route", "status"), "{{method}} {{route}} {{status}}"
            )
        ],
        stack=True,
    ),
    Panel(
        "Time of an answer, p95",
        "Changes wait for a worker, up to SAGER_HTTP_WAIT_SECONDS; what is read takes some 10 ms.",
        SECONDS,
        quantiles("sager_http_seconds", "route", only="p95"),
    ),
    Panel(
        "Not let in",
        "Of all processes that know a file of tokens. Much `unknown`: somebody guesses, or goes on with a token that "
        "was revoked. Too often by `token`: set a higher SAGER_HTTP_RATE, or find that app's loop.",
        PER_SECOND,
        [
            Query(per_second("sager_http_auth_failures_total", "reason"), "{{reason}}"),
            Query(per_second("sager_http_rate_limited_total", "by"), "too often by {{by}}"),
        ],
    ),
)
