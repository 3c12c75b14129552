"""`sager token new`: a token for the HTTP API."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from streams.cli.options import AsJson, examples
from streams.cli.output import note, print_json


class ScopeName(StrEnum):
    """The scopes of a token."""

    # A copy: importing `streams.http.tokens` would slow down `sager --help`.
    READ_USER = "read-user"
    READ_ALL = "read-all"
    CHANGE_USER = "change-user"
    FORGET_USER = "forget-user"
    PRODUCE = "produce"
    READ_SLIM = "read-slim"
    OPERATE = "operate"


_EXAMPLES = examples(
    "sager token new --name ann-app --scope read-user --scope change-user --user ann --days 90 >> tokens.toml",
    "sager token new --name shop --scope produce --scope read-slim --user '*' --rate 2000 >> tokens.toml",
    "sager token new --name prometheus --scope operate --json",
)
app = typer.Typer()
group = typer.Typer(no_args_is_help=True, help="Tokens of the HTTP API.", epilog=_EXAMPLES)
app.add_typer(group, name="token")


@group.command(epilog=_EXAMPLES)
def new(
    name: Annotated[str, typer.Option(help="The owner, who is the actor of its changes in the log.", metavar="NAME")],
    scope: Annotated[list[ScopeName], typer.Option(help="A permission; repeatable.")],
    user: Annotated[
        str | None,
        typer.Option(help="The user, or * for all users. Not for read-all, operate.", metavar="USER"),
    ] = None,
    rate: Annotated[float | None, typer.Option(min=0.01, help="A second. [SAGER_HTTP_RATE]", metavar="N")] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires. [never]", metavar="N")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a token: its lines for the token file on stdout, and the token itself on stderr.

    The token is shown only once, because the file has only its hash. With --json: both on stdout.
    """
    from streams.http import tokens  # noqa: PLC0415

    expires = None if days is None else datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
    secret, made = tokens.new_token(name, [each.value for each in scope], user, expires, rate)
    if as_json:
        print_json({"token": secret, "lines": tokens.token_toml(made)})
        return
    print(tokens.token_toml(made))
    note(f"the token, shown only once: {secret}")
