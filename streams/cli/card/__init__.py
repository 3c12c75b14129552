"""`sager card`: what a person said of themselves in conversations."""

import typer

from streams.cli.groups import CARD_HEADINGS, HeadedGroup
from streams.cli.options import examples


class CardGroup(HeadedGroup):
    """`sager card`."""

    headings = CARD_HEADINGS


def register(app: typer.Typer) -> None:
    """Add the group; its verbs are loaded when they are asked for."""
    group = typer.Typer(
        cls=CardGroup,
        no_args_is_help=True,
        help="See or export a person's card.",
        epilog=examples(
            "sager card show ann",
            "sager card export ann --to skills/about-ann",
        ),
    )
    app.add_typer(group, name="card")
