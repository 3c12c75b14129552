"""`sager policy explain`: everything that one line of a skill rests on."""

from typing import TYPE_CHECKING, Any

import typer

from streams.cli.options import AsJson, User, examples
from streams.cli.output import console, note, print_json, printable, row, table
from streams.cli.policy.change import Line
from streams.cli.policy.log import InDomain, actor_of, change_of
from streams.cli.policy.reading import logged, snapshot
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from operators.history import Step
    from schemas import PolicySkill, SkillDiff
    from streams.materializer.evidence import Choice

NEAREST = 5


class UnknownLine(StreamsError, LookupError):
    """The log of the skill has no such line."""


def register(group: typer.Typer) -> None:
    """Add the verb."""
    group.command(
        "explain",
        epilog=examples(
            "sager policy explain ann preference:genre:noir --domain films",
            "sager policy explain ann preference:genre:noir --domain films --json",
        ),
    )(explain)


def explain(user: User, attribute: Line, domain: InDomain, as_json: AsJson = False) -> None:
    """Print everything that one line of a skill rests on: the history or the choices, one by one, and what each did.

    Each choice with its item and the ranking it was chosen from, each command with its actor, each step with its
    reasoner and reason. A line that is gone, or had other words, is explained too. Read from the newest DuckDB
    snapshot, so it is some seconds behind.
    """
    from operators.history import at_version, steps  # noqa: PLC0415
    from streams.materializer import evidence  # noqa: PLC0415

    with snapshot() as con:
        diffs = logged(con, user, domain)
        found = steps(diffs, attribute)
        if not found:
            raise UnknownLine(_unknown_line(diffs, attribute))
        choices = evidence.choices(con, user, [step.diff.evidence.event_id for step in found])
        told = [_told(con, step, choices.get(step.diff.evidence.event_id)) for step in found]
    now = at_version(diffs, diffs[-1].version)
    if as_json:
        print_json({"attribute_id": attribute, "now": _now(now, attribute), "steps": told})
        return
    _show(user, domain, attribute, now, told)


def _told(con: "DuckDBPyConnection", step: "Step", choice: "Choice | None") -> dict[str, Any]:
    """A step in plain values."""
    from streams.materializer import evidence, read  # noqa: PLC0415

    diff, change = step.diff, step.change
    told: dict[str, Any] = {"version": diff.version, "attribute_id": step.attribute_id}
    if change is None:
        line = step.seeded
        past, newest = evidence.history(con, diff.user_id, diff.domain, diff.occurred_at.replace(tzinfo=None))
        titles = read.titles(con, list(newest))
        return told | {
            "kind": "seeded",
            "occurred_at": diff.occurred_at.isoformat(),
            "tier_before": None,
            "tier_after": str(line.tier) if line else None,
            "source": line.source.value if line else None,
            "support": line.support if line else 0,
            "interactions_before": past,
            "newest_items": {item: title or titles.get(item) for item, title in newest.items()},
        }
    item = diff.evidence.item_id
    ranking = choice and {
        "ranking_id": choice.ranking_id,
        "place": choice.place,
        "shown": list(choice.shown),
        "instruction": choice.instruction,
        "ranked_by": choice.ranked_by,
        "skill_version": choice.skill_version,
    }
    return told | {
        "kind": change.kind.value,
        "tier_before": None if change.before is None else str(change.before),
        "tier_after": None if change.after is None else str(change.after),
        "change": change_of(change),
        "event_id": diff.evidence.event_id,
        "occurred_at": diff.occurred_at.isoformat(),
        "item_id": item,
        "title": (choice.title if choice else "") or (read.titles(con, [item]).get(item) if item else None),
        "reasoner": diff.reasoned_by.model or diff.reasoned_by.reasoner,
        "actor": actor_of(diff),
        "reason": change.reason,
        "ranking": ranking,
    }


def _now(skill: "PolicySkill | None", attribute: str) -> dict[str, Any] | None:
    """The line as it stands now; None for one that is gone."""
    for line in skill.attributes if skill else ():
        if line.attribute_id == attribute:
            return line.model_dump(mode="json")
    return None


def _show(user: str, domain: str, attribute: str, skill: "PolicySkill | None", told: list[dict[str, Any]]) -> None:
    line = _now(skill, attribute)
    state = (
        f"{line['value']} ({line['dimension']}), {line['tier']}, support {line['support']}"
        f"{', pinned' if line['pinned'] else ''}"
        if line
        else "not in the skill any more"
    )
    made = table(
        "version", "when (UTC)", "what", "chosen", "from", "by", "why", title=printable(f"{attribute}: {state}")
    )
    for step in told:
        when = step["occurred_at"][:19].replace("T", " ")
        row(made, [step["version"], when, *_cells(step, attribute)])
    console().print(made)
    if line is None:
        note(f"the skill of {user} in {domain} has no such line now; these are the steps that led to that")


def _cells(step: dict[str, Any], attribute: str) -> list[str]:
    if step["kind"] == "seeded":
        newest = ", ".join(title or item for item, title in step["newest_items"].items())
        past = f"{step['interactions_before']} interactions before" + (f", the newest: {newest}" if newest else "")
        return [f"started as {step['tier_after']}", "", past, str(step["source"]), f"support {step['support']}"]
    named = " ".join(filter(None, (step["title"], f"({step['item_id']})" if step["item_id"] else "")))
    ranking = step["ranking"]
    shown = (
        f"place {ranking['place']} of {len(ranking['shown'])} in {ranking['ranking_id']}"
        + (f", asked for “{ranking['instruction']}”" if ranking["instruction"] else "")
        if ranking
        else ""
    )
    is_same = step["attribute_id"] == attribute
    what = step["change"].replace(f" {attribute}", "", 1) if is_same else step["change"]
    by = f"{step['actor']} (a person's command)" if step["actor"] else step["reasoner"]
    return [what, named or step["event_id"], shown, by, step["reason"]]


def _unknown_line(diffs: "list[SkillDiff]", attribute: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415

    known = {line.attribute_id for diff in diffs for line in diff.seed or ()}
    known |= {change.attribute_id for diff in diffs for change in diff.changes}
    nearest = get_close_matches(attribute, sorted(known), NEAREST, 0.0)
    return f"no version of this skill has a line {attribute!r}. The nearest: {', '.join(nearest) or 'there are none'}"
