"""A host with a dynamic profile (like i2Agent): it reflects on every choice and rewrites its profile of the user."""

from collections import Counter
from collections.abc import Sequence

from evaluation.hosts.host import HostRequest, parted
from evaluation.hosts.static_profile import Line, Profile, StaticProfileHost, strongest
from operators.attributes import fact_id
from schemas import ItemFacts

STEP = 0.2
"""How far one choice moves a line: after two choices a new line counts as `sometimes`, after four as `often`."""
_FORGOTTEN = 0.05


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
    return strongest({name: line for name, line in lines.items() if line.weight >= _FORGOTTEN})


class DynamicProfileHost(StaticProfileHost):
    """Begins like the static host; then each choice rewrites the profile, without a model call.

    Args:
        ranker: the model, which gets the profile; without one, candidates with more of its facts rank first.
    """

    name = "dynamic-profile"

    def observe(self, request: HostRequest, item_id: str) -> None:
        """Reflects on what was taken and what was left. The request's own history counts only the first time."""
        chosen, unchosen = parted(request, item_id)
        self._profiles[request.user_id] = rewritten(self.profile(request), chosen, unchosen)
