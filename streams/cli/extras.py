"""Checks that an extra's packages are installed, before any work starts."""


def need_eval(*packages: str) -> None:
    """Check for packages of an evaluation.

    Raises:
        MissingExtra: one is not installed; the message names the extra that brings it.
    """
    _need("an evaluation", "eval", packages)


def need_mcp() -> None:
    """Check for the SDK of the Model Context Protocol.

    Raises:
        MissingExtra: it is not installed; the message names the extra that brings it.
    """
    _need("MCP", "mcp", ("mcp",))


def _need(user: str, extra: str, packages: tuple[str, ...]) -> None:
    from importlib.util import find_spec  # noqa: PLC0415

    from streams.exceptions import MissingExtra  # noqa: PLC0415

    if missing := " and ".join(name for name in packages if find_spec(name) is None):
        raise MissingExtra(f'{user} needs {missing}: pip install ".[{extra}]" in a clone of the repository')
