"""The plan of a play: users' choices in order, each with nine other items."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluation.draw import NEGATIVES, Negatives, Pool, chance, sample
from evaluation.exceptions import QualityError
from evaluation.sequences import Sequences, sequences
from schemas import Candidate, derived_id
from streams.importers import Visit


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a user.

    Attributes:
        request_id: independent of the ranker, so that ties are broken in the same way.
        taken: the item taken, and when.
        candidates: the ids of ten items in the order of presentation, including the taken one.
    """

    request_id: str
    taken: Visit
    candidates: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A whole plan.

    Attributes:
        data: the data set's name in reports.
        domain: the items' domain.
        items: the catalogue.
        past: the visits imported before the first choice, by user.
        choices: each player's choices, oldest first.
    """

    data: str
    domain: str
    items: Mapping[str, Candidate]
    past: Mapping[str, tuple[Visit, ...]]
    choices: Mapping[str, tuple[Choice, ...]]

    @property
    def total(self) -> int:
        """The total number of choices."""
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
    """Draws players from a data set, and the items that they are shown.

    Only the first visit to a work counts as a choice. No edition of a work that a player ever visits is shown beside
    one of their choices.

    Args:
        path: a folder in any layout that `sager import` reads.
        users: how many players; a smaller sample is part of every larger one with the same seed.
        seed: the seed of the sample, the draws and the presentation.
        imported: how many of a player's first visits are history and not choices.
        most: maximum choices per player, the first ones.
        others: how many other users' visits are history too, each at most as many as a player's.
        domain: the items' domain, overriding their own.

    Raises:
        DataSetError: the folder cannot be read.
        QualityError: fewer than two users have more visits than are imported.
    """
    found = sequences(path, domain)
    firsts = found.visits
    players = found.players(users, seed, imported, len(found.works) - NEGATIVES)
    if len(players) < 2:
        raise QualityError(
            f"{path} gives {len(players)} users who can be played: at least 2 with more than {imported} visits, "
            "and a catalogue of which they do not meet everything, are needed"
        )
    beside = sample([user for user in firsts if user not in set(players)], others, seed)
    # One edition per work, so that no two candidates are the same work.
    pool = Pool(dict.fromkeys(found.works, 1), Negatives.UNIFORM)
    return Plan(
        data=found.data,
        domain=found.domain,
        items=found.items,
        past={user: firsts[user][:imported] for user in players}
        | {user: firsts[user][: imported + most] for user in beside},
        choices={user: tuple(_choices(found, user, imported, most, pool, seed)) for user in players},
    )


def _choices(found: Sequences, user_id: str, imported: int, most: int, pool: Pool, seed: int) -> Iterator[Choice]:
    met = found.met(user_id)
    for place, visit in enumerate(found.visits[user_id][imported : imported + most], imported):
        draw = chance(seed, f"online {place}", user_id)
        shown = [visit.item_id, *(pool.draw(draw, NEGATIVES, met) or ())]
        draw.shuffle(shown)
        yield Choice(derived_id("online", found.domain, str(seed), user_id, str(place)), visit, tuple(shown))
