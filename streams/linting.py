"""The names by which the HTTP routes use `streams.dry_run`."""

from streams.dry_run import dry_run_of as linter_of
from streams.dry_run import lessons

__all__ = ["lessons", "linter_of"]
