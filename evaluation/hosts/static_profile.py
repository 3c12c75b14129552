"""A host with a static profile (like iAgent): built once from the user's history and never changed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.hosts.host import HostRequest, Ranks, by_model, ordered, parted
from operators.attributes import fact_id
from operators.prompts import as_data
from schemas import Facet, Fact, ItemFacts

MAX_LINES = 10
"""The number of lines in a prompt."""
_OFTEN, _SOMETIMES = 0.5, 0.25
_LINE_CHARS = 110


@dataclass(frozen=True)
class Line:
    """One line of a profile: a fact, and the share of the user's choices that had it."""

    fact: Fact
    weight: float

    @property
    def strength(self) -> int:
        """Its weight: 3 is often, 2 sometimes, 1 now and then."""
        return 3 if self.weight >= _OFTEN else 2 if self.weight >= _SOMETIMES else 1


Profile = Mapping[str, Line]
"""At most `MAX_LINES` lines by the id of their fact, strongest first."""


def profile_of(history: Sequence[ItemFacts]) -> Profile:
    """The profile of a user's history: its most frequent facts."""
    known = {fact_id(fact): fact for item in history for fact in item.facts}
    having = Counter(name for item in history for name in {fact_id(fact) for fact in item.facts})
    return strongest({name: Line(fact, having[name] / len(history)) for name, fact in known.items()})


def strongest(lines: Mapping[str, Line]) -> Profile:
    """The strongest of these lines, as many as a profile holds."""
    return dict(sorted(lines.items(), key=lambda named: (-named[1].weight, named[0]))[:MAX_LINES])


class StaticProfileHost:
    """Ranks by the profile that it built from a user's history at the first request.

    Args:
        ranker: the model, which gets the profile; without one, candidates with more of its facts rank first.
    """

    name = "static-profile"

    def __init__(self, ranker: Ranks | None = None) -> None:
        self._ranker = ranker
        self._profiles: dict[str, Profile] = {}

    async def rank(self, request: HostRequest) -> tuple[str, ...]:
        """The candidates' ids, best first."""
        profile = self.profile(request)
        if self._ranker is not None:
            return await by_model(self._ranker, request, _context(profile))

        def remembered(item: ItemFacts) -> int:
            return sum(profile[name].strength for name in {fact_id(fact) for fact in item.facts} if name in profile)

        return ordered(request, remembered)

    def observe(self, request: HostRequest, item_id: str) -> None:
        """Does nothing: the profile is static."""
        parted(request, item_id)
        self.profile(request)

    def profile(self, request: HostRequest) -> Profile:
        """The user's profile, built from the request's history if there is none yet."""
        if request.user_id not in self._profiles:
            self._profiles[request.user_id] = profile_of(request.history)
        return self._profiles[request.user_id]


def _context(profile: Profile) -> list[Facet]:
    return [
        Facet(
            facet=as_data(f"takes {line.fact.dimension}: {line.fact.value}", _LINE_CHARS),
            confidence=line.weight,
            attribute_id=name,
        )
        for name, line in profile.items()
    ]
