"""`sager policy explain` of something that the person said: how it came about, and what became of it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from streams.cli.output import console, print_json, printable, row, table
from streams.cli.policy.log import actor_of
from streams.cli.policy.said import holds, what
from streams.cli.policy.sentences import day, statement_sentence

if TYPE_CHECKING:
    from schemas import SkillDiff


def explain_statement(diffs: "Sequence[SkillDiff]", statement_id: str, as_json: bool) -> None:
    """Print how a statement came about and what became of it; the log must name it."""
    from operators.history import at_version, statement_steps  # noqa: PLC0415

    found = statement_steps(diffs, statement_id)
    skill = at_version(diffs, diffs[-1].version)
    now = next((said for said in skill.stated if said.statement_id == statement_id), None) if skill else None
    told: list[dict[str, Any]] = [
        {
            "version": diff.version,
            "occurred_at": diff.occurred_at,
            "kind": change.kind.value,
            "words": change.statement.words if change.statement else "",
            "actor": actor_of(diff),
            "reason": change.reason,
            "event_id": diff.evidence.event_id,
        }
        for diff, change in found
    ]
    for step in told:
        step["sentence"] = statement_sentence(step["kind"], step["words"], step["actor"], step["reason"])
    if as_json:
        print_json({"statement_id": statement_id, "now": now and now.model_dump(mode="json"), "steps": told})
        return
    last = now or next((change.statement for _, change in reversed(found) if change.statement), None)
    state = holds(now, skill.shifted, datetime.now(UTC)) if now and skill else "it does not stand any more"
    heading = f"{what(last) if last else statement_id}, in {diffs[-1].domain}: {state}"
    made = table("when", "what happened", title=printable(heading), whole=("when",))
    for step in told:
        row(made, [day(step["occurred_at"]), step["sentence"]])
    console().print(made)
