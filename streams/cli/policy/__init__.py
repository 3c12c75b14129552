"""`sager policy`: everything about one person's skill."""

from importlib import import_module

import typer

from streams.cli.options import examples

app = typer.Typer()
group = typer.Typer(
    no_args_is_help=True,
    help="See, change, export or forget a person's skill.",
    epilog=examples("sager policy show ann", "sager policy export ann --to ann.jsonl.gz"),
)
app.add_typer(group, name="policy")
for verbs in ("show", "log", "change", "personal_data"):
    import_module(f"{__name__}.{verbs}")
