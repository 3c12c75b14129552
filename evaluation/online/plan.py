"""What is played: who took what, one choice after another, and the nine items that stood beside each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluation.draw import NEGATIVES, Negatives, Pool, chance, sample
from evaluation.exceptions import QualityError
from evaluation.works import works
from schemas import Candidate, derived_id
from streams.importers import Dataset, Visit, load


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a user.

    Attributes:
        request_id: the same whatever ranks, so that ties are broken alike.
        taken: what they took, and when.
        candidates: ten items' ids as they are presented, the taken one among them.
    """

    request_id: str
    taken: Visit
    candidates: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """All that is played.

    Attributes:
        data: what reports call the data set.
        domain: what its items are.
        items: the catalogue.
        past: the visits that are imported before the first choice, by user.
        choices: each player's choices, oldest first.
    """

    data: str
    domain: str
    items: Mapping[str, Candidate]
    past: Mapping[str, tuple[Visit, ...]]
    choices: Mapping[str, tuple[Choice, ...]]

    @property
    def total(self) -> int:
        """How many choices there are in all."""
        return sum(map(len, self.choices.values()))


def plan(
    path: Path,
    users: int,
    seed: int = 0,
    *,
    imported: int = 3,
    most: int = 40,
    others: int = 0,
    domain: str | None = None,
) -> Plan:
    """Draw players from a data set, and what they are shown.

    A work that a user meets again is no choice any more: only the first visit to each counts. No edition of what a
    player ever meets stands beside one of their choices.

    Args:
        path: a folder in any layout that `sager import` reads.
        users: how many players; a smaller sample is part of every larger one of the same seed.
        seed: of the sample, the draws and the presentation.
        imported: a player's first visits, which are history and no choices.
        most: choices per player, the first ones.
        others: users beside the players whose visits, as many as a player's at most, are history too.
        domain: what the items are, instead of what they say themselves.

    Raises:
        DataSetError: the folder cannot be read.
        QualityError: fewer than two users have more visits than are imported.
    """
    data = load(path, domain=domain)
    work = works(data.items)
    firsts = {user_id: tuple(_firsts(visits, work)) for user_id, visits in data.histories.items()}
    met = {user_id: {work[visit.item_id] for visit in visits} for user_id, visits in firsts.items()}
    count = len(set(work.values()))
    able = [user for user, visits in firsts.items() if len(visits) > imported and count - len(met[user]) >= NEGATIVES]
    players = sample(able, users, seed)
    if len(players) < 2:
        raise QualityError(
            f"{path} gives {len(players)} users who can be played: at least 2 with more than {imported} visits, "
            "and a catalogue of which they do not meet everything, are needed"
        )
    beside = sample([user for user in firsts if user not in set(players)], others, seed)
    # One edition per work, so that no two candidates are the same.
    pool = Pool(dict.fromkeys(sorted(set(work.values())), 1), Negatives.UNIFORM)
    return Plan(
        data=path.resolve().name,
        domain=data.domain,
        items=data.items,
        past={user: firsts[user][:imported] for user in players}
        | {user: firsts[user][: imported + most] for user in beside},
        choices={
            user: tuple(_choices(data, user, firsts[user][: imported + most], imported, pool, met[user], seed))
            for user in players
        },
    )


def _firsts(visits: list[Visit], work: Mapping[str, str]) -> Iterator[Visit]:
    known: set[str] = set()
    for visit in visits:
        if work[visit.item_id] not in known:
            known.add(work[visit.item_id])
            yield visit


def _choices(
    data: Dataset, user_id: str, visits: tuple[Visit, ...], imported: int, pool: Pool, met: set[str], seed: int
) -> Iterator[Choice]:
    for place, visit in enumerate(visits[imported:], imported):
        draw = chance(seed, f"online {place}", user_id)
        shown = [visit.item_id, *(pool.draw(draw, NEGATIVES, met) or ())]
        draw.shuffle(shown)
        yield Choice(derived_id("online", data.domain, str(seed), user_id, str(place)), visit, tuple(shown))
