"""Fetches the metrics of other processes."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from math import isfinite

import aiohttp
from prometheus_client import REGISTRY, Metric
from prometheus_client.parser import text_string_to_metric_families

from streams.settings import Settings

TIMEOUT_SECONDS = 3.0
MOST_BYTES = 8 * 1024 * 1024  # a worker's response has 0.2 MiB
THIS_PROCESS = "this process"
Series = tuple[str, tuple[tuple[str, str], ...]]  # a sample's name and its labels, in order


@dataclass(frozen=True)
class ProcessMetrics:
    """The metrics of one process; `unreachable`: why there are none, or empty."""

    source: str
    samples: Mapping[Series, float] = field(default_factory=dict)
    unreachable: str = ""

    def samples_of(self, name: str) -> Iterator[tuple[dict[str, str], float]]:
        """Yield the labels and values of a metric."""
        return ((dict(labels), value) for (known, labels), value in self.samples.items() if known == name)


def _ours(families: Iterable[Metric]) -> dict[Series, float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        if family.name.startswith("sager_")
        for sample in family.samples
        if isfinite(sample.value) and not sample.name.endswith("_created")
    }


def local_metrics() -> ProcessMetrics:
    """Return the metrics of this process."""
    return ProcessMetrics(THIS_PROCESS, _ours(REGISTRY.collect()))


async def fetch(settings: Settings) -> list[ProcessMetrics]:
    """Fetch the metrics of the configured addresses concurrently."""
    urls = [each.strip() for each in (settings.console_metrics or "").split(",") if each.strip()]
    token = settings.console_metrics_token
    headers = {"Authorization": f"Bearer {token.get_secret_value()}"} if token else {}
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        return await asyncio.gather(*(_read(session, url) for url in urls))


async def _read(session: aiohttp.ClientSession, url: str) -> ProcessMetrics:
    source = url.partition("://")[2].partition("/")[0].rpartition("@")[2] or url
    try:
        # A redirect would send the token elsewhere.
        async with session.get(url, allow_redirects=False) as response:
            if response.status != HTTPStatus.OK:
                refused = response.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
                hint = ": SAGER_CONSOLE_METRICS_TOKEN must have the scope operate" if refused else ""
                return ProcessMetrics(source, unreachable=f"it answered {response.status}{hint}")
            body = bytearray()
            while len(body) < MOST_BYTES and (part := await response.content.read(MOST_BYTES)):
                body += part
        text = body[:MOST_BYTES].decode(errors="replace")
        # Parsing takes tens of milliseconds, which would block the event loop.
        return ProcessMetrics(source, await asyncio.to_thread(lambda: _ours(text_string_to_metric_families(text))))
    except TimeoutError:
        unreachable = f"it did not answer within {TIMEOUT_SECONDS:g} s"
    except aiohttp.ClientConnectionError:
        unreachable = "nothing listens there"
    except (aiohttp.ClientError, ValueError):
        unreachable = "its answer is not Prometheus' text format"
    return ProcessMetrics(source, unreachable=unreachable)
