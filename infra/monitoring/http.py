"""The row *HTTP API* of the dashboard *Pipeline*: requests, their duration and refusals."""

from infra.monitoring.panels import PER_SECOND, SECONDS, Panel, Query
from infra.monitoring.promql import per_second, quantiles

HTTP = (
    Panel(
        "Requests, by route and status",
        "Of `sager serve`. 503: no snapshot, a full queue, or no acknowledgement from Kafka; its log says which.",
        PER_SECOND,
        [
            Query(
                per_second("sager_http_requests_total", "method", "route", "status"), "{{method}} {{route}} {{status}}"
            )
        ],
        stack=True,
    ),
    Panel(
        "Events in, by topic",
        "Of `POST /v1/events`. Refused: the answer tells the app which field is wrong; `sager lint` explains more.",
        PER_SECOND,
        [Query(per_second("sager_http_events_total", "topic", "status"), "{{topic}} {{status}}")],
        stack=True,
    ),
    Panel(
        "Time of an answer, p95",
        "Changes wait for a worker, up to SAGER_HTTP_WAIT_SECONDS; reads take some 10 ms.",
        SECONDS,
        quantiles("sager_http_seconds", "route", only="p95"),
    ),
    Panel(
        "Refused requests",
        "Of all processes with a tokens file. Much `unknown`: someone guesses tokens, or still uses one that "
        "was revoked. Rate-limited by `token`: set a higher SAGER_HTTP_RATE, or find that app's loop. `too-slow`, "
        "`full`: many clients that send nothing.",
        PER_SECOND,
        [
            Query(per_second("sager_http_auth_failures_total", "reason"), "{{reason}}"),
            Query(per_second("sager_http_rate_limited_total", "by"), "rate-limited by {{by}}"),
            Query(per_second("sager_http_refused_total", "reason"), "refused: {{reason}}"),
        ],
    ),
)
