"""What habits say in a ranking."""

from operators.evidence import strength
from operators.habits import POLES, habit_scores
from operators.rank import rank
from operators.rank.weights import RankWeights
from schemas import ONE, Attribute, ItemFacts, Source, Tier


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


def test_ranker_puts_the_cheaper_ones_first_for_who_picks_them() -> None:
    ranked = [item.item_id for item, _ in rank(ITEMS, [CHEAPER], weights=RankWeights())]

    assert set(ranked[:2]) == {"i1", "i2"}
    assert [item.item_id for item, _ in rank(ITEMS, [CHEAPER], weights=RankWeights(skill=0))] != ranked
