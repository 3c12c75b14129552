"""`sager import`: a data set into Kafka."""

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from streams.cli.options import AsJson, Bootstrap, connected, examples
from streams.cli.output import note, print_fields, print_json
from streams.cli.progress import Stages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas import Event
    from streams.importers import Dataset
    from streams.kafka.events import EventOutbox
    from streams.settings import Settings

PRIOR_SHARE = 0.5
ROUNDS_AHEAD = 32
"""Choices per user that may be under way at once: a worker keeps a bounded number of a user's open rankings."""
_EVERY = 200


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "import",
        short_help="Stream a data set into Kafka.",
        epilog=examples(
            "sager import ml-latest-small/ --domain films --min-rating 3.5",
            "sager import data/ --as replay --limit-users 50",
        ),
    )(import_)


def import_(
    path: Annotated[Path, typer.Argument(help="The folder with the data set's files.", metavar="PATH")],
    domain: Annotated[
        str | None, typer.Option(help="The items' domain, instead of their own.", metavar="DOMAIN")
    ] = None,
    layout: Annotated[str, typer.Option("--format", help="How the folder is laid out: auto, or its format.")] = "auto",
    become: Annotated[
        Literal["interactions", "replay"], typer.Option("--as", help="What the users' histories become.")
    ] = "interactions",
    limit_users: Annotated[int | None, typer.Option(min=1, help="Only the first users.", metavar="N")] = None,
    min_rating: Annotated[float | None, typer.Option(help="Leave out what was rated lower.", metavar="STARS")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Stream a data set into Kafka: its items into the catalogue, its users' histories as events.

    As interactions, histories feed the prior. As a replay, the first half of each does, and each later visit becomes a
    ranking of that item among nine others, and its selection: this needs a running worker. Events that Kafka still
    holds are not sent again. docs/datasets.md has the layouts.
    """
    from streams.importers import Format, load  # noqa: PLC0415
    from streams.kafka import topics  # noqa: PLC0415
    from streams.kafka.events import EventOutbox  # noqa: PLC0415

    if layout not in ("auto", *Format):
        raise typer.BadParameter(f"there is no format {layout!r}; there are auto, {', '.join(Format)}")
    which = None if layout == "auto" else Format(layout)
    data = load(path, limit_users, format=which, domain=domain, min_rating=min_rating)
    chosen = connected(bootstrap)
    for name in topics.ensure(chosen):
        note(f"created {name}")
    began = time.monotonic()
    with Stages() as stages, EventOutbox(chosen) as outbox:
        run = _Import(chosen, data, outbox, stages)
        run.load(PRIOR_SHARE if become == "replay" else 1.0)
        if become == "replay":
            run.replay(PRIOR_SHARE)
    found = {
        "domain": data.domain,
        "users": len(data.histories),
        "sent": run.sent,
        "already_there": run.held,
        "skipped": dict(data.skipped),
        "seconds": round(time.monotonic() - began, 3),
    }
    if as_json:
        print_json(found)
    else:
        print_fields(found)


class _Import:
    """One import. `sent` and `held` count events by topic: what went out, and what Kafka had already."""

    def __init__(self, chosen: "Settings", data: "Dataset", outbox: "EventOutbox", stages: "Stages") -> None:
        self.sent: Counter[str] = Counter()
        self.held: Counter[str] = Counter()
        self._settings, self._data, self._outbox, self._stages = chosen, data, outbox, stages

    def load(self, share: float) -> None:
        """The catalogue, and the first share of the histories as interactions."""
        from streams.importers import events  # noqa: PLC0415
        from streams.importers.kafka import held_ids  # noqa: PLC0415

        # The catalogue keeps the newest per item, so that sending it again changes nothing.
        self._send(events.catalogue(self._data), len(self._data.items), set())
        held = held_ids(self._settings, "interactions")
        self._send(events.interactions(self._data, share), events.count(self._data, share), held)
        self._outbox.flush()

    def replay(self, share: float) -> None:
        """The rest of the histories as choices, not further ahead of the workers than they can keep."""
        from streams.importers import events  # noqa: PLC0415
        from streams.importers.kafka import held_ids, wait_for_workers  # noqa: PLC0415

        held = held_ids(self._settings, "rankings") | held_ids(self._settings, "selections")
        prior = events.count(self._data, share)
        wait_for_workers(
            self._settings,
            ["interactions"],
            lambda left: self._stages.at("learning the past", max(0, prior - left), prior),
        )
        total, done = self._data.visits - events.count(self._data, share), 0
        for number, choices in enumerate(events.replay(self._data, share)):
            for ranking, selection in choices:
                self._one(ranking, held)
                self._one(selection, held)
            done += len(choices)
            self._stages.at("choices", done, total)
            if number % ROUNDS_AHEAD == ROUNDS_AHEAD - 1:
                self._outbox.flush()
                wait_for_workers(self._settings, ["rankings", "selections"])

    def _send(self, events: "Iterable[Event]", total: int, held: set[str]) -> None:
        for place, event in enumerate(events, 1):
            self._one(event, held)
            if place % _EVERY == 0 or place == total:
                self._stages.at(event.TOPIC, place, total)

    def _one(self, event: "Event", held: set[str]) -> None:
        known = event.event_id in held
        (self.held if known else self.sent)[event.TOPIC] += 1
        if not known:
            self._outbox.send(event)
