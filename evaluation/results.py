"""The results of `sager eval` in a file of JSON lines, and a report over them in Markdown.

Each line is one run of an arm: its figures, its options, and the rank of each user's target. DuckDB reads the file as
it is: `SELECT arm, hit_at_1 FROM '.sager/quality.jsonl'`.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from evaluation.exceptions import QualityError
from evaluation.leave_one_out import ARMS, Result
from evaluation.measures import paired

COLUMNS = {"hit_at_3": "Hit@3", "hit_at_5": "Hit@5", "ndcg_at_3": "NDCG@3", "ndcg_at_5": "NDCG@5"}

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


def markdown(rows: Iterable[Row], baseline: str) -> str:
    """The newest result of each arm and its options, one Markdown table per data set, candidates, seed and sample."""
    tables: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("data", "candidates", "seed", "users", "fingerprint"))
        tables.setdefault(key, {})[_label(row)] = row
    parts = ["# How well skills rank", ""]
    for (data, candidates, seed, users, _), of_arm in sorted(tables.items()):
        parts += [f"## {data}: {users:,} users, {candidates} negatives, seed {seed}", ""]
        against = of_arm.get(baseline)
        head = ["arm", "Hit@1 [95 %]", *COLUMNS.values(), f"Hit@1 less {baseline} [95 %]", "LLM calls", "seconds"]
        parts += [_cells(head), _cells(["---"] * len(head))]
        for label, row in sorted(of_arm.items(), key=lambda each: (list(ARMS).index(each[1]["arm"]), each[0])):
            low, high = row["ci95_hit_at_1"]
            less = "" if against is None or row is against else str(paired(_hits(row), _hits(against), seed) or "")
            hits = f"{row['hit_at_1']:.3f} [{low:.3f}, {high:.3f}]"
            measures = (f"{row[name]:.3f}" for name in COLUMNS)
            parts.append(_cells([label, hits, *measures, less, f"{row['llm_calls']:,}", f"{row['seconds']:,.1f}"]))
        parts.append("")
    return "\n".join(parts)


def _label(row: Row) -> str:
    """The arm, and its options unless they are the default ones."""
    defaults = {"tau": 2, "slim_tokens": 30}
    changed = [f"{name} {row['options'].get(name)}" for name in defaults if row["options"].get(name) != defaults[name]]
    return f"{row['arm']} ({', '.join(changed)})" if changed else str(row["arm"])


def _hits(row: Row) -> dict[str, float]:
    return {user_id: float(place == 1) for user_id, place in row["places"].items()}


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
