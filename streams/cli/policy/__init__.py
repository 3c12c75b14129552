"""`sager policy`: everything about one person's skill."""

import typer

from streams.cli.groups import POLICY_HEADINGS, HeadedGroup
from streams.cli.options import examples


class PolicyGroup(HeadedGroup):
    """`sager policy`."""

    headings = POLICY_HEADINGS


def register(app: typer.Typer) -> None:
    """Add the group; its verbs are loaded when they are asked for."""
    group = typer.Typer(
        cls=PolicyGroup,
        no_args_is_help=True,
        help="See, change, export or forget a person's skill.",
        epilog=examples(
            "sager policy show ann", "sager policy log ann --domain films", "sager policy export ann --to ann"
        ),
    )
    app.add_typer(group, name="policy")
