"""Splits a data set by the paper's protocol (3.1).

It avoids common leaks: every test user's last visit is missing from training, whichever users are sampled; negatives
and presentation are drawn per user; another edition of the answer is neither in the user's training nor among the
candidates.
"""

import gzip
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evaluation.dataset import NEGATIVES, Negatives, Pool, generator, sample, shuffled, works
from evaluation.exceptions import QualityError
from operators.statinit import facts_of, parser_for
from schemas import Candidate, ItemFacts
from streams.importers.dataset import Dataset, Visit
from streams.importers.loader import load

# Without a file of candidates, the minimum number of visits of a tested user.
MIN_VISITS = 5
# The files of candidates that a data set may include: the tested users and their negatives.
FILES = {Negatives.UNIFORM: "eval_candidates.jsonl.gz", Negatives.POPULAR: "eval_candidates_pop.jsonl.gz"}


@dataclass(frozen=True)
class Case:
    """A user, and shuffled candidates of which they took one."""

    user_id: str
    candidates: tuple[str, ...]
    instruction: str = ""
    seed: str = ""


@dataclass(frozen=True)
class Split:
    """Training visits, oldest first, and test cases, without the answers."""

    data: str
    domain: str
    items: Mapping[str, Candidate]
    facts: Mapping[str, ItemFacts]
    training: Mapping[str, tuple[Visit, ...]]
    cases: tuple[Case, ...] = ()
    candidates: Negatives = Negatives.UNIFORM

    @property
    def fingerprint(self) -> str:
        """Identifies the training visits."""
        digest = hashlib.sha256()
        for user_id in sorted(self.training):
            digest.update("\0".join((user_id, *(visit.item_id for visit in self.training[user_id]), "\n")).encode())
        return digest.hexdigest()[:16]


class Answers(dict[str, str]):
    """The taken item by user; `notes` count changes against leaks."""

    def __init__(self, targets: Mapping[str, str], notes: Mapping[str, int]) -> None:
        super().__init__(targets)
        self.notes = {reason: times for reason, times in notes.items() if times}


@dataclass(frozen=True, slots=True)
class GivenCandidates:
    """A line of a file of candidates."""

    target: str
    negatives: tuple[str, ...]
    instruction: str = ""


@dataclass(frozen=True)
class _Catalogue:
    """Items, their works, and the other items of the same work."""

    work: Mapping[str, str]
    same: Mapping[str, frozenset[str]]

    def editions(self, items: Sequence[str]) -> set[str]:
        """These items under all their ids."""
        return {other for item in items for other in self.same[self.work[item]]}


def read(
    path: Path,
    candidates: Negatives | str = Negatives.UNIFORM,
    users: int | None = None,
    seed: int = 0,
    *,
    domain: str | None = None,
) -> tuple[Split, Answers]:
    """Read and split a data set in any layout of `sager import`.

    Test users and candidates are those of the folder's file of candidates if it has one. Otherwise every user with at
    least `MIN_VISITS` visits is tested against nine items that they never visited.

    Raises:
        DataSetError: the folder cannot be read.
        QualityError: its file of candidates does not fit its histories, or fewer than two users can be tested.
    """
    kind = Negatives(candidates)
    data = load(path, domain=domain)
    work = works(data.items)
    same: defaultdict[str, set[str]] = defaultdict(set)
    for item, first in work.items():
        same[first].add(item)
    catalogue = _Catalogue(work, {first: frozenset(items) for first, items in same.items()})
    lists = given(path, kind, data)
    tested = lists if lists is not None else _long_enough(data, catalogue)
    notes: Counter[str] = Counter()
    training = dict(_training(data, tested, catalogue, notes))
    met = Counter(visit.item_id for visits in training.values() for visit in visits)
    pool = Pool({item: met[item] for item in data.items}, kind)
    drawn = (_case(user_id, data, lists, pool, catalogue, seed, notes) for user_id in sample(tested, users, seed))
    cases = tuple(case for case in drawn if case)
    if len(cases) < 2:
        raise QualityError(
            f"{path} gives {len(cases)} users to test: at least 2 with {MIN_VISITS} visits or a line among the "
            f"candidates are needed, and a catalogue of which they have not met {NEGATIVES} items"
        )
    parser = parser_for(data.domain, {})
    split = Split(
        data=path.resolve().name,
        domain=data.domain,
        items=data.items,
        facts={item_id: facts_of(item, parser) for item_id, item in data.items.items()},
        training=training,
        cases=cases,
        candidates=kind,
    )
    return split, Answers({case.user_id: data.histories[case.user_id][-1].item_id for case in cases}, notes)


