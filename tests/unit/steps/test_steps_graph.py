"""The step `propagate`: state in, effects out. What an item tells is in test_graph_propagate."""

from operators.propagate import forgotten_touch, neighbour_of
from operators.steps import graph as propagate
from schemas import ItemMemory, Touch, Touched
from tests.builders import DOMAIN, NOW

ANN, BOB, KIM = (neighbour_of(user) for user in ("ann", "bob", "kim"))


def a_touch(neighbour: str, version: int = 1, items: tuple[str, ...] = ("i1",)) -> Touch:
    touched = tuple(Touched(item_id=name, at=NOW) for name in items)
    return Touch(domain=DOMAIN, taker=neighbour, version=version, degree=2, newest=("i1", "i2"), items=touched)


def taken_by(*neighbours: str) -> ItemMemory:
    item: ItemMemory | None = None
    for neighbour in neighbours:
        [item] = propagate.step(lambda *_, known=item: known, a_touch(neighbour))
    assert item is not None
    return item


def test_items_gather_a_taker_each_without_itself_among_the_others() -> None:
    items = propagate.step(lambda *_: None, a_touch(ANN, items=("i1", "i2")))
    assert [(item.item_id, item.takers[0].others) for item in items] == [("i1", ("i2",)), ("i2", ("i1",))]


def test_an_item_forgets_a_taker_of_the_domain_that_is_meant() -> None:
    item = taken_by(ANN, BOB)

    without = propagate.forget(item, forgotten_touch(ANN, DOMAIN, "r"))

    assert without is not None
    assert [taker.neighbour for taker in without.takers] == [BOB]
    assert propagate.forget(item, forgotten_touch(ANN, None, "r")) == without
    assert propagate.forget(item, forgotten_touch(ANN, "films", "r")) is None
    assert propagate.forget(item, forgotten_touch(KIM, None, "r")) is None
