"""Three ranking agents, with and without a slim skill (paper 3.3).

All follow the paper's order of criteria: the request, the host's memory, and the slim skill only to break ties.
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
    """An app's request for a ranking of parsed candidates with distinct ids.

    `history` is oldest first; `slim_skill` is empty in the arm without it; `seed` breaks the remaining ties.
    """

    user_id: str
    candidates: Sequence[ItemFacts]
    instruction: str = ""
    history: Sequence[ItemFacts] = ()
    slim_skill: str = ""
    seed: str = ""


class HostRanker(Protocol):
    """A ranker with a model, such as `operators.rank.listwise.ListwiseRanker`."""

    async def rank(self, task: RankTask) -> LlmRanking:
        """Return the candidates in a strict order."""
        ...


class VanillaHost:
    """A host without memory: request and last titles (Vanilla LLM)."""

    name = "vanilla"

    def __init__(self, ranker: HostRanker) -> None:
        self._ranker = ranker

    async def rank(self, request: HostRequest) -> tuple[str, ...]:
        """Return ids, best first; ReasonerUnavailable without a usable answer."""
        # In the prompt, memory takes the place of the community's facets, in both arms.
        facets, titles = self._memory(request)
        task = RankTask(
            request.candidates,
            request.instruction,
            facets,
            slim_skill=request.slim_skill,
            lately=titles,
            seed=request.seed,
        )
        return (await self._ranker.rank(task)).order

    def observe(self, request: HostRequest, item_id: str) -> None:
        """Observe which of a request's candidates the user took."""

    def _memory(self, request: HostRequest) -> tuple[Sequence[Facet], Sequence[str]]:
        """The memory for a model: facets, and recent titles."""
        newest_first = reversed(request.history[-LAST_TITLES:])
        return (), [title for item in newest_first if (title := as_data(item.title, _TITLE_CHARS))]


@dataclass(frozen=True)
class Line:
    """A fact and its share of the user's choices."""

    fact: Fact
    weight: float


# At most `MAX_LINES` lines by the id of their fact, strongest first.
Profile = Mapping[str, Line]


def profile_of(history: Sequence[ItemFacts]) -> Profile:
    """The most frequent facts of a user's history."""
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


class StaticProfileHost(VanillaHost):
    """A host with a constant profile of the history (like iAgent)."""

    name = "static-profile"

    def __init__(self, ranker: HostRanker) -> None:
        super().__init__(ranker)
        self._profiles: dict[str, Profile] = {}

    def profile(self, request: HostRequest) -> Profile:
        """The user's profile, built from the first request's history."""
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
    """A host that rewrites its profile after choices (like i2Agent)."""

    name = "dynamic-profile"

    def observe(self, request: HostRequest, item_id: str) -> None:
        """Rewrite the profile. The request's own history counts only the first time."""
        [chosen] = (item for item in request.candidates if item.item_id == item_id)
        unchosen = [item for item in request.candidates if item.item_id != item_id]
        self._profiles[request.user_id] = rewritten(self.profile(request), chosen, unchosen)


# The hosts by name; each arm of a comparison creates its own, since some have a memory.
HOSTS: Mapping[str, type[VanillaHost]] = {
    host.name: host for host in (VanillaHost, StaticProfileHost, DynamicProfileHost)
}
