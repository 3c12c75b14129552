"""The results of `sager eval` in a file of JSON lines.

Each line is one run of an arm: its figures, its options, and the rank of each user's target. DuckDB reads the file as
it is: `SELECT arm, hit_at_1 FROM '.sager/quality.jsonl'`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from evaluation.exceptions import QualityError
from evaluation.leave_one_out import Result

Row = Mapping[str, Any]


def add(path: Path, result: Result, fingerprint: str, options: Mapping[str, Any]) -> None:
    """Append a result to the file, which is created with its parents.

    Raises:
        QualityError: the file holds something else.
    """
    if path.is_file():
        read(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    row = {"finished_at": datetime.now(UTC), "fingerprint": fingerprint, **result.as_json(), "options": options}
    with path.open("ab") as file:
        file.write(orjson.dumps(row | {"places": dict(result.places)}, option=orjson.OPT_APPEND_NEWLINE))


def read(path: Path) -> list[Row]:
    """All results of a file, oldest first.

    Raises:
        QualityError: it is missing or holds something else.
    """
    if not path.is_file():
        raise QualityError(f"there is no {path} yet: `sager eval --data DIR --arm NAME` makes it")
    try:
        rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        for row in rows:
            _ = row["arm"], row["fingerprint"], row["options"], row["places"]
    except (ValueError, KeyError, TypeError) as error:
        raise QualityError(f"{path} holds no results of evaluations: name another file with --results") from error
    return rows
