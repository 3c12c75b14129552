"""`sager import`: a data set into Kafka."""

import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.options import AsJson, Bootstrap, connected_settings, examples
from streams.cli.output import ProgressBars, note, print_fields, print_json

if TYPE_CHECKING:
    from streams.importers.dataset import Dataset
    from streams.settings import Settings

_EVERY = 200

app = typer.Typer()


@app.command(
    "import",
    epilog=examples(
        "sager import ml-latest-small/ --domain films --min-rating 3.5",
        "sager import shown.parquet --mapping shown.toml --dry-run",
    ),
)
def import_(
    path: Annotated[Path, typer.Argument(help="The data set's file, or the folder with its files.", metavar="PATH")],
    mapping: Annotated[str | None, typer.Option(help="A TOML file, or its name. [detected]", metavar="MAPPING")] = None,
    domain: Annotated[str | None, typer.Option(help="The domain, instead of the items' own.", metavar="DOMAIN")] = None,
    limit_users: Annotated[int | None, typer.Option(min=1, help="Only the first users.", metavar="N")] = None,
    min_rating: Annotated[float | None, typer.Option(help="Leave out lower ratings.", metavar="STARS")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what was understood.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Stream a data set's items and choices into Kafka.

    Histories feed the prior; a list becomes a ranking and a selection. docs/datasets.md has the mappings. Events that
    Kafka still has are not sent again, so a repeated import continues an interrupted one.
    """
    from streams.importers.loader import load  # noqa: PLC0415

    began = time.monotonic()
    data = load(path, limit_users, domain=domain, min_rating=min_rating, mapping=mapping)
    done = _contents(data) if dry_run else _send(data, connected_settings(bootstrap))
    seconds = time.monotonic() - began
    if as_json:
        print_json({**done, "skipped": dict(data.skipped), "errors": data.errors, "seconds": round(seconds, 3)})
        return
    print_fields({**done, "seconds": round(seconds, 1)})
    for reason, number in data.skipped.items():
        note(f"left out: {number:,} {reason}")
    for error in data.errors:
        note(error)


def _send(data: "Dataset", chosen: "Settings") -> dict[str, Any]:
    from streams.importers import dataset  # noqa: PLC0415
    from streams.kafka import topics  # noqa: PLC0415
    from streams.kafka.producer import RecordWriter  # noqa: PLC0415

    for name in topics.ensure(chosen):
        note(f"created {name}")
    known_ids = dataset.existing_event_ids(chosen, "interactions", "rankings", "selections")
    sent, known, total = Counter[str](), Counter[str](), len(data.items) + data.visits + 2 * data.shown
    with ProgressBars() as progress, RecordWriter(chosen) as outbox:
        # The catalogue keeps the newest record per item, so sending it again changes nothing.
        events = chain(dataset.catalogue(data), dataset.interactions(data), dataset.rankings(data))
        for number, event in enumerate(events, 1):
            if event.event_id in known_ids:
                known[event.TOPIC] += 1
            else:
                sent[event.TOPIC] += 1
                outbox.send_event(event)
            if number % _EVERY == 0 or number == total:
                progress.update("events", number, total)
    return {"domain": data.domain, "users": data.users, "sent": dict(sent), "already_there": dict(known)}


def _contents(data: "Dataset") -> dict[str, Any]:
    lists = [shown for of_user in data.lists.values() for shown in of_user]
    return {
        "domain": data.domain,
        "users": data.users,
        "items": len(data.items),
        "visits": data.visits,
        "lists": len(lists),
        "shown_per_list": round(sum(len(shown.candidates) for shown in lists) / len(lists), 2) if lists else 0,
        "lists_by_taken": dict(sorted(Counter(len(shown.taken) for shown in lists).items())),
        "attributes": sorted({name for item in data.some_items() for name in item.metadata}),
    }
