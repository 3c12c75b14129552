"""Whatever is done to a sealed log is found."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.chain import Kind, audit, seal
from operators.habits.axes import POLES
from operators.merge import merge, resolve_command, start
from operators.steps.evolve import Evolve
from operators.steps.evolved import State
from schemas import Action, Attribute, PolicySkill, SkillDiff, Tier
from schemas import Kind as LineKind
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import DOMAIN, USER, a_command, a_proposal, an_attribute, evolve

KEY = b"hush"
TEXTS = ("genre: noir", "genre: saga", "mood: dark", "era: 1950s")
ACTS = st.lists(st.tuples(st.sampled_from(TEXTS), st.booleans()), min_size=3, max_size=6)
Log = list[SkillDiff]


def written(acts: list[tuple[str, bool]]) -> tuple[Log, PolicySkill]:
    """A sealed log as a worker writes it, and the skill that it leads to; an act is a choice or a removal."""
    skill = start(USER, DOMAIN, (an_attribute("genre: noir"),), a_command())
    log: Log = []
    for text, chosen in acts:
        if chosen:
            diff = evolve(skill, a_proposal([text], [text], analysis="fits"))[1]
        else:
            diff = resolve_command(skill, a_command(Action.REMOVE, text), privacy=PRIVACY, vouching=VOUCHING)
        log.append(seal(diff, skill.chain, KEY))
        skill = merge(skill, log[-1])
    return log, skill


def changed(log: Log, at: int, **fields: object) -> Log:
    return [diff.model_copy(update=fields) if place == at else diff for place, diff in enumerate(log)]


def with_words_of_another(log: Log, at: int) -> Log:
    return changed(log, at, analysis=log[at].analysis + ".")


def with_another_time(log: Log, at: int) -> Log:
    return changed(log, at, occurred_at=log[at].occurred_at.replace(year=2020))


def with_another_seed(log: Log, at: int) -> Log:
    return changed(log, at, seed=(an_attribute("genre: romance"),))


def without(log: Log, at: int) -> Log:
    return log[:at] + log[at + 1 :]


def swapped(log: Log, at: int) -> Log:
    other = (at + 1) % len(log)
    numbers = {at: log[other], other: log[at]}
    return [
        numbers.get(place, diff).model_copy(update={"version": diff.version, "base_version": diff.base_version})
        for place, diff in enumerate(log)
    ]


def with_one_more(log: Log, at: int) -> Log:
    return [*log[: at + 1], log[at], *log[at + 1 :]]


def cut_off(log: Log, at: int) -> Log:
    return log[:at]


def sealed_with_another_key(log: Log, at: int) -> Log:
    return changed(log, at, chain=seal(log[at], log[at - 1].chain if at else None, b"guess").chain)


EDITS = [
    with_words_of_another,
    with_another_time,
    with_another_seed,
    without,
    swapped,
    with_one_more,
    cut_off,
    sealed_with_another_key,
]


@given(ACTS)
def test_nothing_is_found_in_a_log_as_it_was_written(acts: list[tuple[str, bool]]) -> None:
    log, skill = written(acts)

    assert audit(log, skill, key=KEY) == []


@pytest.mark.parametrize("edit", EDITS)
@given(ACTS, st.data())
def test_an_edit_of_a_log_is_found(
    edit: Callable[[Log, int], Log], acts: list[tuple[str, bool]], data: st.DataObject
) -> None:
    log, skill = written(acts)

    assert audit(edit(log, data.draw(st.integers(0, len(log) - 1))), skill, key=KEY)


@given(ACTS)
def test_an_edit_of_the_skill_is_found(acts: list[tuple[str, bool]]) -> None:
    log, skill = written(acts)

    assert audit(log, skill.model_copy(update={"attributes": (an_attribute("genre: romance"),)}), key=KEY)
    assert audit(log, None, key=KEY)


def test_a_run_of_versions_without_a_seal_is_told_once() -> None:
    log, skill = written([(TEXTS[1], True)] * 3)
    bare = [diff.model_copy(update={"chain": None}) for diff in log]

    told = audit(bare, skill, key=KEY)

    assert (told[0].kind, told[0].what) == (Kind.LOG_UNSEALED, "versions 1 to 3: it is not sealed")
    assert len(told) == 2


def a_pole(value: str) -> Attribute:
    pole = next(each for each in POLES if each.value == value)
    return an_attribute(f"{pole.dimension}: {value}", kind=pole.kind, tier=Tier.HIGH)


@pytest.mark.parametrize(
    "lines",
    [
        (a_pole("picks cheaper than average"), a_pole("explores many genres")),
        (an_attribute("genre: noir", Tier.HIGH), an_attribute("era: 1990s", Tier.HIGH, kind=LineKind.CRITERION)),
        (an_attribute("author: Flann O'Brien", tier=Tier.HIGH),),
    ],
    ids=["two habits", "a criterion", "signs"],
)  # fmt: skip
def test_a_slim_skill_as_the_worker_makes_it_has_no_faults(lines: tuple[Attribute, ...]) -> None:
    step = Evolve(slim_tokens=30, chain_key=KEY, privacy=PRIVACY, vouching=VOUCHING)
    skill = start(USER, DOMAIN, lines, a_command())
    version = step.version(State(skill), evolve(skill, a_proposal())[1], always=True)
    assert version.diff is not None
    assert version.slim is not None
    assert version.slim.text

    assert audit([version.diff], version.skill, version.slim, KEY) == []
