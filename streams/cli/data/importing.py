"""`sager import`: a data set into Kafka."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, Bootstrap, connected_settings, examples
from streams.cli.output import note, print_fields, print_json
from streams.cli.progress import ProgressBars

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas import Event
    from streams.kafka.producer import EventOutbox

_EVERY = 200

app = typer.Typer()


@app.command(
    "import",
    short_help="Stream a data set into Kafka.",
    epilog=examples(
        "sager import ml-latest-small/ --domain films --min-rating 3.5", "sager import data/ --limit-users 50"
    ),
)
def import_(
    path: Annotated[Path, typer.Argument(help="The folder with the data set's files.", metavar="PATH")],
    domain: Annotated[
        str | None, typer.Option(help="The items' domain, instead of their own.", metavar="DOMAIN")
    ] = None,
    layout: Annotated[str, typer.Option("--format", help="How the folder is laid out: auto, or its format.")] = "auto",
    limit_users: Annotated[int | None, typer.Option(min=1, help="Only the first users.", metavar="N")] = None,
    min_rating: Annotated[float | None, typer.Option(help="Leave out what was rated lower.", metavar="STARS")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Stream a data set into Kafka: its items into the catalogue, its users' histories as interactions.

    docs/datasets.md has the layouts. Histories feed the prior.

    Events that Kafka still holds are not sent again: a repeated import goes on where an interrupted one stopped.
    """
    from streams.importers import Format, dataset, load  # noqa: PLC0415
    from streams.kafka import topics  # noqa: PLC0415
    from streams.kafka.producer import EventOutbox  # noqa: PLC0415

    if layout not in ("auto", *Format):
        raise typer.BadParameter(f"there is no format {layout!r}; there are auto, {', '.join(Format)}")
    which = None if layout == "auto" else Format(layout)
    data = load(path, limit_users, format=which, domain=domain, min_rating=min_rating)
    chosen = connected_settings(bootstrap)
    for name in topics.ensure(chosen):
        note(f"created {name}")
    began = time.monotonic()
    with ProgressBars() as progress, EventOutbox(chosen) as outbox:
        run = _Import(outbox, progress)
        # The catalogue keeps the newest per item, so that sending it again changes nothing.
        run.send(dataset.catalogue(data), len(data.items), set())
        run.send(dataset.interactions(data), data.visits, dataset.held_ids(chosen, "interactions"))
    counts = {"domain": data.domain, "users": len(data.histories), "sent": run.sent, "already_there": run.held}
    seconds = time.monotonic() - began
    if as_json:
        print_json({**counts, "skipped": dict(data.skipped), "seconds": round(seconds, 3)})
        return
    print_fields({**counts, "seconds": round(seconds, 1)})
    for reason, number in data.skipped.items():
        note(f"left out: {number:,} {reason}")


class _Import:
    """One import. `sent` and `held` count events by topic: those that went out, and those that Kafka had already."""

    def __init__(self, outbox: "EventOutbox", progress: "ProgressBars") -> None:
        self.sent: dict[str, int] = {}
        self.held: dict[str, int] = {}
        self._outbox, self._progress = outbox, progress

    def send(self, events: "Iterable[Event]", total: int, held: set[str]) -> None:
        """Send all events but those that Kafka holds, and report the progress."""
        for place, event in enumerate(events, 1):
            known = event.event_id in held
            counts = self.held if known else self.sent
            counts[event.TOPIC] = counts.get(event.TOPIC, 0) + 1
            if not known:
                self._outbox.send(event)
            if place % _EVERY == 0 or place == total:
                self._progress.update(event.TOPIC, place, total)
        self._outbox.flush()
