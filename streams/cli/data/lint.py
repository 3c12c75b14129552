"""`sager lint`: what events in a file will teach, before they are sent."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic_core import from_json

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, examples, settings
from streams.cli.output import note, print_json_rows, printable

if TYPE_CHECKING:
    from streams.dry_run import DryRun
    from streams.http.intake import Batch

AT_ONCE = 2_000
SHOWN = 20
"""How many events are told one by one; of the rest only what is to be warned of, together."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "lint",
        short_help="Tell what events will teach, before they are sent.",
        epilog=examples("sager lint events.jsonl", "sager lint - --json < events.jsonl"),
    )(lint)


def lint(
    file: Annotated[
        Path, typer.Argument(help='One event a line: {"topic": "selections", "event": {...}}; - reads the input.')
    ],
    as_json: AsJson = False,
) -> None:
    """Tell what events will teach, and what is wrong with them, as `POST /v1/events/lint` does; needs no Kafka.

    The pipeline's own steps are run on people of whom nothing is known. Events of the file meet each other: a selection
    its ranking.

    Exit code 1: some events would be refused.
    """
    from datetime import UTC, datetime  # noqa: PLC0415

    from streams.dry_run import dry_run_of  # noqa: PLC0415
    from streams.http.intake import Batch  # noqa: PLC0415

    now = datetime.now(UTC)
    linter, batch = dry_run_of(settings(), now), Batch(lambda _: True, now)
    found = _linted(linter, batch, _lines(file))
    if as_json:
        print_json_rows(found)
    else:
        _show(found)
        note(f"{len(batch.entries) - batch.refused:,} would be accepted, {batch.refused:,} refused")
    if batch.refused:
        raise typer.Exit(FAILED)


def _lines(file: Path) -> Iterator[bytes]:
    if str(file) == "-":
        yield from sys.stdin.buffer
    else:
        with file.open("rb") as opened:
            yield from opened


def _entry(line: bytes) -> Any:
    """What a line says; None if it is no JSON."""
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError:
        return None


def _linted(linter: "DryRun", batch: "Batch", lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    from streams.dry_run import lessons  # noqa: PLC0415

    left = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    while some := list(islice(left, AT_ONCE)):
        entries = [_entry(line) for _, line in some]
        begin = len(batch.entries)
        batch.check(entries)
        checked = batch.entries[begin:]
        records = [entry["event"] if each.event else {} for entry, each in zip(entries, checked, strict=True)]
        told = lessons(linter, [each.event for each in checked], records)
        for (number, _), each, lesson in zip(some, checked, told, strict=True):
            yield {
                "line": number,
                "event_id": each.event_id,
                "topic": each.topic.base if each.topic else None,
                "teaches": lesson.teaches,
                "warnings": lesson.warnings,
                "errors": each.errors,
            }


def _show(found: Iterable[dict[str, Any]]) -> None:
    """The first events one by one; of the others each warning once, with how many events have it."""
    times: Counter[str] = Counter()
    first: dict[str, int] = {}
    for at, each in enumerate(found):
        wrong = [f"refused: {error['field']}: {error['what']}" for error in each["errors"]]
        if at < SHOWN:
            print(printable(f"line {each['line']}: {each['topic'] or 'no topic'} {each['event_id'] or ''}"))
            for mark, told in (("+", each["teaches"]), ("!", each["warnings"]), ("x", wrong)):
                for sentence in told:
                    print(printable(f"  {mark} {sentence}"))
            continue
        for sentence in (*each["warnings"], *wrong):
            times[sentence] += 1
            first.setdefault(sentence, each["line"])
    for sentence, count in times.most_common():
        print(printable(f"{count:,} more, the first on line {first[sentence]}: {sentence}"))
