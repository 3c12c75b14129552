"""`sager rebuild`, `replay`, `global-skill` and `weights`: all users' skills and weights."""

import asyncio
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from streams.cli.options import (
    AsJson,
    Bootstrap,
    Domain,
    Since,
    connected_settings,
    examples,
    moment_ms,
    settings,
)
from streams.cli.output import FAILED, ProgressBars, note, print_fields, print_json, print_rows, printable
from streams.cli.policy import WAIT_SECONDS, Actor, InDomain, Reason, Wait, Yes, confirm, current_user, exit_unanswered
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import GlobalSkill

FLOOR = 5
TemplateAuthor = Literal["statistics", "llm"]
WeightActionName = Literal["freeze", "unfreeze", "reset"]

app = typer.Typer()
_EXAMPLES = examples("sager global-skill build --domain films --floor 20 --dry-run", 'sager sql "FROM global_skills"')
global_skill = typer.Typer(
    no_args_is_help=True, help="The skill that a domain's new users start with.", epilog=_EXAMPLES
)
app.add_typer(global_skill, name="global-skill")


@app.command(epilog=examples("sager rebuild", "sager rebuild --apply", "sager rebuild --duckdb"))
def rebuild(
    apply: Annotated[bool, typer.Option("--apply", help="Write folded skills where they differ.")] = False,
    duckdb: Annotated[bool, typer.Option("--duckdb", help="Instead, remove the live DuckDB file.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Fold all skills from the log, and compare.

    Compares byte by byte. Workers may keep running, except with --apply. SAGER_CHAIN_KEY must be the workers' key.
    `sager policy verify` lists the differences. --duckdb removes the live DuckDB file, and `sager materialize` fills a
    new one.

    Exit code 1: the log and the topics differ, even if --apply has repaired them.
    """
    from streams.operations import rebuild as rebuilding  # noqa: PLC0415

    if duckdb:
        from streams.analytics.store import live_file, remove_live  # noqa: PLC0415

        configured = settings(bootstrap=bootstrap)
        question = f"Remove {live_file(configured)}? Rows older than the retention of the topics are lost."
        confirm(question, yes=yes)
        remove_live(configured)
        note("removed. `sager materialize` fills a new one from the topics")
        return
    chosen = connected_settings(bootstrap)
    with ProgressBars() as progress:
        report = rebuilding.rebuild(chosen, progress.update, apply=apply)
    if as_json:
        print_json({**vars(report), "fine": report.is_fine})
    else:
        print_fields({name: value for name, value in vars(report).items() if name != "examples"})
        print_rows(report.examples)
        if report.different and not apply:
            note("`sager policy verify` lists them; to repair them, stop the workers and run `sager rebuild --apply`")
    if not report.is_fine:
        raise typer.Exit(FAILED)


@app.command(
    epilog=examples(
        "sager replay --set evolve_mode=paper --since 7d",
        "sager replay --set reasoner=llm --set llm_model=small-model --domain films --limit 500",
    )
)
def replay(
    changes: Annotated[list[str] | None, typer.Option("--set", help="A changed setting.", metavar="NAME=VALUE")] = None,
    since: Since = None,
    domain: Domain = None,
    user: Annotated[str | None, typer.Option(help="One user only.", metavar="USER")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Whole users, up to about N choices.", metavar="N")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Replay past choices with other settings, and compare.

    Only reads Kafka. The live and the changed skills rank the candidates of a choice before they learn from it. An
    unknown name with --set prints all settings; docs/whatif.md explains the result. With an LLM, every choice costs one
    call.
    """
    from operators.whatif import differences  # noqa: PLC0415
    from streams.operations.whatif import ReplayFilter, replay_all, variant_of  # noqa: PLC0415

    live = connected_settings(bootstrap)
    variant, changed = variant_of(live, changes or [])
    replay_filter = ReplayFilter(moment_ms(since), user, domain, limit)
    with ProgressBars() as progress:
        report = replay_all(live, variant, replay_filter, on_progress=partial(progress.update, "choices"))
    measures, users = differences(report.choices), len({user for user, *_ in report.choices})
    ndcg = measures["ndcg_at_5"]
    rows = {
        name: {"live": each.live, "whatif": each.other, "difference": each.delta, "margin_95": each.margin}
        for name, each in measures.items()
    }
    counts = {
        **vars(report),
        "choices": len(report.choices),
        "users": users,
        "users_by_ndcg_at_5": {"better": ndcg.better, "worse": ndcg.worse, "equal": users - ndcg.better - ndcg.worse},
    }
    if as_json:
        print_json({"changed": changed, "measures": rows, **counts})
        return
    title = ", ".join(f"{name}={value}" for name, value in changed.items()) or "nothing changed"
    print_rows([{"figure": name, **row} for name, row in rows.items()], title)
    print_fields(counts)


@global_skill.command(epilog=_EXAMPLES)
def build(
    domain: Domain = None,
    floor: Annotated[int, typer.Option(min=1, help="Fewest users behind any attribute.", metavar="N")] = FLOOR,
    by: Annotated[TemplateAuthor, typer.Option(help="The author of template and strategies.")] = "statistics",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Publish nothing.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Build and publish the global skill of every domain.

    Attributes and personas of fewer users than the floor are left out. Run it regularly, for example from cron: workers
    load the new one by themselves. With --by llm a model chooses the lines and words the strategies, by one call per
    domain; without a usable answer the statistics decide.
    """
    from streams.kafka import topics  # noqa: PLC0415
    from streams.kafka.producer import RecordWriter  # noqa: PLC0415
    from streams.operations import global_skills  # noqa: PLC0415

    chosen = connected_settings(bootstrap)
    if by == "llm":
        global_skills.require_model(chosen)
    with ProgressBars() as progress:
        populations, unreadable = global_skills.read_populations(chosen, domain, progress.update)
        if not populations:
            raise StreamsError(
                f"there are no histories, and {unreadable:,} profiles are unreadable: run `sager import`, or send "
                "interactions from an app, while a `sager worker` runs"
            )
        skills = global_skills.build(populations, datetime.now(UTC), floor)
        if by == "llm":
            skills = asyncio.run(global_skills.with_policies(chosen, populations, skills, floor))
    if not dry_run:
        topics.ensure(chosen)
        with RecordWriter(chosen) as outbox:
            for skill in skills:
                outbox.send_event(skill)
    if as_json:
        print_json([skill.model_dump(mode="json") for skill in skills])
    else:
        _print_skills(skills)
        print("nothing was published" if dry_run else f"published on {chosen.topic('global-skills')}")
    if unreadable:
        note(f"left out: {unreadable:,} unreadable profiles")
    for skill in skills:
        if skill.reasoned_by.fallback:
            author = "statistics" if skill.reasoned_by.reasoner == "rules" else "model"
            note(f"{skill.domain}: lines from the {author}; {skill.reasoned_by.fallback}")
        if not skill.attributes:
            note(f"{skill.domain}: no taste is shared by {floor} of its {skill.users:,} users, so it has no lines yet")


def _print_skills(skills: "list[GlobalSkill]") -> None:
    for skill in skills:
        most = ", ".join(line.value for line in skill.attributes[:3])
        print(printable(f"{skill.domain}: {len(skill.attributes)} lines of {skill.users:,} users, such as {most}"))
    print_rows(
        [{"domain": skill.domain, **each.model_dump(mode="json")} for skill in skills for each in skill.personas]
    )


@app.command(epilog=examples("sager weights freeze --domain films", 'sager sql "FROM learned_weights"'))
def weights(
    action: Annotated[WeightActionName, typer.Argument(help="What to do with the learning.")],
    domain: InDomain,
    yes: Yes = False,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Stop, resume or reset learning of a domain's ranking weights.

    Choices made while the weights are frozen are not learned later. A reset restores the start values; frozen weights
    stay frozen.
    """
    from schemas import WeightAction, WeightCommand  # noqa: PLC0415
    from streams.kafka.producer import envelope  # noqa: PLC0415
    from streams.rights.commands import CommandClient  # noqa: PLC0415

    chosen = connected_settings(bootstrap)
    if action == "reset":
        confirm(f"Erase the learned weights of {domain}?", yes=yes)
    sender: Any = {"actor": actor or current_user(), "reason": reason}
    sent = WeightCommand(**envelope(datetime.now(UTC)), domain=domain, action=WeightAction(action), **sender)
    with CommandClient(chosen, domain) as client:
        changed = client.change_weights(sent, wait)
    if changed is None:
        exit_unanswered(sent.event_id, wait)
    found = {name: getattr(changed, name) for name in ("domain", "version", "choices", "frozen")}
    if as_json:
        print_json(found)
    else:
        print_fields(found)
