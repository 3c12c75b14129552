"""What an arm is told: everything to train on, and the cases that it ranks."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas import Candidate, ItemFacts
from streams.importers.dataset import Visit


@dataclass(frozen=True)
class Case:
    """One ranking that counts: a user, and candidates of which they took exactly one.

    Attributes:
        user_id: whose it is.
        candidates: the candidates' ids as they are presented: shuffled by the run's seed and the user's id.
        instruction: what the user asks for, where the data has it.
        seed: decides whatever is drawn for this case.
    """

    user_id: str
    candidates: tuple[str, ...]
    instruction: str = ""
    seed: str = ""


@dataclass(frozen=True)
class Split:
    """One data set, split into what trains and what is tested.

    An arm sees this and never the answers: those stay with the runner.

    Attributes:
        data: what reports call the data set.
        domain: what its items are; names the parser.
        items: the catalogue, raw.
        facts: the same, parsed.
        training: every user's visits that train, oldest first; a tested user's last one is missing.
        cases: what is tested, one per user.
    """

    data: str
    domain: str
    items: Mapping[str, Candidate]
    facts: Mapping[str, ItemFacts]
    training: Mapping[str, tuple[Visit, ...]]
    cases: tuple[Case, ...] = field(default=())
