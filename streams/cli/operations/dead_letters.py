"""`sager dead-letters`: list refused records, and replay them."""

from typing import Annotated

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, examples, moment_ms, reachable, settings
from streams.cli.output import console, note, print_json, printable, row, table

NEWEST = 20
SHOWN_BYTES = 2_000

Reason = Annotated[list[str] | None, typer.Option(help="Of this reason; may be given again.", metavar="REASON")]
Stage = Annotated[list[str] | None, typer.Option(help="Refused by this stage; may be given again.", metavar="STAGE")]
FromTopic = Annotated[
    list[str] | None, typer.Option("--topic", help="From this topic; may be given again.", metavar="TOPIC")
]
Since = Annotated[
    str | None,
    typer.Option(help="Refused since then: 30m, 24h, 7d, or a moment as 2026-01-31T18:00.", metavar="WHEN"),
]
ByUser = Annotated[str | None, typer.Option("--user", help="Keyed by this user.", metavar="USER")]

group = typer.Typer(
    no_args_is_help=True,
    help="Look at refused records, and replay them.",
    epilog=examples(
        "sager dead-letters list --since 24h",
        "sager dead-letters show 4f1c2b9d8e7a6053",
        "sager dead-letters replay --reason internal-error --dry-run",
    ),
)


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, name="dead-letters")


