"""What goes wrong in the materializer, in words that say what to do next."""

from pathlib import Path

from streams.exceptions import StreamsError


class MaterializerError(StreamsError, RuntimeError):
    """The materializer, or a reader of its snapshot, cannot go on; the message says what to do."""


class AnotherDeployment(MaterializerError):
    """A snapshot is of another topic prefix than ours, another tenant's perhaps.

    Args:
        path: the file.
        found: its prefix.
        ours: the one that is configured.
    """

    def __init__(self, path: Path, found: str, ours: str) -> None:
        super().__init__(
            f"{path} belongs to the prefix {found!r}, not {ours!r}: set SAGER_PREFIX to that, or SAGER_DATA_DIR or "
            "SAGER_DUCKDB to this deployment's own file"
        )
        self.found = found
