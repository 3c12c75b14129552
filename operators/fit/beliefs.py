"""How probable something unknown suits a person: a few chances, each with how well it tells what they said so far.

An item of which nothing is known suits with some chance `U`. The more of its facts a person took or preferred before,
the fewer are left that could be against it: with a share `s` of them unknown it suits with `U ** s ** 0.5`. How large
`U` is differs from person to person, and is learned from what suited and what was refused.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from math import exp, fsum, log

from operators.fit.chances import Power, candidates, none_suits
from operators.fit.known import Known
from schemas import ONE, ItemFacts, PolicySkill, Statement
from schemas.fit import Beliefs

CHANCES = (0.002, 0.016, 0.064, 0.125, 0.22, 0.36, 0.56, 0.81, 0.97)
"""The values that `U` may have."""
_PRIOR = (-2.2, -1.2, -0.4, 0.0, -0.4, -1.2, -2.2, -3.4, -4.6)
"""In nat. An item with one of three facts unknown suits with a chance of about a third at first."""
PRIOR: Beliefs = tuple(round(each * ONE) for each in _PRIOR)
LEAST = -16 * ONE
"""No chance is ruled out for good: a person may become less choosy."""
BENT = 0.5
"""The shape of that: one unknown fact beside known ones is less likely fine than its share says. What is still unknown
of somebody who has seen a lot was passed over mostly."""
WORTH = 0.5
"""What one list tells of the next: they show the same facts again, so that each is less than a new observation."""
_TINY = 1e-9


def learned(
    skill: PolicySkill,
    statements: Sequence[Statement],
    suited: Sequence[ItemFacts],
    refused: Sequence[ItemFacts],
    shown: Sequence[ItemFacts] = (),
) -> Beliefs | None:
    """What is believed once some items turned out to suit and others not to; None: nothing is known yet.

    What is known of the items' facts is what was known before: give the skill and the statements as they stood when
    the person said it. Nothing is believed of somebody who never refused anything, since those who take one of ten
    each time say nothing of whether others would do.

    Args:
        skill: before the event.
        statements: those that were live before it.
        suited: items that were taken, or of which the person said that they would do.
        refused: items that the person did not want; all of a list of which they took none.
        shown: what those that suited were picked from. Whoever picks for themselves tells that something suits, which
            is less than that a given thing does.
    """
    if skill.beliefs is None and not refused:
        return None
    known = Known.of(skill, statements)
    found = [each / ONE for each in started(skill.beliefs)]
    for items, suits in (((shown or suited) if suited else (), True), (refused, False)):
        listed = [each for each in candidates(items, known) if each.told == 1.0]
        # What is known throughout tells nothing of what is unknown.
        if not listed or not all(each.missing for each in listed):
            continue
        for place, chance in enumerate(CHANCES):
            none = none_suits(listed, partial(_at, chance))
            found[place] += WORTH * log(max(_TINY, 1.0 - none if suits else none))
    best = max(found)
    return tuple(max(LEAST, round((each - best) * ONE)) for each in found)


def started(beliefs: Beliefs | None) -> Beliefs:
    """The beliefs, or those about somebody of whom nothing is known; of another release's chances none are read."""
    return beliefs if beliefs is not None and len(beliefs) == len(PRIOR) else PRIOR


def power_of(beliefs: Beliefs | None) -> Power:
    """The chance that something suits, by the share of its facts that is unknown."""
    return partial(chance_of, started(beliefs))


@lru_cache(maxsize=16_384)
def chance_of(beliefs: Beliefs, share: float) -> float:
    """How probable an item suits of whose facts this share is unknown.

    >>> [round(chance_of(PRIOR, share), 2) for share in (0.0, 1 / 3, 1.0)]
    [1.0, 0.32, 0.16]
    """
    if not share:
        return 1.0
    weights = [exp(each / ONE) for each in beliefs]
    return fsum(weight * _at(chance, share) for weight, chance in zip(weights, CHANCES, strict=True)) / fsum(weights)


def _at(chance: float, share: float) -> float:
    return float(chance ** (share**BENT))
