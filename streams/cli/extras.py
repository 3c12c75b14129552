"""Checks that an extra's packages are installed, before any work starts."""


def need_eval(*packages: str) -> None:
    """Do nothing where these packages are installed.

    Raises:
        MissingExtra: one is not; the message names the extra that brings it.
    """
    _need("an evaluation", "eval", packages)


def need_mcp() -> None:
    """Do nothing where the SDK of the Model Context Protocol is installed.

    Raises:
        MissingExtra: it is not; the message names the extra that brings it.
    """
    _need("MCP", "mcp", ("mcp",))


def _need(what: str, extra: str, packages: tuple[str, ...]) -> None:
    from importlib.util import find_spec  # noqa: PLC0415

    from streams.exceptions import MissingExtra  # noqa: PLC0415

    if missing := [name for name in packages if find_spec(name) is None]:
        told = f"{what} needs {' and '.join(missing)}"
        raise MissingExtra(f'{told}: pip install ".[{extra}]" in a clone of the repository')
