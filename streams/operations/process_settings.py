"""Fetches the fingerprints of settings that other processes publish."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from streams import shared_settings
from streams.settings import Settings

TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True)
class ProcessSettings:
    """One process's fingerprints by setting; `unreachable`: why there are none, or empty."""

    source: str
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    unreachable: str = ""


async def fetch(settings: Settings) -> list[ProcessSettings]:
    """Fetch the fingerprints from the configured addresses concurrently."""
    urls = [each.strip() for each in (settings.metrics_urls or "").split(",") if each.strip()]
    token = settings.metrics_token
    headers = {"Authorization": f"Bearer {token.get_secret_value()}"} if token else {}
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        return await asyncio.gather(*(_read(session, url) for url in urls))


async def _read(session: aiohttp.ClientSession, url: str) -> ProcessSettings:
    source = url.partition("://")[2].partition("/")[0].rpartition("@")[2] or url
    try:
        # A redirect would send the token elsewhere.
        async with session.get(url, allow_redirects=False) as response:
            if response.status != HTTPStatus.OK:
                refused = response.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
                hint = ": SAGER_METRICS_TOKEN must have the scope operate" if refused else ""
                return ProcessSettings(source, unreachable=f"it answered {response.status}{hint}")
            families = text_string_to_metric_families(await response.text())
            samples = [each for family in families for each in family.samples if each.name == shared_settings.METRIC]
        return ProcessSettings(source, {each.labels["setting"]: each.labels["fingerprint"] for each in samples})
    except TimeoutError:
        unreachable = f"it did not answer within {TIMEOUT_SECONDS:g} s"
    except aiohttp.ClientConnectionError:
        unreachable = "nothing listens there"
    except (aiohttp.ClientError, ValueError):
        unreachable = "its answer is not Prometheus' text format"
    return ProcessSettings(source, unreachable=unreachable)
