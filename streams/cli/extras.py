"""Checks that an extra's packages are installed, before any work starts."""


def need_eval(*packages: str) -> None:
    """Do nothing where these packages are installed.

    Raises:
        MissingExtra: one is not; the message names the extra that brings it.
    """
    from importlib.util import find_spec  # noqa: PLC0415

    from streams.exceptions import MissingExtra  # noqa: PLC0415

    if missing := [name for name in packages if find_spec(name) is None]:
        raise MissingExtra(f'an evaluation needs {" and ".join(missing)}: pip install "sager-streams[eval]"')
