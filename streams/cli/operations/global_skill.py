"""`sager global-skill build`: the skill that a domain's new users start with."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from streams.cli.options import AsJson, Bootstrap, Domain, connected_settings, examples
from streams.cli.output import note, print_json, printable
from streams.cli.progress import ProgressBars
from streams.exceptions import StreamsError

FLOOR = 5
_EXAMPLES = examples("sager global-skill build --domain films --floor 20 --dry-run", 'sager sql "FROM global_skills"')

app = typer.Typer()
group = typer.Typer(no_args_is_help=True, help="The skill that a domain's new users start with.", epilog=_EXAMPLES)
app.add_typer(group, name="global-skill")


@group.command(epilog=_EXAMPLES)
def build(
    domain: Domain = None,
    floor: Annotated[int, typer.Option(min=1, help="Fewest users behind any attribute.", metavar="N")] = FLOOR,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Publish nothing.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Build the global skill of every domain from its users' histories, and publish it.

    Attributes of fewer users than the floor are left out. Run it regularly, for example from cron: workers load the new
    one by themselves.
    """
    from streams.kafka import topics  # noqa: PLC0415
    from streams.kafka.producer import EventWriter  # noqa: PLC0415
    from streams.operations import global_skills  # noqa: PLC0415

    chosen = connected_settings(bootstrap)
    with ProgressBars() as progress:
        populations, unreadable = global_skills.read_populations(chosen, domain, progress.update)
        if not populations:
            raise StreamsError(
                f"there are no histories, and {unreadable:,} profiles are unreadable: run `sager import`, or send "
                "interactions from an app, while a `sager worker` runs"
            )
        skills = global_skills.build(populations, datetime.now(UTC), floor)
    if not dry_run:
        topics.ensure(chosen)
        with EventWriter(chosen) as outbox:
            for skill in skills:
                outbox.send(skill)
    if as_json:
        print_json([skill.model_dump(mode="json") for skill in skills])
    else:
        for skill in skills:
            most = ", ".join(line.value for line in skill.attributes[:3])
            print(printable(f"{skill.domain}: {len(skill.attributes)} lines of {skill.users:,} users, such as {most}"))
        print("nothing was published" if dry_run else f"published on {chosen.topic('global-skills')}")
    if unreadable:
        note(f"left out: {unreadable:,} unreadable profiles")
    for skill in skills:
        if not skill.attributes:
            note(f"{skill.domain}: no taste is shared by {floor} of its {skill.users:,} users, so it has no lines yet")
