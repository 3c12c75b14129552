"""`sager import`: a data set into Kafka."""

import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from streams.cli.options import AsJson, Bootstrap, connected_settings, examples
from streams.cli.output import ProgressBars, note, print_fields, print_json

_EVERY = 200

app = typer.Typer()


@app.command(
    "import",
    epilog=examples(
        "sager import ml-latest-small/ --domain films --min-rating 3.5", "sager import data/ --limit-users 50"
    ),
)
def import_(
    path: Annotated[Path, typer.Argument(help="The folder with the data set's files.", metavar="PATH")],
    domain: Annotated[str | None, typer.Option(help="The domain, instead of the items' own.", metavar="DOMAIN")] = None,
    limit_users: Annotated[int | None, typer.Option(min=1, help="Only the first users.", metavar="N")] = None,
    min_rating: Annotated[float | None, typer.Option(help="Leave out lower ratings.", metavar="STARS")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Stream a data set into Kafka.

    Sends its items and its users' histories; docs/datasets.md has the layouts. Histories feed the prior. Events that
    Kafka still has are not sent again, so a repeated import continues an interrupted one.
    """
    from streams.importers import dataset, load  # noqa: PLC0415
    from streams.kafka import topics  # noqa: PLC0415
    from streams.kafka.producer import RecordWriter  # noqa: PLC0415

    data = load(path, limit_users, domain=domain, min_rating=min_rating)
    chosen = connected_settings(bootstrap)
    for name in topics.ensure(chosen):
        note(f"created {name}")
    began = time.monotonic()
    known_ids = dataset.existing_event_ids(chosen, "interactions")
    sent, known, total = Counter[str](), Counter[str](), len(data.items) + data.visits
    with ProgressBars() as progress, RecordWriter(chosen) as outbox:
        # The catalogue keeps the newest record per item, so sending it again changes nothing.
        for number, event in enumerate(chain(dataset.catalogue(data), dataset.interactions(data)), 1):
            if event.event_id in known_ids:
                known[event.TOPIC] += 1
            else:
                sent[event.TOPIC] += 1
                outbox.send_event(event)
            if number % _EVERY == 0 or number == total:
                progress.update("events", number, total)
    counts = {"domain": data.domain, "users": len(data.histories), "sent": dict(sent), "already_there": dict(known)}
    seconds = time.monotonic() - began
    if as_json:
        print_json({**counts, "skipped": dict(data.skipped), "seconds": round(seconds, 3)})
        return
    print_fields({**counts, "seconds": round(seconds, 1)})
    for reason, number in data.skipped.items():
        note(f"left out: {number:,} {reason}")
