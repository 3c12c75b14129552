"""A data set as sequences: what each user took, one work after another. What choices are played from."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evaluation.draw import sample
from evaluation.works import works
from schemas import Candidate
from streams.importers import Visit, load


@dataclass(frozen=True)
class Sequences:
    """What all users took, in order; of each work the first visit only.

    Attributes:
        data: the data set's name in reports.
        domain: the items' domain, which names the parser.
        items: the catalogue.
        work: each item's work, by the work's first id.
        visits: every user's first visits to works, oldest first.
    """

    data: str
    domain: str
    items: Mapping[str, Candidate]
    work: Mapping[str, str]
    visits: Mapping[str, tuple[Visit, ...]]

    @cached_property
    def works(self) -> tuple[str, ...]:
        """One edition per work, sorted: independent of the file's order."""
        return tuple(sorted(set(self.work.values())))

    @cached_property
    def popularity(self) -> Mapping[str, int]:
        """How many users took an item."""
        return Counter(visit.item_id for visits in self.visits.values() for visit in visits)

    def met(self, user_id: str) -> frozenset[str]:
        """The works that a user ever takes: none of them is shown beside what they take."""
        return frozenset(self.work[visit.item_id] for visit in self.visits[user_id])

    def players(self, count: int, seed: int, imported: int, most: int) -> list[str]:
        """The users who can choose, as many as asked for or all; fewer of them are part of more with the same seed.

        Args:
            count: how many.
            seed: the seed of the sample.
            imported: how many first visits are no choices.
            most: how many works a user may have met at most, so that there is something else to show.
        """
        able = [user_id for user_id, visits in self.visits.items() if imported < len(visits) <= most]
        return list(sample(able, count, seed))


def sequences(path: Path, domain: str | None = None) -> Sequences:
    """Reads a data set.

    Args:
        path: a folder in any layout that `sager import` reads.
        domain: the items' domain, overriding their own.

    Raises:
        DataSetError: the folder cannot be read.
    """
    data = load(path, domain=domain)
    work = works(data.items)
    visits = {user_id: tuple(_firsts(found, work)) for user_id, found in data.histories.items()}
    return Sequences(path.resolve().name, data.domain, data.items, work, visits)


def _firsts(visits: list[Visit], work: Mapping[str, str]) -> Iterator[Visit]:
    known: set[str] = set()
    for visit in visits:
        if work[visit.item_id] not in known:
            known.add(work[visit.item_id])
            yield visit
