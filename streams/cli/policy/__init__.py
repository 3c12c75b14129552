"""`sager policy`: everything about one person's skill."""

import typer

from streams.cli.options import examples


def register(app: typer.Typer) -> None:
    """Add the group."""
    from streams.cli.policy import change, log, portable, show, verify  # noqa: PLC0415

    group = typer.Typer(
        no_args_is_help=True,
        help="See, change, export or forget a person's skill.",
        epilog=examples("sager policy show ann", "sager policy export ann --to ann"),
    )
    for module in (show, log, verify, change, portable):
        module.register(group)
    app.add_typer(group, name="policy")
