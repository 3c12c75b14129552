"""An arm's input: everything to train on, and the cases to rank."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluation.draw import Negatives
from schemas import Candidate, ItemFacts
from streams.importers.dataset import Visit


@dataclass(frozen=True)
class Case:
    """One test ranking: a user, and candidates of which they took exactly one.

    Attributes:
        user_id: the user's id.
        candidates: the candidates' ids in the order of presentation, shuffled by the run's seed and the user's id.
        instruction: what the user asks for, if the data has it.
        seed: the seed of everything drawn for this case.
    """

    user_id: str
    candidates: tuple[str, ...]
    instruction: str = ""
    seed: str = ""


@dataclass(frozen=True)
class Split:
    """One data set, split into training visits and test cases.

    Arms see this but never the answers, which stay with the runner.

    Attributes:
        data: the data set's name in reports.
        domain: the items' domain, which names the parser.
        items: the raw catalogue.
        facts: the parsed catalogue.
        training: every user's training visits, oldest first, without a tested user's last one.
        cases: the test cases, one per user.
        candidates: how the cases' negatives are drawn.
    """

    data: str
    domain: str
    items: Mapping[str, Candidate]
    facts: Mapping[str, ItemFacts]
    training: Mapping[str, tuple[Visit, ...]]
    cases: tuple[Case, ...] = field(default=())
    candidates: Negatives = Negatives.UNIFORM