def given(path: Path, kind: Negatives, data: Dataset) -> dict[str, GivenCandidates] | None:
    """The lines of the file of candidates, by user, if any."""
    file = path / FILES[kind]
    if not file.is_file():
        return None
    found: dict[str, GivenCandidates] = {}
    for line, row in _rows(file):
        where = f"{file}, line {line}"
        try:
            user_id, target, candidates = str(row["user_id"]), str(row["target"]), [str(c) for c in row["candidates"]]
        except (KeyError, TypeError) as error:
            raise QualityError(f"{where}: needs user_id, target and candidates") from error
        if wrong := _misfit(user_id, target, candidates, data):
            raise QualityError(f"{where}: {wrong}")
        if user_id in found:
            raise QualityError(f"{where}: {user_id} has a line already")
        negatives = tuple(item for item in candidates if item != target)
        found[user_id] = GivenCandidates(target, negatives, str(row.get("instruction") or ""))
    return found


def _misfit(user_id: str, target: str, candidates: list[str], data: Dataset) -> str | None:
    """The first contradiction between a line and the data, if any."""
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
                    raise QualityError(f"{file}, line {number}: is not a JSON object")
                yield number, row
    except (orjson.JSONDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise QualityError(f"{file} is damaged: {error}") from error


def _long_enough(data: Dataset, catalogue: _Catalogue) -> dict[str, None]:
    """The users with enough visits and enough unvisited items."""
    return {
        user_id: None
        for user_id, visits in data.histories.items()
        if len(visits) >= MIN_VISITS
        and len(data.items) - len(catalogue.editions([visit.item_id for visit in visits])) >= NEGATIVES
    }


def _training(
    data: Dataset, tested: Mapping[str, object], catalogue: _Catalogue, notes: Counter[str]
) -> Iterator[tuple[str, tuple[Visit, ...]]]:
    """Every user's visits, without those that would leak a tested user's answer."""
    for user_id, visits in data.histories.items():
        if user_id not in tested:
            yield user_id, tuple(visits)
            continue
        answer = catalogue.work[visits[-1].item_id]
        kept = tuple(visit for visit in visits[:-1] if catalogue.work[visit.item_id] != answer)
        notes["earlier visits of test users to the work that they end with, left out"] += len(visits) - 1 - len(kept)
        yield user_id, kept


def _case(
    user_id: str,
    data: Dataset,
    lists: Mapping[str, GivenCandidates] | None,
    pool: Pool,
    catalogue: _Catalogue,
    seed: int,
    notes: Counter[str],
) -> Case | None:
    visits = [visit.item_id for visit in data.histories[user_id]]
    target = visits[-1]
    known = catalogue.editions(visits)
    found = lists[user_id] if lists is not None else GivenCandidates(target, ())
    negatives = [item for item in found.negatives if catalogue.work[item] != catalogue.work[target]]
    notes["candidates that are the answer under another id, replaced"] += len(found.negatives) - len(negatives)
    missing = (len(found.negatives) or NEGATIVES) - len(negatives)
    if missing:
        drawn = pool.draw(generator(seed, "negatives", user_id), missing, known | set(negatives))
        if drawn is None:
            notes["users who have met too much of what there is to draw from, not tested"] += 1
            return None
        negatives += drawn
    return Case(user_id, shuffled((target, *negatives), seed, user_id), found.instruction, f"{seed}/{user_id}")
