"""Three agents that rank by themselves, with and without a slim skill (paper 3.3, Figures 3 to 5).

host = HOSTS["static-profile"](ranker)     # an operators.rank.listwise.ListwiseRanker
order = await host.rank(HostRequest("ann", candidates, "a quiet one", history, slim_skill))
host.observe(request, order[0])

A host follows the paper's order of criteria: the request, then its memory, and the slim skill only to break ties. All
three hosts share this; they differ in their memory.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from operators.attributes import fact_id
from operators.prompts import as_data
from operators.rank import LlmRanking, RankTask
from schemas import Facet, Fact, ItemFacts

LAST_TITLES = 5
# The number of lines of a profile in a prompt.
MAX_LINES = 10
# How far one choice moves a line.
STEP = 0.2
_FORGOTTEN = 0.05
_LINE_CHARS, _TITLE_CHARS = 110, 100


@dataclass(frozen=True)
class HostRequest:
    """An app's request for a ranking.

    Attributes:
        user_id: the user who asks.
        candidates: the parsed candidates, with distinct ids.
        instruction: the user's request in their own words.
        history: the items that the user took before, oldest first.
        slim_skill: the slim skill's text; empty in the arm without it.
        seed: breaks the remaining ties.

    Raises:
        ValueError: two candidates have the same id.
    """

    user_id: str
    candidates: Sequence[ItemFacts]
    instruction: str = ""
    history: Sequence[ItemFacts] = ()
    slim_skill: str = ""
    seed: str = ""

    def __post_init__(self) -> None:
        if len({item.item_id for item in self.candidates}) != len(self.candidates):
            raise ValueError("candidates must be different")

    def parted(self, item_id: str) -> tuple[ItemFacts, list[ItemFacts]]:
        """The taken candidate, and the others.

        Raises:
            ValueError: no candidate has this id.
        """
        taken = [item for item in self.candidates if item.item_id == item_id]
        if not taken:
            raise ValueError(f"{item_id!r} is not one of the candidates")
        return taken[0], [item for item in self.candidates if item.item_id != item_id]


class HostRanker(Protocol):
    """A ranker with a model, such as `operators.rank.listwise.ListwiseRanker`."""

    async def rank(self, task: RankTask) -> LlmRanking:
        """The candidates in a strict order."""
        ...


class Host:
    """An agent of one domain, with a ranker. Each arm of a comparison needs its own, since some have a memory."""

    name = ""

    def __init__(self, ranker: HostRanker) -> None:
        self._ranker = ranker

    async def rank(self, request: HostRequest) -> tuple[str, ...]:
        """The candidates' ids, best first, each exactly once.

        The host's memory stands in the prompt in the place of the community's facets: after the request and before the
        slim skill, in both arms.

        Raises:
            ReasonerUnavailable: the model gave no usable answer. A host has no fallback: an evaluation would mix two
                rankers.
        """
        context, titles = self._memory(request)
        task = RankTask(
            request.candidates,
            request.instruction,
            context,
            slim_skill=request.slim_skill,
            lately=titles,
            seed=request.seed,
        )
        return (await self._ranker.rank(task)).order

    def observe(self, request: HostRequest, item_id: str) -> None:
        """Observe which of a request's candidates the user took.

        Raises:
            ValueError: it is not one of them.
        """
        request.parted(item_id)

    def _memory(self, request: HostRequest) -> tuple[Sequence[Facet], Sequence[str]]:
        """The memory for a model: facets, and recent titles."""
        raise NotImplementedError


class VanillaHost(Host):
    """A host without memory (the paper's Vanilla LLM): the request, and the raw titles of the last few items."""

    name = "vanilla"

    def _memory(self, request: HostRequest) -> tuple[Sequence[Facet], Sequence[str]]:
        newest_first = reversed(self._titles(request))
        return (), [title for raw in newest_first if (title := as_data(raw, _TITLE_CHARS))]

    @staticmethod
    def _titles(request: HostRequest) -> list[str]:
        return [item.title for item in request.history[-LAST_TITLES:]]


@dataclass(frozen=True)
class Line:
    """One line of a profile: a fact, and the share of the user's choices that had it."""

    fact: Fact
    weight: float


# At most `MAX_LINES` lines by the id of their fact, strongest first.
Profile = Mapping[str, Line]


def profile_of(history: Sequence[ItemFacts]) -> Profile:
    """The profile of a user's history: its most frequent facts."""
    known = {fact_id(fact): fact for item in history for fact in item.facts}
    having = Counter(name for item in history for name in {fact_id(fact) for fact in item.facts})
    return _strongest({name: Line(fact, having[name] / len(history)) for name, fact in known.items()})


def rewritten(profile: Profile, chosen: ItemFacts, unchosen: Sequence[ItemFacts]) -> Profile:
    """The profile after a choice.

    Facts that distinguish the chosen item gain, facts that were shown and not taken lose, and all others stay: a choice
    says nothing about facts that were absent or shared by most of the list.
    """
    taken = {fact_id(fact): fact for fact in chosen.facts}
    left = Counter(name for item in unchosen for name in {fact_id(fact) for fact in item.facts})
    lines = {
        name: Line(line.fact, line.weight * (1 - STEP)) if name in left and name not in taken else line
        for name, line in profile.items()
    }
    for name, fact in taken.items():
        if 2 * left[name] < len(unchosen):
            known = lines[name].weight if name in lines else 0.0
            lines[name] = Line(fact, known + STEP * (1 - known))
    return _strongest({name: line for name, line in lines.items() if line.weight >= _FORGOTTEN})


def _strongest(lines: Mapping[str, Line]) -> Profile:
    return dict(sorted(lines.items(), key=lambda named: (-named[1].weight, named[0]))[:MAX_LINES])


class StaticProfileHost(Host):
    """A host with a profile (like iAgent), built once from the history at the first request and never changed."""

    name = "static-profile"

    def __init__(self, ranker: HostRanker) -> None:
        super().__init__(ranker)
        self._profiles: dict[str, Profile] = {}

    def observe(self, request: HostRequest, item_id: str) -> None:
        """Build the profile if there is none yet."""
        super().observe(request, item_id)
        self.profile(request)

    def profile(self, request: HostRequest) -> Profile:
        """The user's profile, built from the request's history if there is none yet."""
        if request.user_id not in self._profiles:
            self._profiles[request.user_id] = profile_of(request.history)
        return self._profiles[request.user_id]

    def _memory(self, request: HostRequest) -> tuple[Sequence[Facet], Sequence[str]]:
        facets = [
            Facet(
                facet=as_data(f"takes {line.fact.dimension}: {line.fact.value}", _LINE_CHARS),
                confidence=line.weight,
                attribute_id=name,
            )
            for name, line in self.profile(request).items()
        ]
        return facets, ()


class DynamicProfileHost(StaticProfileHost):
    """A host that rewrites its profile after every choice (like i2Agent), without a model call."""

    name = "dynamic-profile"

    def observe(self, request: HostRequest, item_id: str) -> None:
        """Rewrite the profile. The request's own history counts only the first time."""
        self._profiles[request.user_id] = rewritten(self.profile(request), *request.parted(item_id))


# The hosts by name; each is created with a ranker.
HOSTS: Mapping[str, type[Host]] = {host.name: host for host in (VanillaHost, StaticProfileHost, DynamicProfileHost)}
