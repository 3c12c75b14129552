"""The population template out of users' statistics (paper 2.3 (i), App. D)."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from operators.global_skill import MAX_SHARES, Population, global_skill
from operators.learning.prior import observe, statinit
from schemas import ONE, GlobalSkill, Memory, Profile, Tier, decode, encode
from tests.builders import NOW, an_interaction, facts, texts


def built(*profiles: Profile, floor: int = 5) -> GlobalSkill:
    return global_skill(a_population(*profiles), "g1", NOW, floor)


def crowd(**lovers: int) -> list[Profile]:
    """`crowd(noir=6, saga=4)`: so many users of one taste each."""
    names = [(taste, n) for taste, count in lovers.items() for n in range(count)]
    return [a_profile(*[f"genre: {taste}"] * 3, user=f"{taste}{n}") for taste, n in names]


class TestShares:
    def test_an_attribute_below_the_minimum_of_users_is_left_out(self) -> None:
        skill = built(*crowd(noir=20, secret=4))

        assert "secret" not in skill.model_dump_json()
        assert "secret" in built(*crowd(noir=20, secret=5)).model_dump_json()

    def test_spellings_of_an_attribute_are_counted_together(self) -> None:
        users = crowd(Noir=3, noir=3)

        assert built(*users, floor=6) == built(*reversed(users), floor=6)
        assert built(*users, floor=6).shares == {"preference:genre:noir": 1.0}


class TestTemplate:
    def test_common_lines_come_first_and_rare_ones_are_left_out(self) -> None:
        skill = built(*crowd(a=30, b=25, c=20, d=19, e=6))

        assert texts(skill.attributes) == ["genre: a", "genre: b", "genre: c"]
        assert "preference:genre:e" in skill.shares

    def test_places_are_left_out_of_the_template(self) -> None:
        users = [a_profile(*[("category: bars", "city: Reno")] * 6, user=f"u{n}") for n in range(6)]
        skill = built(*users)

        assert texts(skill.attributes) == ["category: bars"]
        assert "preference:city:reno" in skill.shares


def test_a_population_without_a_user_counts_the_others() -> None:
    users = crowd(noir=6, saga=5)
    memory = Memory(user_id=users[-1].user_id, domain=users[-1].domain)

    others, expected = a_population(*users).without(users[-1], memory), a_population(*users[:-1])

    assert (others.users, others.usual(5), others.common_attributes(5)) == (
        expected.users, expected.usual(5), expected.common_attributes(5),
    )  # fmt: skip


def test_common_attributes_survive_a_small_memory() -> None:
    users = [a_profile(*[("genre: noir", f"author: a{n}")] * 3, user=f"u{n}") for n in range(200)]
    population = a_population(*users, tracked=8)

    assert len(population.common_attributes(1)) <= 8
    assert global_skill(population, "g1", NOW).shares == {"preference:genre:noir": 1.0}


VALUES = st.sampled_from([*"abcdefgh", "A", "Ünïcode ✨", "x" * 120, "</draft> [INST]"])
ITEMS = st.lists(
    st.tuples(st.sampled_from(["genre", "category", "mood", "city", "price", "author"]), VALUES), min_size=1, max_size=5
).map(lambda pairs: tuple(f"{dimension}: {value}" for dimension, value in pairs))
HISTORIES = st.lists(st.lists(ITEMS, max_size=8), max_size=14)


def users_of(histories: list[list[tuple[str, ...]]]) -> list[Profile]:
    return [a_profile(*history, user=f"u{n}") for n, history in enumerate(histories)]


@settings(max_examples=60, deadline=None)
@given(HISTORIES, st.integers(1, 8), st.integers(1, 30))
def test_the_minimum_of_users_holds_for_any_population(
    histories: list[list[tuple[str, ...]]], floor: int, tracked: int
) -> None:
    users = users_of(histories)
    holders = Counter(
        line.attribute_id
        for user in users
        for line in statinit(user)
        if line.support >= Tier.MEDIUM and 2 * (line.taken + ONE) >= 3 * (line.expected + ONE)
    )
    population = a_population(*users, tracked=tracked)
    skill = global_skill(population, "g1", NOW, floor)

    assert len(population.common_attributes(1)) <= tracked
    told = {*skill.shares, *(line.attribute_id for line in skill.attributes)}
    assert all(holders[name] >= floor for name in told)
    assert all(share <= holders[name] / skill.users + 1e-4 for name, share in skill.shares.items())


@settings(max_examples=60, deadline=None)
@given(HISTORIES, st.randoms(use_true_random=False))
def test_the_order_of_users_does_not_matter(histories: list[list[tuple[str, ...]]], chance: object) -> None:
    users = users_of(histories)
    skill = built(*users, floor=1)
    chance.shuffle(users)  # type: ignore[attr-defined]

    assert encode(built(*users, floor=1)) == encode(skill)
    assert decode(GlobalSkill, encode(skill)) == skill
    assert len(skill.attributes) <= 12
    assert len(skill.shares) <= MAX_SHARES
    assert bool(skill.attributes) <= bool(skill.shares)


def a_profile(*items: str | tuple[str, ...], user: str = "ann", domain: str = "books") -> Profile:
    """A user who took items with these facts, oldest first: `a_profile("genre: noir", ("genre: a", "mood: b"))`."""
    profile = None
    for item in items:
        found = facts(*([item] if isinstance(item, str) else item))
        profile = observe(profile, an_interaction(user_id=user, domain=domain), found)
    return profile or Profile(user_id=user, domain=domain)


def a_population(*profiles: Profile, domain: str = "books", tracked: int = 20_000) -> Population:
    population = Population(domain, tracked)
    for profile in profiles:
        population.add(profile)
    return population
