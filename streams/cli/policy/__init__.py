"""`sager policy`: everything about one person's skill."""

import typer

from streams.cli.errors import PolicyGroup
from streams.cli.options import examples
from streams.cli.policy import change, explain, forget, log, portable, show, verify


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        cls=PolicyGroup,
        no_args_is_help=True,
        help="See, change, export or forget a person's skill.",
        epilog=examples(
            "sager policy show ann", "sager policy log ann --domain films", "sager policy export ann --to ann"
        ),
    )
    for module in (show, log, explain, verify, portable, change, forget):
        module.register(group)
    app.add_typer(group, name="policy")
