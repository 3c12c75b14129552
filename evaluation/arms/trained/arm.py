"""LightGCN and SASRec as arms: users and items become vectors, and their product is the score."""

import random
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from evaluation.arms.arm import Progress, Ranked
from evaluation.arms.options import ArmOptions
from evaluation.arms.profile import Profile
from evaluation.arms.scores import by_score, standard
from evaluation.arms.trained.visits import Visits, indexed
from evaluation.case import Case, Split
from streams.exceptions import MissingExtra

if TYPE_CHECKING:
    from evaluation.arms.trained.fit import Learner

NEEDED = ("torch", "torch_geometric", "torch_rechub")


class Trained:
    """The base of both. Training takes minutes, and nothing runs concurrently.

    The same split and seed give the same vectors on the same machine.
    """

    name: ClassVar[str]

    def __init__(self, options: ArmOptions) -> None:
        self._seed = options.seed

    async def train(self, split: Split, progress: Progress) -> None:
        """Trains on the training visits only.

        Raises:
            MissingExtra: a library is not installed.
        """
        if missing := [name for name in NEEDED if find_spec(name) is None]:
            raise MissingExtra(
                f'the arm {self.name} needs {" and ".join(missing)}: pip install ".[eval-trained]" in a clone'
            )
        from evaluation.arms.trained.fit import fit  # noqa: PLC0415

        self._visits = indexed(split)
        self._of_user, self._of_item = fit(self.learner, self._visits, self._seed, progress)

    def learner(self, known: Visits) -> "Learner":
        """An untrained network for these visits."""
        raise NotImplementedError

    def scores(self, case: Case) -> NDArray[np.float64]:
        """Each candidate's score; the lowest for items without training visits, and for all if the user has none."""
        row = self._visits.users.get(case.user_id)
        found = np.zeros(len(case.candidates))
        met = [place for place, item in enumerate(case.candidates) if item in self._visits.items]
        if row is None or not met:
            return found
        rows = [self._visits.items[case.candidates[place]] for place in met]
        found[met] = self._of_item[rows] @ self._of_user[row]
        unmet = np.setdiff1d(np.arange(len(found)), met)
        found[unmet] = found[met].min() - 1.0  # finite, so that standard scores can be computed
        return found

    async def rank(self, case: Case) -> Ranked:
        """The candidates by score; the case's seed breaks ties."""
        order = list(case.candidates)
        random.Random(f"{case.seed}/{self.name}").shuffle(order)
        mixed = Case(case.user_id, tuple(order), case.instruction, case.seed)
        return by_score(mixed, self.scores(mixed))


class LightGcn(Trained):
    """LightGCN (He et al. 2020): vectors propagated along the graph of visits."""

    name = "lightgcn"

    def learner(self, known: Visits) -> "Learner":
        """See `lightgcn.py`."""
        from evaluation.arms.trained.lightgcn import Graph  # noqa: PLC0415

        return Graph(known)


class SasRec(Trained):
    """SASRec (Kang and McAuley 2018): attention over a user's visits, in order."""

    name = "sasrec"

    def learner(self, known: Visits) -> "Learner":
        """See `sasrec.py`."""
        from evaluation.arms.trained.sasrec import Sequences  # noqa: PLC0415

        return Sequences(known)


class LightGcnAndProfile:
    """LightGCN and the profile of facts, as standard scores inside each list, added."""

    name = "lightgcn+profile"

    def __init__(self, options: ArmOptions) -> None:
        self._lightgcn, self._profile = LightGcn(options), Profile(options)

    async def train(self, split: Split, progress: Progress) -> None:
        """Train both."""
        await self._lightgcn.train(split, progress)
        await self._profile.train(split, progress)

    async def rank(self, case: Case) -> Ranked:
        """The candidates by the sum."""
        return by_score(case, standard(self._lightgcn.scores(case)) + standard(self._profile.scores(case)))
