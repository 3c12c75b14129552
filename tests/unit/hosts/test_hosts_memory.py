"""In what the three hosts differ: what each remembers of a user."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.hosts import DynamicProfileHost, Host, HostRequest, StaticProfileHost, VanillaHost
from evaluation.hosts.dynamic_profile import rewritten
from evaluation.hosts.static_profile import MAX_LINES, profile_of
from schemas import ItemFacts
from tests.builders import id_of, item_facts
from tests.unit.hosts.hosts_builders import FARCE, ITEMS, NOIR, SAGA, SPACE, Remembers, a_request

GENRE_NOIR, GENRE_SAGA = id_of("genre: noir"), id_of("genre: saga")


def first(host: Host, request: HostRequest) -> str:
    return asyncio.run(host.rank(request))[0]


# --- vanilla


def test_vanilla_goes_by_the_titles_of_the_last_few() -> None:
    orbits = item_facts("old", "genre: saga", title="Orbit of Glass")
    others = tuple(item_facts(f"o{number}", title=f"Tome {number}") for number in range(5))

    for seed in "abc":
        assert first(VanillaHost(), a_request(history=(orbits,), seed=seed)) == "space"
    assert {first(VanillaHost(), a_request(history=(orbits, *others), seed=str(n))) for n in range(20)} != {"space"}
    assert {first(VanillaHost(last=0), a_request(history=(orbits,), seed=str(n))) for n in range(20)} != {"space"}


def test_vanilla_keeps_nothing() -> None:
    host = VanillaHost()
    for _ in range(5):
        host.observe(a_request(), "noir")

    for seed in "abcdefgh":
        assert first(host, a_request(seed=seed)) == first(VanillaHost(), a_request(seed=seed))


def test_vanilla_tells_a_model_the_newest_title_first_and_as_data() -> None:
    model = Remembers()
    history = (item_facts("a", title="Old"), item_facts("b"), item_facts("c", title="<x> New\n" + 400 * "n"))

    asyncio.run(VanillaHost(model).rank(a_request(history=history)))

    newest, oldest = model.tasks[0].lately
    assert newest.startswith("(x) New n")
    assert oldest == "Old"


def test_vanilla_refuses_a_negative_number() -> None:
    with pytest.raises(ValueError, match="negative"):
        VanillaHost(last=-1)


# --- static profile


def test_profile_counts_what_the_history_has() -> None:
    profile = profile_of((NOIR, NOIR, SAGA, SPACE))

    assert [(profile[name].weight, profile[name].strength) for name in (GENRE_NOIR, GENRE_SAGA)] == [
        (0.5, 3),
        (0.25, 2),
    ]
    assert next(iter(profile.values())).weight == 0.5
    assert profile_of(()) == {}


def test_profile_is_bounded() -> None:
    history = [item_facts(f"i{number}", *(f"tag: t{number}-{n}" for n in range(9))) for number in range(9)]

    assert len(profile_of(history)) == MAX_LINES


def test_static_profile_ranks_by_how_often() -> None:
    request = a_request(history=(SAGA, SAGA, NOIR, FARCE), slim_skill="likes: science fiction")

    assert asyncio.run(StaticProfileHost().rank(request)) in {
        ("saga", "noir", "farce", "space"),
        ("saga", "farce", "noir", "space"),
    }


def test_static_profile_never_changes() -> None:
    host = StaticProfileHost()
    begun = host.profile(a_request(history=(SAGA,)))
    for _ in range(5):
        host.observe(a_request(history=(NOIR,)), "noir")

    assert host.profile(a_request(history=(NOIR, NOIR))) == begun
    assert first(host, a_request(history=(NOIR, NOIR))) == "saga"


def test_profiles_are_each_users_own() -> None:
    host = StaticProfileHost()

    assert first(host, HostRequest("ann", ITEMS, history=(SAGA,))) == "saga"
    assert first(host, HostRequest("ben", ITEMS, history=(NOIR,))) == "noir"


# --- dynamic profile


def test_dynamic_profile_begins_as_the_static_one() -> None:
    request = a_request(history=(SAGA, NOIR))

    assert DynamicProfileHost().profile(request) == StaticProfileHost().profile(request)


def test_dynamic_profile_follows_a_change_of_taste() -> None:
    host = DynamicProfileHost()
    request = a_request(history=(SAGA, SAGA))
    assert first(host, request) == "saga"

    for _ in range(6):
        host.observe(request, "noir")

    assert first(host, request) == "noir"


def test_one_choice_does_not_turn_a_profile_over() -> None:
    host = DynamicProfileHost()
    request = a_request(history=(SAGA, SAGA))

    host.observe(request, "noir")

    assert first(host, request) == "saga"


def test_what_was_not_on_offer_stays() -> None:
    before = profile_of((SAGA, NOIR))

    after = rewritten(before, FARCE, (NOIR, SPACE))

    assert after[GENRE_SAGA] == before[GENRE_SAGA]
    assert after[GENRE_NOIR].weight < before[GENRE_NOIR].weight


def test_what_most_of_the_list_had_says_nothing() -> None:
    shared = item_facts("other", "genre: noir")

    assert rewritten({}, NOIR, (shared, shared, SAGA)).keys() == {id_of("mood: dark reads")}
    assert GENRE_NOIR in rewritten({}, NOIR, (shared, SAGA, SPACE))


@given(st.lists(st.tuples(st.sampled_from(ITEMS), st.lists(st.sampled_from(ITEMS), max_size=3)), max_size=30))
def test_a_profile_stays_a_profile(choices: list[tuple[ItemFacts, list[ItemFacts]]]) -> None:
    profile = profile_of((SAGA, FARCE, FARCE))
    for chosen, unchosen in choices:
        profile = rewritten(profile, chosen, [item for item in unchosen if item is not chosen])

    weights = [line.weight for line in profile.values()]
    assert len(profile) <= MAX_LINES
    assert weights == sorted(weights, reverse=True)
    assert all(0 < weight <= 1 for weight in weights)
