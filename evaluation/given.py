"""Reads the file of candidates that a data set may include: the tested users and their negatives."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evaluation.draw import Negatives
from evaluation.exceptions import BadCandidates
from streams.importers import Dataset

FILES = {Negatives.UNIFORM: "eval_candidates.jsonl.gz", Negatives.POPULAR: "eval_candidates_pop.jsonl.gz"}


@dataclass(frozen=True, slots=True)
class Given:
    """A line of such a file: the item that the user took, and the other candidates."""

    target: str
    negatives: tuple[str, ...]
    instruction: str = ""


def given(path: Path, kind: Negatives, data: Dataset) -> dict[str, Given] | None:
    """The lines of the folder's file, by user; None if there is no such file.

    Raises:
        BadCandidates: a line is broken or does not fit the data.
    """
    file = path / FILES[kind]
    if not file.is_file():
        return None
    found: dict[str, Given] = {}
    for line, row in _rows(file):
        where = f"{file}, line {line}"
        try:
            user_id, target, candidates = str(row["user_id"]), str(row["target"]), [str(c) for c in row["candidates"]]
        except (KeyError, TypeError) as error:
            raise BadCandidates(f"{where}: needs user_id, target and candidates") from error
        if wrong := _wrong(user_id, target, candidates, data):
            raise BadCandidates(f"{where}: {wrong}")
        if user_id in found:
            raise BadCandidates(f"{where}: {user_id} has a line already")
        negatives = tuple(item for item in candidates if item != target)
        found[user_id] = Given(target, negatives, str(row.get("instruction") or ""))
    return found


def _wrong(user_id: str, target: str, candidates: list[str], data: Dataset) -> str | None:
    """What does not fit the data, if anything."""
    visits = [visit.item_id for visit in data.histories.get(user_id, ())]
    if not visits:
        return f"{user_id} has no visits"
    if visits[-1] != target:
        return f"the target {target} is not what {user_id} met last, which is {visits[-1]}"
    if candidates.count(target) != 1 or len(set(candidates)) != len(candidates):
        return f"the candidates of {user_id} have to be different and to have the target {target} among them"
    if unknown := [item for item in candidates if item not in data.items]:
        return f"the candidate {unknown[0]} of {user_id} is not in the catalogue"
    if met := set(candidates).intersection(visits[:-1]) - {target}:
        return f"{user_id} has met {min(met)} already, so it is no negative"
    return None


def _rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with gzip.open(file, "rb") as lines:
            for number, line in enumerate(lines, 1):
                row = orjson.loads(line)
                if not isinstance(row, dict):
                    raise BadCandidates(f"{file}, line {number}: is not a JSON object")
                yield number, row
    except (orjson.JSONDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise BadCandidates(f"{file} is damaged: {error}") from error
