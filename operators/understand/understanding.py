"""What a correction says: by its form where it has one, else by its words."""

from collections.abc import Sequence

from operators.understand.forms import filled_in
from operators.understand.known import known_facts
from operators.understand.understood import Understood
from schemas import Correction, Fact, ItemFacts, PolicySkill


def understand(
    correction: Correction, items: Sequence[ItemFacts], skill: PolicySkill, vocabulary: Sequence[Fact] = ()
) -> Understood:
    """What the person says by it; what is not understood says nothing. Pure, never raises.

    Args:
        correction: with `says`, its form is taken as it is; else its text is read.
        items: the facts of what the person sees, in the order of the correction's `items`.
        skill: as it is now; its lines and statements are things that can be named.
        vocabulary: further facts of the domain that can be named.
    """
    if correction.says:
        reads = filled_in(correction, known_facts(items, skill, vocabulary))
        return Understood(reads, tuple(correction.suits), correction.language or "")
    return Understood((), tuple(correction.suits), correction.language or "")