@group.command(
    "list",
    short_help="List the newest, and count by reason.",
    epilog=examples("sager dead-letters list --since 24h", "sager dead-letters list --reason invalid --json"),
)
def list_(
    reason: Reason = None,
    stage: Stage = None,
    topic: FromTopic = None,
    since: Since = None,
    user: ByUser = None,
    limit: Annotated[int, typer.Option(min=0, help="How many to print; all are counted.", metavar="N")] = NEWEST,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """List refused records, newest first, and count them by reason.

    Reads the topic from Kafka; --since skips older records. Letters of erased users are left out. With --json: the
    counts and a list, without the records' bytes.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.operations.dead_letters.reading import (  # noqa: PLC0415
        chosen_of,
        listing,
        place_of,
        summary,
        text_of,
    )

    chosen = reachable(settings(bootstrap=bootstrap))
    filters = chosen_of(chosen, (), reason, stage, topic, moment_ms(since) if since else 0, user)
    with Stages() as stages:
        found = listing(chosen, filters, limit, lambda done, total: stages.at("dead letters", done, total))
    if as_json:
        print_json(
            {
                "total": found.total,
                "by_reason": dict(found.by_reason.most_common()),
                "replayed": len(found.replayed),
                "forgotten": found.forgotten,
                "letters": [summary(each, each.letter.event_id in found.replayed) for each in found.newest],
            }
        )
        return
    made = table("id", "refused (UTC)", "stage", "reason", "from", "key", "detail", title="dead letters")
    for each in found.newest:
        letter = each.letter
        told = f"{letter.reason}, replayed" if letter.event_id in found.replayed else letter.reason
        cells = [letter.event_id, f"{each.refused_at:%Y-%m-%d %H:%M:%S}", letter.stage, told, place_of(letter)]
        row(made, [*cells, text_of(letter.key, 40), letter.detail[:80]])
    console().print(made)
    counts = ", ".join(f"{count:,} {name}" for name, count in found.by_reason.most_common())
    note(f"{found.total:,} in all: {counts or 'none'}; {len(found.replayed):,} of them replayed")
    if found.forgotten:
        note(f"{found.forgotten:,} more are of erased users: not shown and not replayed")
    if found.unreadable:
        note(f"{found.unreadable:,} records on the topic are not dead letters")


@group.command(short_help="Show one with its original.", epilog=examples("sager dead-letters show 4f1c2b9d8e7a6053"))
def show(
    event_id: Annotated[str, typer.Argument(help="The dead letter's id, as `list` prints it.", metavar="EVENT_ID")],
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Show one dead letter: its reason, its origin, and the first 2,000 bytes of the original record.

    With --json: the whole dead letter as it is on its topic, with the record's bytes in URL-safe base64.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.operations.dead_letters.reading import is_clipped, one, place_of, text_of  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    with Stages() as stages:
        found, replayed = one(chosen, event_id, lambda done, total: stages.at("dead letters", done, total))
    letter = found.letter
    if as_json:
        print_json({**letter.model_dump(mode="json"), "replayed_to": replayed})
        return
    size = "none" if letter.value is None else f"{len(letter.value):,} bytes"
    made = table("dead letter", letter.event_id)
    for name, told in (
        ("reason", letter.reason),
        ("detail", letter.detail),
        ("stage", letter.stage),
        ("from", place_of(letter)),
        ("refused", f"{found.refused_at:%Y-%m-%d %H:%M:%S} UTC"),
        ("replayed to", ", ".join(replayed) or "not replayed"),
        ("key", text_of(letter.key, 200)),
        ("value", f"{size}{', clipped when it was refused' if is_clipped(letter) else ''}"),
    ):
        row(made, [name, told])
    console().print(made)
    print(_original(letter.value))


@group.command(
    short_help="Send originals to their topics again.",
    epilog=examples(
        "sager dead-letters replay 4f1c2b9d8e7a6053",
        "sager dead-letters replay --reason internal-error --since 7d --dry-run",
    ),
)
def replay(
    event_ids: Annotated[list[str] | None, typer.Argument(help="Ids of dead letters.", metavar="[EVENT_ID]...")] = None,
    reason: Reason = None,
    stage: Stage = None,
    topic: FromTopic = None,
    since: Since = None,
    user: ByUser = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, and send nothing.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Send the original records of dead letters again, with their keys, to the partitions that they came from.

    Each is sent once: a header on Kafka marks replayed records, also those of an interrupted replay. A record that is
    refused again becomes a new dead letter. Do not run two replays of the same letters at a time.

    Exit code 1: some of the chosen letters cannot be replayed.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.operations.dead_letters import replay as replaying  # noqa: PLC0415
    from streams.operations.dead_letters.reading import chosen_of  # noqa: PLC0415

    if not (event_ids or reason or stage or topic or since or user):
        raise typer.BadParameter("name dead letters by their ids, or choose them, as with --reason internal-error")
    chosen = reachable(settings(bootstrap=bootstrap))
    filters = chosen_of(chosen, event_ids or (), reason, stage, topic, moment_ms(since) if since else 0, user)
    with Stages() as stages:
        planned = replaying.plan(chosen, filters, stages.at)
        sent = 0 if dry_run else replaying.replay(chosen, planned, stages.at)
    hindered = {name: why.value for name, why in planned.hindered.items()}
    if as_json:
        found = {"ready": list(planned.ready), "replayed": sent, "hindered": hindered, "unknown": planned.unknown}
        print_json(found)
    else:
        for name, letter in planned.ready.items() if dry_run else ():
            print(printable(f"{name}  to {letter.source.topic}/{letter.source.partition}"))
        print(f"{len(planned.ready):,} would be replayed" if dry_run else f"{sent:,} replayed")
        for name, why in hindered.items():
            note(f"{name}: {why}")
        for name in planned.unknown:
            note(f"{name}: no such dead letter, or not one of those chosen")
    if planned.unknown or set(planned.hindered.values()) - {replaying.Hindrance.DONE}:
        raise typer.Exit(FAILED)


def _original(value: bytes | None) -> str:
    """Format the original as text, cut; bytes that are not UTF-8 are escaped."""
    if not value:
        return "(no value)"
    more = len(value) - SHOWN_BYTES
    told = printable(value[:SHOWN_BYTES].decode(errors="backslashreplace"))
    return told + (f"\n... {more:,} bytes more; --json prints all" if more > 0 else "")
