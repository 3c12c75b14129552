"""InstructRec (Xu et al. 2025, iAgent; also MemRec's data), one of its four sets a folder.

| file | fields that are read |
|---|---|
| `<set>All_recagent.jsonl`, one user a line | `asin` (items' numbers, oldest first), `instruction`, `ranked_lists` |
| `combined_<set>_asin_mapping.csv` | `index` (the items' numbers), `asin`, `title`, `description` |

`<set>` is `books`, `movietv`, `reads` (Goodreads) or `yelp`. The users' file is distributed as a pickled table,
which runs code when it is opened and needs pandas; `COMMAND` converts it to JSON lines, once. A user's id is their
position in the file, from 0, as in MemRec. There are neither times nor ratings.

A user's last item is the one that the instruction asks for, and `ranked_lists` holds it among nine others:
`Dataset.instructions` and `Dataset.candidates` belong to that visit alone.
"""

from pathlib import Path
from typing import Any

from streams.importers.dataset import Dataset, Histories, Row, catalogue
from streams.importers.exceptions import DataSetError
from streams.importers.lines import csv_rows, id_of, json_files, json_lines, made, only, text_of

NAME = "instructrec"
FILES = "InstructRec's <set>All_recagent.jsonl with combined_<set>_asin_mapping.csv"
COMMAND = (
    'python -c "import pandas as pd; '
    "pd.read_pickle('{name}.pkl').to_json('{name}.jsonl', orient='records', lines=True)\""
)
MAX_INSTRUCTION = 2_000
"""Maximum length of a ranking's instruction, in characters."""
_DOMAINS = {"books": "books", "movietv": "movietv", "reads": "goodreads", "yelp": "yelp"}
_USERS = "All_recagent"
_BEFORE, _AFTER = "combined_", "_asin_mapping.csv"


def recognises(path: Path) -> bool:
    """Whether this folder has items and users, as JSON lines or as a pickled table."""
    return any(_users(path, file) or _pickle(path, file).is_file() for file in _items(path))


def load(
    path: Path, limit_users: int | None = None, *, domain: str | None = None, min_rating: float | None = None
) -> Dataset:
    """Reads everything in the folder.

    Args:
        path: the folder.
        limit_users: keep only the first users of the file.
        domain: the domain's name; by default that of the set, such as `goodreads`.
        min_rating: no effect, as there are no ratings.

    Raises:
        DataSetError: a file is missing or broken, there are several sets, or the users are still a pickled table.
    """
    mapping = only(_items(path), path, f"{_BEFORE}<set>{_AFTER}")
    name = f"{_set(mapping)}{_USERS}"
    files = _users(path, mapping)
    if not files and _pickle(path, mapping).is_file():
        raise DataSetError(
            f"{path} has {name}.pkl, a pickled table, which is not read as it runs code when it is opened. If you "
            f"trust it, write it as JSON lines there, with pandas: {COMMAND.format(name=name)}"
        )
    items, skipped = catalogue(made(mapping, csv_rows(mapping, ("index", "title")), _item, "an index and a title"))
    users = only(files, path, f"{name}.jsonl")
    histories = Histories(limit_users, min_rating)
    instructions: dict[str, str] = {}
    candidates: dict[str, tuple[str, ...]] = {}
    for user_id, visited, instruction, offered in made(users, json_lines(users), _user, "asin and ranked_lists"):
        for place, item_id in enumerate(visited):
            histories.add(user_id, Row(item_id, place, None))
        if instruction:
            instructions[user_id] = instruction
        # Without the last item the list would be attributed to the visit before.
        if offered and all(item_id in items for item_id in (visited[-1], *offered)):
            candidates[user_id] = offered
    kept = histories.result(items)
    return Dataset(
        domain or _DOMAINS.get(_set(mapping), NAME),
        items,
        kept,
        skipped + histories.skipped,
        instructions={user_id: text for user_id, text in instructions.items() if user_id in kept},
        candidates={user_id: offered for user_id, offered in candidates.items() if user_id in kept},
    )


def _items(path: Path) -> list[Path]:
    return sorted(path.glob(f"{_BEFORE}*{_AFTER}"))


def _set(mapping: Path) -> str:
    return mapping.name.removeprefix(_BEFORE).removesuffix(_AFTER)


def _users(path: Path, mapping: Path) -> list[Path]:
    return json_files(path, f"{_set(mapping)}{_USERS}")


def _pickle(path: Path, mapping: Path) -> Path:
    return path / f"{_set(mapping)}{_USERS}.pkl"


def _item(_: int, row: dict[str, str]) -> dict[str, Any]:
    metadata = {"asin": row["asin"]} if row.get("asin") else {}
    description = row.get("description") or ""
    return {"item_id": row["index"], "title": row["title"], "description": description, "metadata": metadata}


def _user(number: int, row: dict[str, Any]) -> tuple[str, list[str], str, tuple[str, ...]] | None:
    visited = [id_of(item) for item in row["asin"]]
    if not visited:
        return None
    offered = tuple(id_of(item) for item in row["ranked_lists"])
    return str(number - 1), visited, text_of(row.get("instruction"))[:MAX_INSTRUCTION], offered
