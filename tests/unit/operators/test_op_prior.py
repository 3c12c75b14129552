"""The statistical prior (paper 2.3, App. D, App. E): counts in, a first skill out, no call."""

import itertools
from collections.abc import Mapping

import pytest

from operators.statinit import observe, statinit
from operators.statinit import prior as limits
from schemas import ONE, TOPICS, Attribute, Fact, Kind, Profile, Source, Tier, decode, encode
from tests.builders import a_position, an_interaction, facts, texts


def history(*items: str | tuple[str, ...]) -> Profile:
    """A profile of interactions with these facts, oldest first: `history("genre: noir", ("genre: a", "mood: b"))`."""
    profile = None
    for item in items:
        profile = observe(profile, an_interaction(), facts(*([item] if isinstance(item, str) else item)))
    assert profile is not None
    return profile


def prior(*items: str | tuple[str, ...], usual: Mapping[str, int] | None = None) -> dict[str, Attribute]:
    lines = statinit(history(*items), usual)
    return {f"{a.dimension}: {a.value}": a for a in lines if a.kind is not Kind.PATTERN}


class TestTiers:
    def test_user_without_history_has_no_prior(self) -> None:
        assert statinit(None) == ()
        assert statinit(Profile(user_id="ann", domain="books")) == ()

    def test_one_lucky_choice_is_never_more_than_low(self) -> None:
        assert prior("genre: noir")["genre: noir"].tier is Tier.LOW

    @pytest.mark.parametrize(("times", "tier"), [(1, Tier.LOW), (2, Tier.MEDIUM), (3, Tier.HIGH), (30, Tier.HIGH)])
    def test_loyal_user_becomes_sure_with_the_count(self, times: int, tier: Tier) -> None:
        assert prior(*["genre: noir"] * times)["genre: noir"].tier is tier

    def test_what_everybody_takes_says_nothing_however_often_it_was_taken(self) -> None:
        english = prior(*["genre: english"] * 12, usual={"preference:genre:english": ONE})["genre: english"]

        assert (english.tier, english.taken) == (Tier.SILENT, english.expected)

    @pytest.mark.parametrize(
        ("usual", "tier"), [(0, Tier.HIGH), (300, Tier.MEDIUM), (400, Tier.LOW), (900, Tier.SILENT)]
    )
    def test_the_same_history_says_less_the_more_usual_it_is(self, usual: int, tier: Tier) -> None:
        """Seven times in ten visits, where 0, 29, 39 and 88% of what anybody takes has it."""
        items = ["genre: noir" if n % 10 < 7 else "genre: saga" for n in range(10)]

        assert prior(*items, usual={"preference:genre:noir": usual})["genre: noir"].tier is tier

    def test_visits_are_counted_as_choices_are(self) -> None:
        """One by one: a sixteenth is forgotten, what is usual is expected, what was taken is taken."""
        usual = {"preference:genre:noir": 256}
        taken, expected = ONE, 256  # the first visit, before which nothing was expected
        for visit in ("saga", "noir", "noir", "saga"):
            taken, expected = taken - taken // 16, expected - expected // 16 + 256
            taken += ONE * (visit == "noir")

        noir = prior("genre: noir", "genre: saga", "genre: noir", "genre: noir", "genre: saga", usual=usual)[
            "genre: noir"
        ]

        assert (noir.taken, noir.expected, noir.support) == (taken, expected, 3)

    def test_attribute_of_the_prior_says_where_it_came_from_and_how_often(self) -> None:
        noir = prior(*["genre: noir"] * 20)["genre: noir"]

        assert (noir.source, noir.support, noir.confirmed_at, noir.evidence) == (Source.PRIOR, 20, 0, ())


class TestRecency:
    def test_newer_taste_outweighs_an_older_one_of_the_same_count(self) -> None:
        lines = texts(statinit(history(*["genre: old"] * 8, *["genre: new"] * 8)))

        assert lines.index("genre: new") < lines.index("genre: old")

    def test_fact_that_a_user_left_long_ago_fades(self) -> None:
        then = prior(*["genre: noir"] * 5)["genre: noir"].tier
        now = prior(*["genre: noir"] * 5, *["genre: saga"] * 80)["genre: noir"].tier

        assert then is Tier.HIGH
        assert now is Tier.LOW

    def test_older_visits_count_as_if_they_were_spread_evenly(self) -> None:
        """Every second of a hundred visits: whether it is a count or known one by one makes little difference."""
        noir = prior(*["genre: noir", "genre: saga"] * 50)["genre: noir"]

        assert noir.taken == pytest.approx(ONE * 8, rel=0.06)
        assert noir.support == 50


