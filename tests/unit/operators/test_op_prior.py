"""The statistical prior (paper 2.3, App. D, App. E): counts in, a first skill out, no call."""

import itertools
from collections.abc import Mapping

import pytest

from operators.statinit import observe, statinit
from operators.statinit import prior as limits
from schemas import ONE, TOPICS, Attribute, Fact, Kind, Profile, Tier, decode, encode
from tests.builders import an_interaction, facts


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


class TestIdentity:
    def test_spellings_of_one_attribute_are_counted_together(self) -> None:
        found = prior("genre: Sci-Fi", "genre: sci fi", "genre: SCI-FI")

        assert [(a.attribute_id, a.tier, a.support) for a in found.values()] == [
            ("preference:genre:sci-fi", Tier.HIGH, 3)
        ]


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
