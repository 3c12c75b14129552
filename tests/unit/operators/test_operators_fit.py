"""Fit: the chance that candidates suit, that none does, and the question that would tell most."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.fit.acceptance import (
    AVOIDED_CHANCE,
    DOUBTFUL_CHANCE,
    MIN_BELIEF,
    PRIOR,
    RATES,
    REPLACED_CHANCE,
    mean_acceptance,
    update_beliefs,
)
from operators.fit.model import MIN_ACCEPTANCE, best_question, fit_list
from operators.stated import statement_id
from schemas import Evidence, ItemFacts, PolicySkill, Stance, Statement, Tier
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import NOW, a_fact, a_skill, an_attribute, id_of, item_facts

NOIR, SAGA, WAR, OLD, NEW = "genre: noir", "genre: saga", "genre: war", "age: old", "age: new"


def said(stance: Stance, text: str, **more: object) -> Statement:
    fact = a_fact(text)
    name = id_of(text)
    return Statement(
        **{
            "statement_id": statement_id(stance, name),
            "stance": stance,
            "attribute_id": name,
            "dimension": fact.dimension,
            "value": fact.value,
            "stated_at": NOW,
            "evidence": Evidence(event_id="e"),
            **more,
        }  # type: ignore[arg-type]
    )


def avoids(text: str, **more: object) -> Statement:
    return said(Stance.AVOIDS, text, **more)


def knows(*texts: str, beliefs: tuple[int, ...] | None = PRIOR, **more: object) -> PolicySkill:
    return a_skill(*(an_attribute(text, Tier.LOW, support=1) for text in texts), beliefs=beliefs, **more)


def chances(items: list[ItemFacts], skill: PolicySkill, *statements: Statement) -> tuple[float, ...]:
    found = fit_list(items, skill, statements, privacy=PRIVACY)
    assert found is not None
    return found.chances


def test_a_person_without_refusals_has_no_beliefs():
    items = [item_facts("a", NOIR), item_facts("b", SAGA)]

    assert fit_list(items, knows(NOIR, beliefs=None), (), privacy=PRIVACY) is None
    assert fit_list([], knows(NOIR), (), privacy=PRIVACY) is None
    assert update_beliefs(knows(NOIR, beliefs=None), (), suited=items, refused=()) is None


def test_one_avoided_fact_outweighs_all_likes():
    found = fit_list([item_facts("a", NOIR, OLD)], knows(NOIR, OLD), (avoids(OLD),), privacy=PRIVACY)

    assert found is not None
    assert (found.chances, found.suits, found.nothing) == ((AVOIDED_CHANCE,), False, pytest.approx(1 - AVOIDED_CHANCE))


def test_statements_before_a_shift_become_doubtful():
    skill = knows(OLD, shifted=5, version=9)
    item = [item_facts("a", NOIR, OLD)]
    doubtful = fit_list(item, skill, (avoids(NOIR, since=2),), privacy=PRIVACY)
    lifted = fit_list(
        item, skill, (avoids(NOIR, since=2), *(avoids(f"genre: g{n}", since=7) for n in range(3))), privacy=PRIVACY
    )

    assert doubtful is not None
    assert lifted is not None
    assert (doubtful.chances, set(doubtful.against)) == ((DOUBTFUL_CHANCE,), {"a"})
    assert (lifted.chances, set(lifted.against), lifted.suits) == ((REPLACED_CHANCE,), {"a"}, True)


def test_refusals_lower_and_choices_raise_acceptance():
    item = [item_facts("a", NOIR, OLD)]
    start = knows()
    refusing = update_beliefs(start, (), suited=(), refused=item)
    taking = update_beliefs(start, (), suited=item, refused=())

    assert refusing is not None
    assert taking is not None
    assert mean_acceptance(refusing, 1.0) < mean_acceptance(PRIOR, 1.0) < mean_acceptance(taking, 1.0)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=40))
def test_beliefs_stay_within_bounds(events):
    skill = knows(OLD)
    for suits, number in events:
        items = [item_facts("a", f"genre: g{number}", OLD)]
        beliefs = update_beliefs(skill, (), suited=items if suits else (), refused=() if suits else items)
        assert beliefs is not None
        assert len(beliefs) == len(RATES)
        assert max(beliefs) == 0
        assert min(beliefs) >= MIN_BELIEF
        skill = skill.model_copy(update={"beliefs": beliefs})


@given(
    st.lists(st.lists(st.sampled_from([NOIR, SAGA, WAR, OLD, NEW]), max_size=3, unique=True), min_size=1, max_size=9)
)
def test_chances_are_probabilities(lists):
    items = [item_facts(f"i{n}", *facts) for n, facts in enumerate(lists)]
    found = fit_list(items, knows(NOIR), (avoids(WAR),), asks=True, privacy=PRIVACY)

    assert found is not None
    assert all(0.0 < each <= 1.0 for each in found.chances)
    assert 0.0 <= found.nothing <= 1.0 - max(found.chances) + 1e-3
    assert found.suits is (max(found.chances) >= MIN_ACCEPTANCE)


def test_the_question_asks_about_the_deciding_dimension():
    items = [item_facts("a", NOIR, OLD), item_facts("b", SAGA, OLD), item_facts("c", WAR, OLD)]
    found = best_question(items, knows(), (), privacy=PRIVACY)

    assert found is not None
    assert found.dimension == "genre"
    assert found.text == "Do you prefer noir, saga or war?"
    assert [option.attribute_id for option in found.options] == [id_of(NOIR), id_of(SAGA), id_of(WAR)]


def test_a_question_has_up_to_four_options_commonest_first():
    items = [item_facts(f"i{n}", f"genre: g{n // 2}") for n in range(12)]
    found = best_question(items, knows(), (), privacy=PRIVACY)

    assert found is not None
    assert [option.value for option in found.options] == ["g0", "g1", "g2", "g3"]


def test_no_question_without_a_gain():
    alike = [item_facts("a", NOIR, OLD), item_facts("b", NOIR, OLD)]
    refused = [item_facts("a", NOIR), item_facts("b", SAGA)]

    assert best_question(alike, knows(), (), privacy=PRIVACY) is None
    assert best_question(refused, knows(), (avoids(NOIR), avoids(SAGA)), privacy=PRIVACY) is None


@pytest.mark.parametrize("text", ["faith: catholic", "religion: any", "health_condition: diabetes"])
def test_no_question_about_sensitive_facts(text):
    dimension = text.split(":")[0]
    items = [item_facts("a", text), item_facts("b", f"{dimension}: of another kind")]

    assert PRIVACY.refuses("", dimension, a_fact(text).value)
    assert best_question(items, knows(), (), privacy=PRIVACY) is None
