"""Compares the settings that all processes of a deployment must share, by the fingerprints that they publish."""

import asyncio
from collections.abc import Iterator

from streams import agreement
from streams.console.board import scrape
from streams.operations.doctor.findings import Finding, Status, error, ok, warning
from streams.settings import Settings

CHECK = "agreement"
US = "this command"


def settings_agree(settings: Settings) -> Iterator[Finding]:
    """The settings in which the processes differ, from each other or from this command; never their values."""
    urls = [each.strip() for each in (settings.console_metrics or "").split(",") if each.strip()]
    if not urls:
        found = "no process is compared: SAGER_CONSOLE_METRICS has no addresses of their metrics"
        yield Finding(CHECK, Status.SKIPPED, found)
        return
    token = settings.console_metrics_token
    readings = asyncio.run(scrape.fetch(urls, token.get_secret_value() if token else None))
    published = {
        reading.source: {labels["setting"]: labels["fingerprint"] for labels, _ in reading.of(agreement.METRIC)}
        for reading in readings
        if not reading.away
    }
    away = [f"{reading.source} ({reading.away})" for reading in readings if reading.away]
    if away:
        yield warning(CHECK, f"not compared: {', '.join(away)}", "start them, or correct SAGER_CONSOLE_METRICS")
    if not published:
        return
    between = dict(agreement.differences(published))
    ours = {name: agreement.fingerprint(settings, name) for name in agreement.ALL}
    with_us = dict(agreement.differences({**published, US: ours}))
    for name, held in with_us.items():
        told = " differs from ".join(" and ".join(processes) for processes in held.values())
        variable = f"SAGER_{name.upper()}"
        if name in between:
            todo = f"set {variable} to one value for all, and restart them: erased events may come back until then"
            yield error(CHECK, f"{variable}: {told}", todo)
        else:
            yield warning(CHECK, f"{variable}: {told}", f"run this command with the processes' {variable}")
    if not with_us and not away:
        yield ok(CHECK, f"{len(published)} processes have the same settings where they must")
