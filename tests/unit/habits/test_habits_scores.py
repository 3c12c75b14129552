"""What habits say in a ranking."""

import pytest

from operators.evidence import strength
from operators.habits import POLES, habit_scores
from operators.rank import rank
from operators.rank.weights import RankWeights
from schemas import ONE, Attribute, ItemFacts, Source, Tier
from tests.builders import an_attribute


def a_habit(value: str, tier: Tier = Tier.MEDIUM) -> Attribute:
    pole = next(pole for pole in POLES if pole.value == value)
    return Attribute(
        attribute_id=pole.attribute_id, kind=pole.kind, dimension=pole.dimension, value=pole.value, tier=tier,
        source=Source.DISCOVERED, taken=27 * ONE, expected=15 * ONE, support=1,
    )  # fmt: skip


CHEAPER = a_habit("picks cheaper than average")
ITEMS = [ItemFacts(item_id=f"i{n}", measures={"price": n}) for n in range(1, 6)]


def test_an_item_on_the_side_of_a_sure_habit_gains_what_its_evidence_says() -> None:
    gain = strength(CHEAPER)

    assert habit_scores(ITEMS, [CHEAPER], None) == {"by_price": [gain, gain, 0, 0, 0]}


@pytest.mark.parametrize(
    "line",
    [
        a_habit("picks cheaper than average", Tier.LOW),
        a_habit("picks newer than average"),
        a_habit("takes what stands first"),
        a_habit("follows the request closely"),
        a_habit("decides by genre"),
        an_attribute("genre: noir"),
    ],
)
def test_other_lines_and_habits_that_say_nothing_about_items_gain_nothing(line: Attribute) -> None:
    assert habit_scores(ITEMS, [line], None) == {}


def test_popularity_is_the_workers_where_items_tell_none() -> None:
    popular = a_habit("goes with what is popular")

    gained = habit_scores(ITEMS, [popular], {"i3": 9, "i4": 5})["by_popularity"]

    assert [place for place, gain in enumerate(gained) if gain] == [2, 3]


def test_ranker_puts_the_cheaper_ones_first_for_who_picks_them() -> None:
    ranked = [item.item_id for item, _ in rank(ITEMS, [CHEAPER], weights=RankWeights())]

    assert set(ranked[:2]) == {"i1", "i2"}
    assert [item.item_id for item, _ in rank(ITEMS, [CHEAPER], weights=RankWeights(skill=0))] != ranked
