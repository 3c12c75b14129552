"""The materializer's errors; their messages name the next step.

MaterializerError
├── Damaged             the live file
├── AnotherDeployment   a snapshot of another topic prefix
└── StrayLog            a write-ahead log beside a snapshot
"""

from pathlib import Path

from streams.exceptions import StreamsError


class MaterializerError(StreamsError, RuntimeError):
    """The materializer, or a reader of its snapshot, cannot continue."""


class Damaged(MaterializerError):
    """The live file is damaged. The snapshot and Kafka hold its rows."""


class AnotherDeployment(MaterializerError):
    """A snapshot has another topic prefix, perhaps another tenant's."""

    def __init__(self, path: Path, found: str, ours: str) -> None:
        super().__init__(
            f"{path} belongs to the prefix {found!r}, not {ours!r}: set SAGER_PREFIX to that, or SAGER_DATA_DIR or "
            "SAGER_DUCKDB to this deployment's own file"
        )
        self.found = found


class StrayLog(MaterializerError):
    """A write-ahead log lies beside the snapshot, which has none by itself."""

    def __init__(self, path: Path, stray: Path) -> None:
        super().__init__(
            f"{stray} lies beside the snapshot {path}, and DuckDB would carry out whatever is in it: nothing is read. "
            "A program that opened the snapshot for writing, or an attacker, left it. A running `sager materialize` "
            "removes it within seconds; without one, delete it"
        )
