"""Writes the reference pages' tables from the code.

    python -m infra.reference

A page keeps its own prose; the table stands between two comments. A contract test compares the tables with the code.
"""

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer
from prometheus_client.metrics import MetricWrapperBase

from schemas import TOPICS
from streams import metrics as common_metrics
from streams.analytics import metrics as materializer_metrics
from streams.cli import app
from streams.http import metrics as http_metrics
from streams.settings import Settings
from streams.webhooks import delivery
from streams.worker import metrics as worker_metrics

DOCS = Path(__file__).parents[1] / "docs"
TABLE = re.compile(r"(?<=<!-- table: )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)
PROCESSES = {
    "Every process": (common_metrics,),
    "Worker": (worker_metrics,),
    "Materializer": (materializer_metrics,),
    "HTTP API": (http_metrics,),
    "Webhooks": (delivery,),
}


def default_of(setting: str) -> str:
    """Return a default as an environment variable has it; empty without one."""
    value: Any = Settings.model_fields[setting].get_default(call_default_factory=True)
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case Enum():
            return str(value.value)
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def settings() -> Iterator[tuple[str, ...]]:
    """Yield each setting with its default and description."""
    yield "setting and default", "meaning"
    for name, field in Settings.model_fields.items():
        value = default_of(name)
        yield f"`SAGER_{name.upper()}={value}`", (field.description or "").removesuffix(".")


def metrics() -> Iterator[tuple[str, ...]]:
    """Yield each metric under the name that Prometheus stores, with its labels."""
    yield "metric", "type", "meaning"
    process = ""
    for owner, metric in exported():
        if owner != process:
            process = owner
            yield f"**{process}**", "", ""
        (family,) = metric.describe()
        labels = f"{{{','.join(metric._labelnames)}}}" if metric._labelnames else ""
        # The labels beside the name show by which a metric is counted.
        meaning = re.sub(r", by [a-z ,]+$", "", family.documentation.removesuffix("."))
        yield f"`{name_of(metric)}{labels}`", family.type, meaning


def exported() -> Iterator[tuple[str, MetricWrapperBase]]:
    """Yield each metric once, with its process."""
    found: set[str] = set()
    for process, modules in PROCESSES.items():
        for metric in (each for module in modules for each in vars(module).values()):
            # Processes import the common metrics: the first owner names the process.
            if isinstance(metric, MetricWrapperBase) and name_of(metric) not in found:
                found.add(name_of(metric))
                yield process, metric


def name_of(metric: MetricWrapperBase) -> str:
    """Return the name under which Prometheus stores a metric."""
    (family,) = metric.describe()
    return family.name + ("_total" if family.type == "counter" else "")


def commands() -> Iterator[tuple[str, ...]]:
    """Yield each command with its short help or first sentence."""
    yield "command", "effect"

    def walk(command: Any, path: str) -> Iterator[tuple[str, ...]]:
        inner = getattr(command, "commands", {})
        if not inner or command.invoke_without_command:
            short = command.short_help or command.help or ""
            sentence = re.split(r"(?<=\.)\s", short.strip(), maxsplit=1)[0]
            yield f"`{path}`", " ".join(sentence.split()).removesuffix(".")
        for verb, each in inner.items():
            yield from walk(each, f"{path} {verb}")

    yield from list(walk(typer.main.get_command(app), "sager"))


def topics() -> Iterator[tuple[str, ...]]:
    """Yield each topic with its key, its writer and its retention."""
    yield "topic", "key", "written by", "kept"
    for name, topic in TOPICS.items():
        days = "for ever" if topic.retention is None else f"{topic.retention.days} days"
        yield f"`{name}`", topic.key.value, topic.written_by, "the newest per key" if topic.compact else days


KINDS = {"settings": settings, "metrics": metrics, "commands": commands, "topics": topics}


def written(page: str) -> str:
    """Return a page with the tables that the code gives."""

    def table(match: re.Match[str]) -> str:
        head, *rows = KINDS[match[1]]()
        lines = [head, ("---",) * len(head), *rows]
        return f"{match[1]}{match[2]}\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"

    return TABLE.sub(table, page)


def pages() -> list[Path]:
    """Return the pages that have a generated table."""
    return [page for page in sorted(DOCS.glob("*.md")) if TABLE.search(page.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    for page in pages():
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
