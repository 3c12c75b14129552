"""`sager mcp`: an MCP server on standard input and output, for agents."""

import os
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from streams.cli.options import examples, require_extra, settings
from streams.cli.output import note
from streams.exceptions import StreamsError
from streams.local import TOKEN_FILE

app = typer.Typer()


@app.command(
    short_help="Give an agent a skill, over MCP.",
    epilog=examples("SAGER_URL=https://sager.example SAGER_TOKEN=... sager mcp --user ann --domain films"),
)
def mcp(
    url: Annotated[
        str, typer.Option(help="Where the HTTP API is.", envvar="SAGER_URL", metavar="URL")
    ] = "http://127.0.0.1:8088",
    user: Annotated[
        str | None,
        typer.Option(help="The only user to act for. [the token's]", envvar="SAGER_MCP_USER", metavar="USER"),
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="The only domain to act in.", envvar="SAGER_MCP_DOMAIN", metavar="DOMAIN")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="Instead of SAGER_TOKEN or the file of `sager up`.", metavar="FILE")
    ] = None,
) -> None:
    """Serve the Model Context Protocol on standard input and output.

    Its tools call the HTTP API with one token, which limits the users that it can act for.
    """
    require_extra("MCP", "mcp", "mcp")
    from streams.http.limits import is_loopback  # noqa: PLC0415
    from streams.logs import configure  # noqa: PLC0415

    chosen = settings()
    configure("WARNING", chosen.log_format)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise StreamsError("SAGER_URL must be the address of the HTTP API, such as http://127.0.0.1:8088")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        note("warning: http sends the token and all answers unencrypted: use https")
    token = _token(token_file, chosen.data_dir)
    from streams.mcp import server  # noqa: PLC0415

    server.run(url.rstrip("/"), token, user or None, domain or None)


def _token(file: Path | None, data_dir: Path) -> str:
    """Return the token of the file, SAGER_TOKEN or `sager up`."""
    path = file or data_dir / TOKEN_FILE
    from_environment = os.environ.get("SAGER_TOKEN", "").strip() if file is None else ""
    try:
        found = from_environment or path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StreamsError(
            f"cannot read a token from {path}: start `sager up`, which writes one there, set SAGER_TOKEN, or name a "
            "file with --token-file. `sager token new` creates tokens"
        ) from error
    if not re.fullmatch(r"sager_[A-Za-z0-9_-]{43}", found):
        where = "SAGER_TOKEN" if from_environment else path
        raise StreamsError(f"{where} has no token: a token begins with sager_, and `sager token new` creates one")
    return found
