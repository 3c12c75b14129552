"""`sager global-skill`: the skill that a domain's new users start with."""

from typing import Annotated

import typer

from streams.cli.options import AsJson, Bootstrap, Domain, examples, reachable, settings
from streams.cli.output import console, note, print_json, row, table
from streams.exceptions import StreamsError

FLOOR = 5

group = typer.Typer(
    no_args_is_help=True,
    help="The skill that a domain's new users start with.",
    epilog=examples("sager global-skill build", 'sager sql "FROM global_skills"'),
)


class NoGlobalSkill(StreamsError, LookupError):
    """There is nothing to build from, or nothing has been built."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, name="global-skill")


@group.callback()
def _group() -> None:
    """A group with one command would become that command."""


@group.command(
    short_help="Build global skills from all users' histories.",
    epilog=examples("sager global-skill build --dry-run", "sager global-skill build --domain films --floor 20"),
)
def build(
    domain: Domain = None,
    floor: Annotated[int, typer.Option(min=1, help="Fewest users behind any attribute.", metavar="N")] = FLOOR,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Publish nothing.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Build the global skill of every domain from its users' histories, and publish it.

    Reads the workers' table of profiles. An attribute held by fewer users than the floor is left out. With
    --json: a list, one global skill per domain.

    Run it regularly, for instance from cron: workers pick up the new one by themselves.
    """
    from datetime import UTC, datetime  # noqa: PLC0415

    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.kafka import topics  # noqa: PLC0415
    from streams.operations import global_skills  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    with Stages() as stages:
        read = global_skills.read_populations(chosen, domain, stages.at)
        if not read.populations:
            where = "" if domain is None else f" in the domain {domain!r}"
            raise NoGlobalSkill(
                f"none of the {read.unreadable:,} profiles can be read: were they written by a newer version?"
                if read.unreadable
                else f"no user has a history{where} yet: `sager import`, or interactions from an app, while a "
                "`sager worker` runs"
            )
        skills = global_skills.build(read.populations.values(), datetime.now(UTC), floor)
    if not dry_run:
        for name in topics.ensure(chosen):
            note(f"created {name}")
        global_skills.publish(chosen, skills)
    if as_json:
        print_json([skill.model_dump(mode="json") for skill in skills])
    else:
        made = table("domain", "users", "lines", "shares", "most shared")
        made.caption = (
            "a dry run: nothing was published" if dry_run else f"published on {chosen.topic('global-skills')}"
        )
        for skill in skills:
            most = ", ".join(line.value for line in skill.attributes[:3])
            row(made, [skill.domain, f"{skill.users:,}", len(skill.attributes), len(skill.shares), most])
        console().print(made)
    if read.unreadable:
        note(f"left out: {read.unreadable:,} profiles that cannot be read")
    for skill in skills:
        if not skill.attributes:
            note(f"{skill.domain}: no taste is shared by {floor} of its {skill.users:,} users, so it has no lines yet")
