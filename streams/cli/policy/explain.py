"""`sager policy explain`: why a line is in a skill, in plain sentences."""

from typing import TYPE_CHECKING

import typer

from streams.cli.options import AsJson, User, examples
from streams.cli.output import console, print_json, printable, row, table
from streams.cli.policy.change import LineOrStatement
from streams.cli.policy.log import InDomain
from streams.cli.policy.reading import snapshot
from streams.cli.policy.unvouched import gate
from streams.rights.sentences import day, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streams.rights.explained import MovedStep, SeededStep, StatementStep


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
    from streams.rights import explained  # noqa: PLC0415

    with snapshot() as con:
        found = explained.explain(con, user, domain, attribute, gate())
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    heading = f"{found.words}, in {domain}: {found.state}"
    if isinstance(found, explained.ExplainedStatement):
        _show(heading, found.steps)
        return
    _show(heading, found.telling)
    if unrelated := len(found.steps) - len(found.telling):
        choices = "choice" if unrelated == 1 else "choices"
        print(f"Of {number(unrelated)} other {choices} a model judged that they have nothing to do with this.")
    if found.unvouched_why is not None:
        print(f"No app and no model is told this: it is {found.unvouched_why}, and nothing vouches for it.")


def _show(heading: str, steps: "Sequence[SeededStep | MovedStep | StatementStep]") -> None:
    made = table("when", "what happened", title=printable(heading), whole=("when",))
    for step in steps:
        row(made, [day(step.occurred_at), step.sentence])
    console().print(made)
