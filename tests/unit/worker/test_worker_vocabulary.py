"""A domain's vocabulary: tastes that several takers of the graph's items share, and no taste of a single person."""

from pathlib import Path

from operators.graph.items import GraphLimits, neighbour_of
from schemas import Fact, ItemMemory, Taker, compound_key, encode
from streams.worker.items import ItemGraph
from tests.builders import NOW
from tests.fake_log import settings_in

TOFU, MINE = "preference:ingredient:tofu", "preference:tag:our-anniversary"


def a_taker(user: str, *tastes: str) -> Taker:
    return Taker(neighbour_of(user, b"secret"), 1, NOW, 1, 1, (), tastes)


def items_of(folder: Path, **domains: list[list[Taker]]) -> ItemGraph:
    found = ItemGraph(settings_in(folder), GraphLimits(floor=2))
    for domain, takers in domains.items():
        for number, each in enumerate(takers):
            item = ItemMemory(domain=domain, item_id=f"i{number}", takers=tuple(each))
            found.take(0, number, compound_key(item.item_id, domain), encode(item))
    return found


async def test_a_taste_of_two_takers_can_be_named_and_that_of_one_cannot(tmp_path: Path) -> None:
    items = items_of(tmp_path, food=[[a_taker("ann", TOFU, MINE)], [a_taker("bob", TOFU)], [a_taker("ann", MINE)]])

    assert await items.tastes("food") == (Fact(dimension="ingredient", value="tofu"),)
    assert await items.tastes("films") == ()


async def test_tastes_are_gone_with_their_takers(tmp_path: Path) -> None:
    items = items_of(tmp_path, food=[[a_taker("ann", TOFU), a_taker("bob", TOFU)]])
    without = ItemMemory(domain="food", item_id="i0", takers=(a_taker("bob", TOFU),))

    items.take(0, 9, compound_key("i0", "food"), encode(without))

    assert await items.tastes("food") == ()
