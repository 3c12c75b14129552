"""`sager dead-letters`: look at what was refused, and send it again."""

from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.errors import FAILED
from streams.cli.moments import moment_ms
from streams.cli.options import AsJson, Bootstrap, examples, reachable, settings
from streams.cli.output import console, note, print_json, printable, row, table

if TYPE_CHECKING:
    from streams.operations.dead_letters.replay import Plan

NEWEST = 20
SHOWN_BYTES = 2_000
_LINE = 16

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


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Look at refused records, and send them again.",
        epilog=examples(
            "sager dead-letters list --since 24h",
            "sager dead-letters show 4f1c2b9d8e7a6053",
            "sager dead-letters replay --reason internal-error --dry-run",
        ),
    )
    group.command(
        "list",
        short_help="List the newest, and count by reason.",
        epilog=examples("sager dead-letters list --since 24h", "sager dead-letters list --reason invalid --json"),
    )(list_)
    group.command(
        "show",
        short_help="Show one with its original.",
        epilog=examples("sager dead-letters show 4f1c2b9d8e7a6053"),
    )(show)
    group.command(
        "replay",
        short_help="Send originals to their topics again.",
        epilog=examples(
            "sager dead-letters replay 4f1c2b9d8e7a6053",
            "sager dead-letters replay --reason internal-error --since 7d --dry-run",
        ),
    )(replay)
    app.add_typer(group, name="dead-letters")


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

    Reads the topic from Kafka; --since skips older records. Letters of people who were forgotten are left out. With
    --json: the counts and a list, without the records' bytes.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.operations.dead_letters.reading import listing  # noqa: PLC0415
    from streams.operations.dead_letters.telling import chosen_of, place_of, summary, text_of  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    with Stages() as stages:
        found = listing(
            chosen,
            chosen_of(chosen, (), reason, stage, topic, moment_ms(since) if since else 0, user),
            limit,
            lambda done, total: stages.at("dead letters", done, total),
        )
    _note_what_there_is(found.there, reason=reason, stage=stage, topic=topic)
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
        note(f"{found.forgotten:,} more are of people who were forgotten: not shown and not replayed")
    if found.unreadable:
        note(f"{found.unreadable:,} records on the topic are no dead letters")


def _note_what_there_is(there: dict[str, set[str]], **asked: list[str] | None) -> None:
    """Of a reason, stage or topic that no dead letter has: which ones there are."""
    for option, names in asked.items():
        for name in names or ():
            if not any(each == name or each.endswith(f".{name}") for each in there[option]):
                known = ", ".join(sorted(there[option]))
                note(f"no dead letter has --{option} {name}; there are: {known or 'no dead letters at all'}")


def show(
    event_id: Annotated[str, typer.Argument(help="The dead letter's id, as `list` prints it.", metavar="EVENT_ID")],
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Show one dead letter: what is wrong, where it came from, and the first 2,000 bytes of the original record.

    With --json: the whole dead letter as it is on its topic, with the record's bytes in URL-safe base64.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.operations.dead_letters.reading import is_clipped, one  # noqa: PLC0415
    from streams.operations.dead_letters.telling import place_of, text_of  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    with Stages() as stages:
        found, replayed = one(chosen, event_id, lambda done, total: stages.at("dead letters", done, total))
    letter = found.letter
    if as_json:
        print_json({**letter.model_dump(mode="json"), "replayed_to": replayed})
        return
    made = table("dead letter", letter.event_id)
    for name, told in (
        ("reason", letter.reason),
        ("detail", letter.detail),
        ("stage", letter.stage),
        ("from", place_of(letter)),
        ("refused", f"{found.refused_at:%Y-%m-%d %H:%M:%S} UTC"),
        ("replayed to", ", ".join(replayed) or "not replayed"),
        ("key", text_of(letter.key, 200)),
        ("value", f"{_size(letter.value)}{', clipped when it was refused' if is_clipped(letter) else ''}"),
    ):
        row(made, [name, told])
    console().print(made)
    print(_original(letter.value))


def replay(
    event_ids: Annotated[
        list[str] | None, typer.Argument(help="Dead letters by their ids.", metavar="[EVENT_ID]...")
    ] = None,
    reason: Reason = None,
    stage: Stage = None,
    topic: FromTopic = None,
    since: Since = None,
    user: ByUser = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent, and send nothing.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Send the original records of dead letters again, with their keys, to the partitions that they came from.

    Each is sent once: a header on Kafka marks what was replayed before, even by a replay that was interrupted. A record
    that is refused again becomes a new dead letter. Do not run two replays of the same letters at a time.

    Exit code 1: some of the chosen letters cannot be replayed.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.operations.dead_letters import replay as replaying  # noqa: PLC0415
    from streams.operations.dead_letters.telling import chosen_of  # noqa: PLC0415

    if not (event_ids or reason or stage or topic or since or user):
        raise typer.BadParameter("name dead letters by their ids, or choose them, as with --reason internal-error")
    chosen = reachable(settings(bootstrap=bootstrap))
    filters = chosen_of(chosen, event_ids or (), reason, stage, topic, moment_ms(since) if since else 0, user)
    with Stages() as stages:
        planned = replaying.plan(chosen, filters, stages.at)
        sent = 0 if dry_run else replaying.replay(chosen, planned, stages.at)
    _note_what_there_is(planned.there, reason=reason, stage=stage, topic=topic)
    failed = [name for name, why in planned.hindered.items() if why is not replaying.Hindrance.DONE]
    if as_json:
        print_json(
            {
                "ready": list(planned.ready),
                "replayed": sent,
                "hindered": {name: why.value for name, why in planned.hindered.items()},
                "unknown": planned.unknown,
            }
        )
    else:
        _tell(planned, sent, dry_run)
    if failed or planned.unknown:
        raise typer.Exit(FAILED)


def _tell(planned: "Plan", sent: int, dry_run: bool) -> None:
    if dry_run:
        for name, letter in planned.ready.items():
            print(printable(f"{name}  to {letter.source.topic}/{letter.source.partition}"))
        print(f"{len(planned.ready):,} would be replayed")
    else:
        print(f"{sent:,} replayed")
    for name, why in planned.hindered.items():
        note(f"{name}: {why.value}")
    for name in planned.unknown:
        note(f"{name}: no such dead letter, or not one of those chosen")


def _size(value: bytes | None) -> str:
    return "none" if value is None else f"{len(value):,} bytes"


def _original(value: bytes | None) -> str:
    """The original as text if it is UTF-8, else as bytes in hexadecimal; cut."""
    if not value:
        return "(no value)"
    shown, more = value[:SHOWN_BYTES], max(0, len(value) - SHOWN_BYTES)
    try:
        value.decode()
        told = printable(shown.decode(errors="ignore"))
    except UnicodeDecodeError:
        told = "\n".join(_hex_line(shown[start : start + _LINE], start) for start in range(0, len(shown), _LINE))
    return told + (f"\n... {more:,} bytes more; --json prints all" if more else "")


def _hex_line(part: bytes, start: int) -> str:
    text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)  # noqa: PLR2004 - printable ASCII
    return f"{start:08x}  {part.hex(' '):<{3 * _LINE - 1}}  {text}"
