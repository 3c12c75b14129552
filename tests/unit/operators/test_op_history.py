"""A skill's past: as it was, what differs, and what a line rests on."""

from operators.history import at_version, changes_of, difference, steps
from operators.merge import merge, resolve_command, start
from schemas import Action, PolicySkill, SkillCommand, SkillDiff, Tier
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import DOMAIN, USER, a_command, a_proposal, an_attribute, evolve, id_of

NOIR, SAGA, DARK = "genre: noir", "genre: saga", "mood: dark"


def log_of(*acts: SkillCommand | tuple[list[str], list[str]]) -> list[SkillDiff]:
    """A log that begins with noir at medium; an act is a command, or what a choice reinforces and discovers."""
    skill: PolicySkill = start(USER, DOMAIN, (an_attribute(NOIR),), a_command())
    log = []
    for act in acts:
        if isinstance(act, SkillCommand):
            log.append(resolve_command(skill, act, privacy=PRIVACY, vouching=VOUCHING))
            skill = merge(skill, log[-1])
        else:
            skill, diff = evolve(skill, a_proposal(*act))
            log.append(diff)
    return log


def test_a_difference_names_what_came_what_went_and_what_says_something_else() -> None:
    log = log_of(([NOIR], [SAGA]), a_command(Action.REMOVE, NOIR), a_command(Action.PIN, SAGA))
    versions = {number: at_version(log, number) for number in range(4)}

    first, second = versions[1], versions[3]
    assert first is not None
    assert second is not None
    told = difference(first, second)

    assert [line.value for line in told.gone] == ["noir"]
    assert [(old.pinned, new.pinned) for old, new in told.changed] == [(False, True)]
    assert changes_of(*told.changed[0]) == {"pinned": (False, True)}
    back = difference(second, first)
    assert (back.added, back.gone) == (told.gone, told.added)


def test_a_line_rests_on_its_seed_and_on_each_event_that_touched_it() -> None:
    log = log_of(([NOIR], [SAGA]), ([SAGA], []), ([NOIR], []))

    found = steps(log, id_of(NOIR))

    assert [step.diff.version for step in found] == [1, 1, 3]
    assert found[0].change is None
    assert found[0].seeded is not None
    assert found[0].seeded.tier is Tier.MEDIUM
    assert [step.change.kind.value for step in found if step.change] == ["reinforced", "reinforced"]


def test_a_reworded_line_rests_on_what_it_said_before_too() -> None:
    log = log_of(([NOIR], []), a_command(Action.REWORD, NOIR, value="film noir"))

    found = steps(log, id_of("genre: film noir"))

    assert [step.attribute_id for step in found] == [id_of(NOIR), id_of(NOIR), id_of("genre: film noir")]
