"""What one process tells at `/metrics`: fetched within limits, parsed, and reduced to what the pages show."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite

import aiohttp
from prometheus_client import REGISTRY, Metric
from prometheus_client.parser import text_string_to_metric_families

TIMEOUT_SECONDS = 3.0
"""For one answer, all of it."""
MOST_BYTES = 8 * 1024 * 1024
"""Of one answer; a worker's has 0.2 MiB."""
OURS = "sager_"
OWN = "this process"
FAILED_SOFTLY = (aiohttp.ClientError, TimeoutError, OSError, ValueError)

Series = tuple[str, tuple[tuple[str, str], ...]]
"""A sample's name and its labels, in order."""
Samples = Mapping[Series, float]


@dataclass(frozen=True)
class Reading:
    """What a process told at one moment.

    Attributes:
        source: the process, as `host:port`.
        samples: its samples; empty if it did not answer.
        away: why it did not answer; empty if it did.
    """

    source: str
    samples: Samples = field(default_factory=dict)
    away: str = ""

    def of(self, name: str) -> Iterator[tuple[dict[str, str], float]]:
        """The labels and values of a metric's samples."""
        for (known, labels), value in self.samples.items():
            if known == name:
                yield dict(labels), value

    def one(self, name: str) -> float | None:
        """The value of a metric without labels; None if the process does not tell it."""
        return self.samples.get((name, ()))


def parse(text: str) -> Samples:
    r"""Our samples of Prometheus' text format.

    >>> parse('# TYPE sager_lag gauge\nsager_lag{topic="items"} 3\npython_gc 1\n')
    {('sager_lag', (('topic', 'items'),)): 3}

    Raises:
        ValueError: it is another format.
    """
    return ours(text_string_to_metric_families(text))


def ours(families: Iterable[Metric]) -> Samples:
    """Our samples among metrics."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        if family.name.startswith(OURS)
        for sample in family.samples
        if isfinite(sample.value) and not sample.name.endswith("_created")
    }


def own() -> Reading:
    """What this process, which serves the API and the console, tells by itself."""
    return Reading(OWN, ours(REGISTRY.collect()))


async def fetch(urls: Iterable[str], token: str | None) -> list[Reading]:
    """What each of these addresses tells, at the same time; those that do not answer say why.

    Args:
        urls: addresses of `/metrics`.
        token: sent with each request, where the processes ask for one.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        return await asyncio.gather(*(_read(session, url) for url in urls))


async def _read(session: aiohttp.ClientSession, url: str) -> Reading:
    source = name_of(url)
    try:
        # A redirect would take the token elsewhere.
        async with session.get(url, allow_redirects=False) as response:
            if response.status != 200:  # noqa: PLR2004
                return Reading(source, away=f"it answered {response.status}{_hint(response.status)}")
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > MOST_BYTES:
                    return Reading(source, away=f"its answer is longer than {MOST_BYTES // 1024**2} MiB")
        # Some ten milliseconds, which other requests do not wait for.
        return Reading(source, await asyncio.to_thread(parse, body.decode(errors="replace")))
    except TimeoutError:
        return Reading(source, away=f"it did not answer within {TIMEOUT_SECONDS:g} s")
    except aiohttp.ClientConnectionError:
        return Reading(source, away="nothing listens there")
    except FAILED_SOFTLY:
        return Reading(source, away="its answer is not Prometheus' text format")


def _hint(status: int) -> str:
    return ": SAGER_CONSOLE_METRICS_TOKEN must have the scope operate" if status in (401, 403) else ""


def name_of(url: str) -> str:
    """A process' name, without anything secret in its address.

    >>> name_of("http://user:secret@worker-1:9090/metrics?x=1")
    'worker-1:9090'
    """
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2] or url
