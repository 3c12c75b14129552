"""The steps `propagate` and `retrieve`: state in, effects out. What an item says is in test_graph_propagate."""

from operators.propagate import GraphLimits, forgotten_signal, forgotten_touch, neighbour_of
from operators.steps import propagate, retrieve
from schemas import ItemMemory, ItemSignal, Taker, Touch
from tests.builders import DOMAIN, NOW

LIMITS = GraphLimits(floor=1)


def a_touch(user_id: str, version: int = 1) -> Touch:
    return Touch(
        domain=DOMAIN, item_id="i1", taker=Taker(user_id=user_id, version=version, at=NOW, degree=2, others=("i2",))
    )


def taken_by(*users: str) -> ItemMemory:
    item = None
    for user in users:
        item = propagate.step(item, a_touch(user), LIMITS).item
    assert item is not None
    return item


def test_an_item_gathers_its_first_taker_and_has_nothing_to_tell() -> None:
    effects = propagate.step(None, a_touch("ann"), LIMITS)

    assert (effects.outcome, effects.signals) == (propagate.Outcome.GATHERED, ())
    assert effects.item is not None
    assert [taker.user_id for taker in effects.item.takers] == ["ann"]


def test_an_item_tells_a_new_taker_what_the_others_have_in_common() -> None:
    effects = propagate.step(taken_by("ann"), a_touch("bob"), LIMITS)

    assert effects.outcome is propagate.Outcome.TOLD
    assert "bob" in [signal.user_id for signal in effects.signals]
    assert dict(effects.signals[0].companions) == {"i2": 1}


def test_a_touch_that_is_known_has_no_effects() -> None:
    effects = propagate.step(taken_by("ann"), a_touch("ann"), LIMITS)

    assert (effects.outcome, effects.item, effects.signals) == (propagate.Outcome.REPEATED, None, ())


def test_an_item_forgets_a_taker_of_the_domain_that_is_meant() -> None:
    item = taken_by("ann", "bob")

    without = propagate.forget(item, forgotten_touch("ann", DOMAIN, NOW))

    assert without is not None
    assert [taker.user_id for taker in without.takers] == ["bob"]
    assert propagate.forget(item, forgotten_touch("ann", None, NOW)) == without
    assert propagate.forget(item, forgotten_touch("ann", "films", NOW)) is None
    assert propagate.forget(item, forgotten_touch("kim", None, NOW)) is None


def told(user_id: str) -> ItemSignal:
    [signal] = [
        each for each in propagate.step(taken_by("kim"), a_touch(user_id), LIMITS).signals if each.user_id == user_id
    ]
    return signal


def test_a_signal_is_heard_once() -> None:
    first = retrieve.step(None, told("ann"))
    again = retrieve.step(first.neighbourhood, told("ann"))

    assert first.outcome is retrieve.Outcome.HEARD
    assert first.neighbourhood is not None
    assert [signal.item_id for signal in first.neighbourhood.signals] == ["i1"]
    assert (again.outcome, again.neighbourhood) == (retrieve.Outcome.REPEATED, None)


def test_a_neighbourhood_forgets_in_what_somebody_had_a_part() -> None:
    near = retrieve.step(None, told("ann")).neighbourhood
    assert near is not None
    assert neighbour_of("kim") in near.model_dump_json()

    without = retrieve.forget(near, forgotten_signal(forgotten_touch("kim", None, NOW)))

    assert without is not None
    assert without.signals == ()
    assert retrieve.forget(near, forgotten_signal(forgotten_touch("kim", "films", NOW))) is None
    assert retrieve.forget(near, forgotten_signal(forgotten_touch("bob", None, NOW))) is None
