"""`sager policy explain`: why a line is in a skill, in plain sentences."""

from typing import TYPE_CHECKING, Any

import typer

from streams.cli.options import AsJson, User, examples
from streams.cli.output import console, print_json, printable, row, table
from streams.cli.policy.change import LineOrStatement
from streams.cli.policy.log import InDomain, actor_of, change_of
from streams.cli.policy.reading import logged, snapshot
from streams.cli.policy.sentences import day, number, sentence, state
from streams.cli.policy.statement import explain_statement
from streams.cli.policy.unvouched import gate
from streams.cli.policy.unvouched import told as why
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from operators.history import Step
    from schemas import Attribute, PolicySkill, SkillDiff
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
            "sager policy explain ann avoids:preference:genre:horror --domain films --json",
        ),
    )(explain)


def explain(user: User, attribute: LineOrStatement, domain: InDomain, as_json: AsJson = False) -> None:
    """Explain one line or statement of a skill in plain sentences.

    They tell the history, choices and commands behind it, oldest first, and what a model said of it. A line that is
    gone or was reworded is explained too. --json adds what the sentences leave out: ids, the ranking and place of each
    choice, reasoner, reason and tiers. Read from the newest DuckDB snapshot, some seconds behind.
    """
    from operators.history import at_version, counted, statement_steps, steps  # noqa: PLC0415
    from streams.materializer import evidence  # noqa: PLC0415

    with snapshot() as con:
        diffs = logged(con, user, domain)
        if statement_steps(diffs, attribute):
            explain_statement(diffs, attribute, as_json)
            return
        found = steps(diffs, attribute)
        if not found:
            raise UnknownLine(_unknown_line(diffs, attribute))
        choices = evidence.choices(con, user, [step.diff.evidence.event_id for step in found])
        told = [_told(con, step, choices.get(step.diff.evidence.event_id)) for step in found]
    now = at_version(diffs, diffs[-1].version)
    line = next((each for each in now.attributes if each.attribute_id == attribute), None) if now else None
    held = gate().of_line(line) if line else None
    lines = counted(diffs)
    told = [step | _counts(lines.get((step["version"], step["attribute_id"]))) for step in told]
    told = [step | {"sentence": sentence(step)} for step in told]
    if as_json:
        print_json({"attribute_id": attribute, "now": _now(now, attribute), "unvouched": held, "steps": told})
        return
    _show(domain, _words(diffs, attribute), _now(now, attribute), told)
    if held is not None:
        print(f"No app and no model is told this: it is {why(held)}, and nothing vouches for it.")


def _told(con: "DuckDBPyConnection", step: "Step", choice: "Choice | None") -> dict[str, Any]:
    """A step in plain values."""
    from streams.materializer import evidence, read  # noqa: PLC0415

    diff, change, judged = step.diff, step.change, step.judged
    told: dict[str, Any] = {"version": diff.version, "attribute_id": step.attribute_id}
    if change is None and judged is None:
        line = step.seeded
        past, newest = evidence.history(con, diff.user_id, diff.domain, diff.occurred_at.replace(tzinfo=None))
        titles = read.titles(con, list(newest))
        return told | {
            "kind": "seeded",
            "occurred_at": diff.occurred_at,
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
        "kind": "judged" if change is None else change.kind.value,
        "tier_before": None if change is None or change.before is None else str(change.before),
        "tier_after": None if change is None or change.after is None else str(change.after),
        "change": None if change is None else change_of(change),
        "event_id": diff.evidence.event_id,
        "occurred_at": diff.occurred_at,
        "item_id": item,
        "title": (choice.title if choice else "") or (read.titles(con, [item]).get(item) if item else None),
        "reasoner": diff.reasoned_by.model or diff.reasoned_by.reasoner,
        "actor": actor_of(diff),
        "reason": "" if change is None else change.reason,
        "verdict": None if judged is None else str(judged.verdict),
        "quoted": None if judged is None or judged.quoted is None else judged.quoted.value,
        "analysis": diff.analysis,
        "heard": None if diff.heard is None else diff.heard.model_dump(mode="json"),
        "ranking": ranking,
        "others_with": _others_with(diff, step.attribute_id, len(choice.shown)) if choice else None,
    }


def _counts(line: "Attribute | None") -> dict[str, str | None]:
    """How often the line was taken by then and was to be expected, in choices; None where it is not counted."""
    from operators.evidence import number_of  # noqa: PLC0415

    if line is None:
        return {"taken": None, "expected": None}
    return {"taken": number_of(line.taken), "expected": number_of(line.expected)}


def _others_with(diff: "SkillDiff", attribute: str, shown: int) -> int | None:
    """How many of the items that were left have what the line says; None where the counts do not tell.

    A model's verdict is in the same counts.
    """
    from schemas import ONE  # noqa: PLC0415

    if diff.tally is None or attribute not in diff.tally.lines or diff.reasoned_by.model is not None:
        return None
    taken, expected = diff.tally.lines[attribute]
    return min(max(0, round(expected * shown / ONE) - bool(taken)), shown - 1)


def _now(skill: "PolicySkill | None", attribute: str) -> dict[str, Any] | None:
    """The line as it stands now; None for one that is gone."""
    for line in skill.attributes if skill else ():
        if line.attribute_id == attribute:
            return line.model_dump(mode="json")
    return None


def _show(domain: str, words: str, line: dict[str, Any] | None, told: list[dict[str, Any]]) -> None:
    made = table("when", "what happened", title=printable(f"{words}, in {domain}: {state(line)}"), whole=("when",))
    unrelated = 0
    for step in told:
        if step["kind"] == "judged" and step["verdict"] == "unrelated":
            unrelated += 1
        else:
            row(made, [day(step["occurred_at"]), step["sentence"]])
    console().print(made)
    if unrelated:
        choices = "choice" if unrelated == 1 else "choices"
        print(f"Of {number(unrelated)} other {choices} a model judged that they have nothing to do with this.")


def _words(diffs: "list[SkillDiff]", attribute: str) -> str:
    """What the line says: its newest words, also of one that is gone; its id where no version has them."""
    words = attribute
    for diff in diffs:
        lines = [*(diff.seed or ()), *(change.discovered for change in diff.changes if change.discovered)]
        words = next((f"{each.value} ({each.dimension})" for each in lines if each.attribute_id == attribute), words)
    return words


def _unknown_line(diffs: "list[SkillDiff]", attribute: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415

    known = {line.attribute_id for diff in diffs for line in diff.seed or ()}
    known |= {change.attribute_id for diff in diffs for change in diff.changes}
    known |= {change.statement_id for diff in diffs for change in diff.stated}
    nearest = get_close_matches(attribute, sorted(known), NEAREST, 0.0)
    return f"no version of this skill has a line {attribute!r}. The nearest: {', '.join(nearest) or 'there are none'}"
