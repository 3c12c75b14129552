"""The memories of three ranking agents that a slim skill can join (paper 3.3)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from operators.attributes import fact_id
from operators.prompts import as_data
from schemas import Facet, Fact, ItemFacts

LAST_TITLES = 5
# The number of lines of a profile in a prompt.
MAX_LINES = 10
# How far one choice moves a line.
STEP = 0.2
_FORGOTTEN = 0.05
_LINE_CHARS, _TITLE_CHARS = 110, 100


class VanillaHost:
    """A host of one user without memory: it shows a model the last titles (Vanilla LLM).

    `history` has all items that the user took before the host served them, oldest first.
    """

    name = "vanilla"

    def __init__(self, history: Sequence[ItemFacts]) -> None:
        self._history = history

    def memory(self, taken: Sequence[ItemFacts]) -> tuple[Sequence[Facet], Sequence[str]]:
        """Return the facets and the last titles for a prompt; `taken` are the items before this list, oldest first."""
        newest_first = reversed(taken[-LAST_TITLES:])
        return (), [title for item in newest_first if (title := as_data(item.title, _TITLE_CHARS))]

    def observe(self, chosen: ItemFacts, unchosen: Sequence[ItemFacts]) -> None:
        """Observe the item that the user took from a list, and the others."""


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

    def __init__(self, history: Sequence[ItemFacts]) -> None:
        super().__init__(history)
        self.profile = profile_of(history)

    def memory(self, taken: Sequence[ItemFacts]) -> tuple[Sequence[Facet], Sequence[str]]:
        """Return the profile's lines as facets, and no titles."""
        facets = [
            Facet(
                facet=as_data(f"takes {line.fact.dimension}: {line.fact.value}", _LINE_CHARS),
                confidence=line.weight,
                attribute_id=name,
            )
            for name, line in self.profile.items()
        ]
        return facets, ()


class DynamicProfileHost(StaticProfileHost):
    """A host that rewrites its profile after choices (like i2Agent)."""

    name = "dynamic-profile"

    def observe(self, chosen: ItemFacts, unchosen: Sequence[ItemFacts]) -> None:
        """Rewrite the profile."""
        self.profile = rewritten(self.profile, chosen, unchosen)


# The hosts by name; each arm of a comparison creates its own, since some have a memory.
HOSTS: Mapping[str, type[VanillaHost]] = {
    host.name: host for host in (VanillaHost, StaticProfileHost, DynamicProfileHost)
}
