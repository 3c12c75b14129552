"""The PromQL building blocks of panels."""

from infra.monitoring.panels import OF, Query

INTERVAL = "$__rate_interval"
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def total(function: str, metric: str, *by: str, of: str = OF, window: str = INTERVAL) -> str:
    """`sum by (...) (rate(metric{...}[window]))`; without a function the sum of a gauge."""
    grouped = f"sum by ({', '.join(by)})" if by else "sum"
    return f"{grouped} ({function}({metric}{{{of}}}[{window}]))" if function else f"{grouped} ({metric}{{{of}}})"


def per_second(metric: str, *by: str, of: str = OF, window: str = INTERVAL) -> str:
    """A counter's rate per second."""
    return total("rate", metric, *by, of=of, window=window)


def quantiles(histogram: str, *by: str, window: str = INTERVAL, only: str = "p50 p95 p99") -> list[Query]:
    """A histogram's median and tail, for each value of the labels."""
    buckets = per_second(f"{histogram}_bucket", "le", *by, window=window)
    return [
        Query(
            f"histogram_quantile({QUANTILES[name]}, {buckets})", " ".join([*(f"{{{{{label}}}}}" for label in by), name])
        )
        for name in only.split()
    ]
