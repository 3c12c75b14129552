"""The demo's curve: the skill at each choice, and the prior alone, on the same lists."""

from operators.evolve import Proposal, validate
from operators.learning.fold import merge, start
from operators.learning.update import resolve_counts
from schemas import Contrast, SkillDiff
from streams.local.demo.report import curve
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import a_contrast, an_attribute

OTHERS = [["genre: saga"], ["genre: epic"], ["genre: farce"]]


def played(choices: int) -> tuple[list[SkillDiff], dict[str, Contrast]]:
    """A user whose prior says saga and who takes noir."""
    contrasts = [a_contrast(["genre: noir"], OTHERS, event_id=f"c{n}", ranking_id=f"r{n}") for n in range(choices)]
    skill, log = start("ann", "films", (an_attribute("genre: saga"),), contrasts[0]), list[SkillDiff]()
    for contrast in contrasts:
        log.append(resolve_counts(skill, validate(Proposal(), skill, contrast, privacy=PRIVACY), contrast))
        skill = merge(skill, log[-1])
    return log, {contrast.event_id: contrast for contrast in contrasts}


def test_what_was_learned_and_the_prior_rank_the_same_lists() -> None:
    points = curve(*played(20))

    assert [(point.seen, point.choices) for point in points] == [
        ("0", 1), ("1", 1), ("2", 1), ("3-4", 2), ("5-8", 4), ("9-16", 8), ("17+", 3),
    ]  # fmt: skip
    assert [point.prior for point in points] == [0.0] * 7
    assert [point.learned for point in points][3:] == [1.0] * 4
