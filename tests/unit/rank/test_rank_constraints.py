"""What the person said, in the order of a list: what they do not want is last, whoever ranks and whatever was asked."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from operators.attributes import fact_ids
from operators.graph.facets import Retrieved
from operators.stated import statement_id
from operators.steps.rank import RankStep
from schemas import Bound, ItemFacts, Measure, PolicySkill, Scope, Stance, Statement
from schemas.skills import ONE, Evidence, SessionLine, SkillSession, Tier
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import NOW, a_skill, an_attribute, id_of, item_facts

STEP = RankStep(privacy=PRIVACY, gate=OUTPUT_GATE)
NOIR, SAGA, WAR = "genre: noir", "genre: saga", "genre: war"
LIKED = an_attribute(NOIR, Tier.HIGH, taken=9 * ONE, expected=ONE, support=9)


def said(stance: Stance, text: str, **more: object) -> Statement:
    dimension, value = text.split(": ")
    fields = {
        "statement_id": statement_id(stance, id_of(text)),
        "stance": stance,
        "attribute_id": id_of(text),
        "dimension": dimension,
        "value": value,
        "stated_at": NOW,
        "evidence": Evidence(event_id="w1"),
        **more,
    }
    return Statement.model_validate(fields)


def order(
    skill: PolicySkill, items: list[ItemFacts], asked: str = "", session_id: str | None = None
) -> tuple[str, ...]:
    lines = STEP.session_lines(skill, STEP.lines(skill), NOW, session_id)
    heard = STEP.statements_for(skill, items, NOW, session_id)
    return STEP.order(items, STEP.features_of(items, lines, Retrieved()), asked, "seed", heard=heard).order


ITEMS = [item_facts("a", NOIR), item_facts("b", SAGA), item_facts("c", WAR)]


def test_avoided_candidates_come_last() -> None:
    skill = a_skill(LIKED, stated=(said(Stance.AVOIDS, NOIR),))

    assert order(skill, ITEMS)[-1] == "a"
    assert order(skill, ITEMS, asked="noir")[-1] == "a"


def test_stated_preferences_precede_learned_ones() -> None:
    some = an_attribute(NOIR, Tier.LOW, taken=ONE, expected=ONE // 2, support=1)

    assert order(a_skill(some), ITEMS)[0] == "a"
    assert order(a_skill(some, stated=(said(Stance.PREFERS, WAR),)), ITEMS)[0] == "c"


SURE = an_attribute(NOIR, Tier.HIGH, taken=900 * ONE, expected=ONE, support=99)


def test_scope_precedes_number_precedes_recency() -> None:
    both, once = item_facts("both", WAR, SAGA), item_facts("once", NOIR)
    wishes = (
        said(Stance.PREFERS, WAR, since=1),
        said(Stance.PREFERS, SAGA, since=2),
        said(Stance.PREFERS, NOIR, since=3),
    )
    tonight = wishes[2].model_copy(update={"scope": Scope.NOW, "until": NOW + timedelta(minutes=30)})

    assert order(a_skill(stated=wishes), [once, both]) == ("both", "once")
    assert order(a_skill(stated=(*wishes[:2], tonight)), [both, once]) == ("once", "both")
    assert order(a_skill(SURE, stated=wishes[:2]), ITEMS) == ("b", "c", "a")


def test_preference_decided_list_teaches_no_weights() -> None:
    skill = a_skill(SURE, stated=(said(Stance.PREFERS, WAR),))
    heard, spoken = STEP.statements_for(skill, ITEMS, NOW), STEP.features_of(ITEMS, STEP.lines(skill), Retrieved())

    weighed = STEP.order(ITEMS, spoken, "", "seed", heard=heard)

    assert (weighed.order[0], weighed.features) == ("c", None)


@given(
    st.lists(st.sampled_from([NOIR, SAGA, WAR, "genre: gothic"]), min_size=1, max_size=8), st.sampled_from([SAGA, WAR])
)
def test_preferred_candidates_come_first(facts: list[str], wanted: str) -> None:
    items = [item_facts(f"i{number}", fact) for number, fact in enumerate(facts)]

    found = order(a_skill(SURE, stated=(said(Stance.PREFERS, wanted),)), items)

    places = [facts[int(name[1:])] != wanted for name in found]
    assert places == sorted(places)


def test_bound_moves_only_measured_violations_last() -> None:
    priced = {"dear": 30.0, "cheap": 10.0}
    items = [ItemFacts(item_id=name, measures={"price": price}) for name, price in priced.items()]
    bound = said(Stance.PREFERS, "price: below 20", bound=Bound(measure=Measure.PRICE, below=20.0), scope=Scope.NOW)
    heard = STEP.statements_for(a_skill(stated=(bound,)), [*items, ItemFacts(item_id="unpriced")], NOW)

    assert heard.said.against == {"dear"}


def test_session_choices_rank_only_their_session() -> None:
    lines = (SessionLine(attribute_id=id_of(WAR), dimension="genre", value="war", taken=3 * ONE, expected=ONE // 3),)
    session = SkillSession(session_id="s1", last_at=NOW, until=NOW + timedelta(hours=2), lines=lines)
    skill = a_skill(an_attribute(NOIR, Tier.LOW, taken=ONE, expected=ONE // 2, support=1), sessions=(session,))

    assert order(skill, ITEMS, session_id="s1")[0] == "c"
    assert order(skill, ITEMS)[0] == order(skill, ITEMS, session_id="s2")[0] == "a"
    later = STEP.session_lines(skill, skill.attributes, NOW + timedelta(hours=3), "s1")
    assert later == skill.attributes


@given(
    st.lists(st.sampled_from([NOIR, SAGA, WAR, "genre: gothic"]), min_size=1, max_size=8),
    st.sets(st.sampled_from([NOIR, SAGA, WAR]), max_size=2),
    st.sampled_from(["", "noir", "something about war"]),
)
def test_no_avoided_candidate_precedes_another(facts: list[str], avoided: set[str], asked: str) -> None:
    """A directive is honoured by the very next ranking, whatever else speaks for a candidate."""
    items = [item_facts(f"i{number}", fact) for number, fact in enumerate(facts)]
    skill = a_skill(LIKED, stated=tuple(said(Stance.AVOIDS, each) for each in sorted(avoided)))
    unwanted = {item.item_id for item in items if {id_of(each) for each in avoided} & set(fact_ids(item.facts))}

    places = [name in unwanted for name in order(skill, items, asked)]

    assert places == sorted(places)
