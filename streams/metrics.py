"""The Prometheus metrics of every process, without users and ids."""

from importlib.metadata import PackageNotFoundError, version

from prometheus_client import Counter, Gauge


def distribution_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return version("sager-streams")
    except PackageNotFoundError:
        return "source"


READY = Gauge("sager_ready", "1 if this process is ready, else 0; /ready names the reason.")
BUILD_INFO = Gauge("sager_build_info", "1, with the version that runs.", ["version"])
DEAD_LETTERS = Counter("sager_dead_letters", "Records that a stage refused, by reason.", ["stage", "reason"])
SHARED_SETTINGS = Gauge(
    "sager_shared_setting_info",
    "1, with the fingerprint of a setting that all processes must share.",
    ["setting", "fingerprint"],
)
CLOCK_SKEW = Gauge("sager_clock_skew_seconds", "How far the last record was ahead of this process's clock.")
FROM_THE_FUTURE = Counter("sager_records_from_future", "Records over five minutes ahead of this process's clock.")
# The reasons of `schemas.BadRecord` for which a record is no event at all.
UNREADABLE = ("empty", "not-json", "invalid", "unknown-version")

BUILD_INFO.labels(version=distribution_version()).set(1)