class TestIdentity:
    def test_spellings_of_one_attribute_are_counted_together(self) -> None:
        found = prior("genre: Sci-Fi", "genre: sci fi", "genre: SCI-FI")

        assert [(a.attribute_id, a.tier, a.support) for a in found.values()] == [
            ("preference:genre:sci-fi", Tier.HIGH, 3)
        ]

    def test_no_prior_holds_an_attribute_twice_also_when_its_spellings_are_of_different_ages(self) -> None:
        lines = statinit(history(*["genre: Sci-Fi"] * 10, *["genre: sci fi"] * 16))

        ids = [a.attribute_id for a in lines]
        assert len(ids) == len(set(ids))

    def test_item_that_says_one_thing_twice_counts_once(self) -> None:
        assert prior(("genre: noir", "genre: Noir", "genre: NOIR"))["genre: noir"].support == 1


class TestBounds:
    def test_long_tail_is_cut_and_what_was_taken_most_stays(self) -> None:
        lines = statinit(history(*[f"genre: v{n}" for n in range(60)], *["genre: noir"] * 3))

        kept = [a for a in lines if a.kind is not Kind.PATTERN]
        assert len(kept) == limits.LINES == 40
        assert kept[0].value == "noir"

    def test_counters_are_bounded_whatever_keys_and_values_items_have(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "VALUES", 3)
        monkeypatch.setattr(limits, "DIMENSIONS", 2)
        profile = history(*[(f"genre: g{n}", f"key{n}: v") for n in range(200)])

        assert all(len(values) <= 3 for values in profile.older.values())
        assert len(profile.older) <= 2
        assert set(profile.older) == set(profile.older_known)
        assert "genre" in profile.older

    def test_what_is_met_often_stays_among_the_counters(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "VALUES", 3)
        items = [f"genre: {'noir' if n % 2 else n}" for n in range(100)]

        profile = history(*items)

        assert profile.older["genre"]["noir"] > 40

    def test_widest_profile_that_any_history_can_make_fits_into_its_changelog(self) -> None:
        profile = None
        numbers = itertools.count()
        for _ in range(120):
            wide = tuple(
                Fact(dimension=f"d{n:02}".ljust(40, "x"), value=f"{next(numbers):06}" + "🍕" * 54) for n in range(32)
            )
            profile = observe(profile, an_interaction(event_id=f"{next(numbers)}" + "🍕" * 200), wide)
        assert profile is not None

        assert len(profile.older) == limits.DIMENSIONS
        assert len(encode(profile)) < TOPICS["profiles"].max_message_bytes
        assert decode(Profile, encode(profile)) == profile

    def test_parser_that_finds_too_much_cannot_break_the_table(self) -> None:
        profile = history(tuple(f"genre: g{n}" for n in range(100)))

        assert decode(Profile, encode(profile)) == profile


class TestRepeats:
    def test_same_interaction_again_changes_nothing_but_the_fence(self) -> None:
        interaction = an_interaction()
        once = observe(None, interaction, facts("genre: noir"), a_position(0, "sager.interactions"))

        twice = observe(once, interaction, facts("genre: noir"), a_position(1, "sager.interactions"))

        assert twice == once.model_copy(update={"applied": (a_position(1, "sager.interactions"),)})

    def test_nothing_is_changed_in_place(self) -> None:
        profile = history(*["genre: noir"] * 20)
        raw = encode(profile)

        observe(profile, an_interaction(), facts("genre: saga"))

        assert encode(profile) == raw

    def test_item_without_facts_still_counts_as_an_interaction(self) -> None:
        profile = observe(None, an_interaction(), ())

        assert profile.interactions == 1
        assert statinit(profile) == ()


def test_how_somebody_decides_is_no_matter_of_what_they_took() -> None:
    assert [a for a in statinit(history(*["genre: noir"] * 9)) if a.kind is Kind.PATTERN] == []


def test_lines_come_strongest_first() -> None:
    lines = statinit(history(*["genre: noir"] * 6, "genre: saga", "genre: saga", "mood: dark"))

    tiers = [a.tier for a in lines if a.kind is not Kind.PATTERN]
    assert tiers == sorted(tiers, reverse=True)
    assert texts(lines)[0] == "genre: noir"


def test_same_history_same_prior_also_after_a_restart() -> None:
    profile = history(*[f"genre: g{n % 7}" for n in range(60)])

    assert statinit(profile) == statinit(decode(Profile, encode(profile)))
