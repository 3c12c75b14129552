"""Splits a data set by the paper's protocol (3.1): a user's last visit is tested against nine negatives.

It avoids common leaks: every test user's last visit is missing from training, whichever users are sampled; negatives
and presentation are drawn per user; another edition of the answer is neither in the user's training nor among the
candidates.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.case import Case, Split
from evaluation.draw import NEGATIVES, Negatives, Pool, chance, sample, shuffled
from evaluation.exceptions import QualityError
from evaluation.given import Given, given
from evaluation.works import works
from operators.statinit.parsers import facts_of, parser_for
from streams.importers import Dataset, Visit, load

MIN_VISITS = 5
"""Without a file of candidates, the minimum number of visits of a tested user."""


class Answers(dict[str, str]):
    """The item that each case's user took, by the user's id.

    Attributes:
        notes: what was changed to avoid leaks, and how often.
    """

    def __init__(self, targets: Mapping[str, str], notes: Mapping[str, int]) -> None:
        super().__init__(targets)
        self.notes = {reason: times for reason, times in notes.items() if times}


@dataclass(frozen=True)
class _Catalogue:
    """Items, their works, and the other items of the same work."""

    work: Mapping[str, str]
    same: Mapping[str, frozenset[str]]

    def alike(self, items: Sequence[str]) -> set[str]:
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
    """Reads a data set and splits it.

    Test users and candidates are those of `eval_candidates.jsonl.gz` (uniform) or `eval_candidates_pop.jsonl.gz`
    (popular) if the folder has that file. Otherwise every user with at least `MIN_VISITS` visits is tested against
    nine items that they never visited.

    Args:
        path: a folder in any layout that `sager import` reads.
        candidates: the kind of negatives.
        users: test only a sample of this size; training does not depend on it.
        seed: the seed of the sample, the draws and the presentation.
        domain: the items' domain, overriding their own.

    Raises:
        DataSetError: the folder cannot be read.
        BadCandidates: its file of candidates does not fit its histories.
        QualityError: fewer than two users can be tested.
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
    pool = Pool(_met(data, training), kind)
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


def fingerprint(split: Split) -> str:
    """Identifies the training visits: equal for two splits that train on the same visits."""
    digest = hashlib.sha256()
    for user_id in sorted(split.training):
        digest.update("\0".join((user_id, *(visit.item_id for visit in split.training[user_id]), "\n")).encode())
    return digest.hexdigest()[:16]


def _long_enough(data: Dataset, catalogue: _Catalogue) -> dict[str, None]:
    """The users with enough visits, and with enough unvisited items in the catalogue."""
    return {
        user_id: None
        for user_id, visits in data.histories.items()
        if len(visits) >= MIN_VISITS
        and len(data.items) - len(catalogue.alike([visit.item_id for visit in visits])) >= NEGATIVES
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


def _met(data: Dataset, training: Mapping[str, Sequence[Visit]]) -> dict[str, int]:
    met = Counter(visit.item_id for visits in training.values() for visit in visits)
    return {item: met[item] for item in data.items}


def _case(
    user_id: str,
    data: Dataset,
    lists: Mapping[str, Given] | None,
    pool: Pool,
    catalogue: _Catalogue,
    seed: int,
    notes: Counter[str],
) -> Case | None:
    visits = [visit.item_id for visit in data.histories[user_id]]
    target = visits[-1]
    known = catalogue.alike(visits)
    found = lists[user_id] if lists is not None else Given(target, ())
    negatives = [item for item in found.negatives if catalogue.work[item] != catalogue.work[target]]
    notes["candidates that are the answer under another id, replaced"] += len(found.negatives) - len(negatives)
    missing = (len(found.negatives) or NEGATIVES) - len(negatives)
    if missing:
        drawn = pool.draw(chance(seed, "negatives", user_id), missing, known | set(negatives))
        if drawn is None:
            notes["users who have met too much of what there is to draw from, not tested"] += 1
            return None
        negatives += drawn
    return Case(user_id, shuffled((target, *negatives), seed, user_id), found.instruction, f"{seed}/{user_id}")
