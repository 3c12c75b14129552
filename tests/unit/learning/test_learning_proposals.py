"""The reasoner without a model (paper 2.5): attribute algebra. Its thresholds are set here, whatever their defaults."""

import itertools
from collections.abc import Mapping

import pytest

from operators.evolve.proposals import Proposal, RulesReasoner, validate
from operators.learning import prior as limits
from operators.learning.prior import observe, statinit
from schemas import MAX_ATTRIBUTES, ONE, TOPICS, Attribute, AttributeKind, Contrast, Fact, Profile, Tier, decode, encode
from schemas.diffs import Judgement, PolicySkill, RefusalReason, SkillChangeKind, Verdict
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import a_contrast, a_proposal, a_skill, an_attribute, an_interaction, evolve, facts, id_of

NOIR, SAGA, WESTERN = "genre: noir", "genre: saga", "genre: western"
REASONER = RulesReasoner(common_share=0.5, discoveries=2, near_misses=2)


def propose(contrast: Contrast, skill: PolicySkill | None = None) -> Proposal:
    return REASONER.propose(contrast, skill or a_skill())


class TestReinforce:
    def test_a_line_of_the_chosen_item_is_reinforced(self) -> None:
        proposal = propose(a_contrast([NOIR], [[SAGA]]), a_skill(an_attribute(NOIR), an_attribute(SAGA)))

        assert proposal.reinforced == (id_of(NOIR),)

    def test_a_common_fact_does_not_explain_the_choice(self) -> None:
        skill = a_skill(an_attribute(NOIR))

        assert propose(a_contrast([NOIR], [[NOIR], [NOIR], [SAGA]]), skill).reinforced == ()
        assert propose(a_contrast([NOIR], [[NOIR], [SAGA]]), skill).reinforced == (id_of(NOIR),)


class TestDiscover:
    def test_a_new_fact_of_the_chosen_item_is_discovered(self) -> None:
        proposal = propose(a_contrast([NOIR, SAGA], [[WESTERN]]), a_skill(an_attribute(SAGA)))

        assert proposal.discovered == facts(NOIR)

    def test_discoveries_are_ordered_by_dimension_and_rarity(self) -> None:
        chosen = ["year: 1999", "mood: dark", "genre: common", "genre: rare"]

        proposal = propose(a_contrast(chosen, [["genre: common"], [SAGA], [SAGA]]))

        assert proposal.discovered == facts("genre: rare", "genre: common")


def test_passed_over_near_misses_contradict_a_line() -> None:
    assert propose(a_contrast([NOIR], [[SAGA], [SAGA]]), a_skill(an_attribute(SAGA))).weakened == (id_of(SAGA),)


def test_a_choice_within_known_tastes_contradicts_none() -> None:
    skill = a_skill(an_attribute(SAGA), an_attribute(NOIR))

    assert propose(a_contrast([NOIR], [[SAGA], [SAGA]]), skill).weakened == ()


NOIR_FACT, SAGA_FACT = "genre: noir", "genre: saga"


def test_a_valid_proposal_is_unchanged() -> None:
    proposal = a_proposal(
        [NOIR_FACT],
        ["mood: dark"],
        [SAGA_FACT],
        reasons={id_of(NOIR_FACT): "chosen"},
        analysis="Noir again.",
    )

    validated = validate(
        proposal,
        a_skill(an_attribute(NOIR_FACT), an_attribute(SAGA_FACT)),
        a_contrast([NOIR_FACT, "mood: dark"]),
        privacy=PRIVACY,
    )

    assert validated.proposal == proposal
    assert validated.refused == ()


def test_unknown_lines_are_neither_reinforced_nor_weakened() -> None:
    validated = validate(a_proposal([NOIR_FACT], [], [SAGA_FACT]), a_skill(), a_contrast([NOIR_FACT]), privacy=PRIVACY)

    assert not validated.proposal.reinforced
    assert not validated.proposal.weakened
    assert [(r.proposed, r.why) for r in validated.refused] == [
        (SkillChangeKind.REINFORCED, RefusalReason.UNKNOWN),
        (SkillChangeKind.WEAKENED, RefusalReason.UNKNOWN),
    ]


def test_a_fact_that_the_item_lacks_is_refused() -> None:
    contrast = a_contrast([NOIR_FACT], unchosen=[[SAGA_FACT]])

    validated = validate(a_proposal(discovered=[SAGA_FACT, "genre: made up"]), a_skill(), contrast, privacy=PRIVACY)

    assert not validated.proposal.discovered
    assert [r.why for r in validated.refused] == [RefusalReason.UNSUPPORTED, RefusalReason.UNSUPPORTED]


def test_a_flood_of_invented_ids_is_truncated() -> None:
    proposal = Proposal(reinforced=tuple(f"x:{n}" * 500 for n in range(200)))

    validated = validate(proposal, a_skill(), a_contrast(), privacy=PRIVACY)

    assert len(validated.refused) == 64
    assert all(3 <= len(refused.attribute_id) <= 200 for refused in validated.refused)


def test_a_judgement_needs_its_line_and_item() -> None:
    made_up, [noir], [dark] = facts("mood: made up")[0], facts(NOIR_FACT), facts("mood: dark")
    said = [
        (id_of(NOIR_FACT), dark),
        (id_of(NOIR_FACT), made_up),
        (id_of(NOIR_FACT), None),
        (id_of(SAGA_FACT), noir),
    ]
    proposal = a_proposal(
        judged=tuple(Judgement(attribute_id=name, verdict=Verdict.SUPPORTS, quoted=fact) for name, fact in said)
    )

    diff = evolve(a_skill(an_attribute(NOIR_FACT)), proposal, a_contrast([NOIR_FACT, "mood: dark"]))[1]

    assert [(judged.attribute_id, judged.quoted) for judged in diff.judged] == [
        (id_of(NOIR_FACT), dark),
        (id_of(NOIR_FACT), None),
        (id_of(NOIR_FACT), None),
    ]
    many = validate(
        Proposal(judged=proposal.judged * 40), a_skill(an_attribute(NOIR_FACT)), a_contrast(), privacy=PRIVACY
    )
    assert len(many.proposal.judged) == MAX_ATTRIBUTES


def test_unencodable_text_is_replaced() -> None:
    """JSON may spell lone surrogates (`\\ud800`); a diff that cannot be encoded would end the user's evolution."""
    proposal = Proposal(
        reinforced=(id_of(NOIR_FACT), "genre:\ud800"),
        reasons={id_of(NOIR_FACT): "so \udfff"},
        analysis="\ud800 thinks",
    )

    skill, diff = evolve(a_skill(an_attribute(NOIR_FACT)), proposal, a_contrast([NOIR_FACT]))

    assert encode(skill)
    assert (diff.changes[0].reason, diff.analysis) == ("so ?", "? thinks")
    assert [r.attribute_id for r in diff.refused] == ["genre:?"]


def history(*items: str | tuple[str, ...]) -> Profile:
    """A profile of interactions with these facts, oldest first: `history("genre: noir", ("genre: a", "mood: b"))`."""
    profile = None
    for item in items:
        profile = observe(profile, an_interaction(), facts(*([item] if isinstance(item, str) else item)))
    assert profile is not None
    return profile


def prior(*items: str | tuple[str, ...], usual: Mapping[str, int] | None = None) -> dict[str, Attribute]:
    lines = statinit(history(*items), usual)
    return {f"{a.dimension}: {a.value}": a for a in lines if a.kind is not AttributeKind.PATTERN}


class TestTiers:
    @pytest.mark.parametrize(("times", "tier"), [(2, Tier.SILENT), (3, Tier.LOW), (4, Tier.MEDIUM), (5, Tier.HIGH)])
    def test_repeated_visits_to_a_rare_value_raise_the_tier(self, times: int, tier: Tier) -> None:
        usual = {"preference:genre:saga": 300}

        assert prior(*["genre: noir"] * times, usual=usual)["genre: noir"].tier is tier

    @pytest.mark.parametrize(("times", "tier"), [(2, Tier.SILENT), (3, Tier.LOW), (6, Tier.HIGH)])
    def test_a_value_of_an_unknown_population_counts_as_common(self, times: int, tier: Tier) -> None:
        assert prior(*["genre: noir"] * times)["genre: noir"].tier is tier

    def test_a_value_that_all_users_take_stays_silent(self) -> None:
        english = prior(*["genre: english"] * 12, usual={"preference:genre:english": ONE})["genre: english"]

        assert (english.tier, english.taken) == (Tier.SILENT, english.expected)

    @pytest.mark.parametrize(
        ("usual", "tier"), [(20, Tier.HIGH), (300, Tier.LOW), (400, Tier.SILENT), (900, Tier.SILENT)]
    )
    def test_common_values_have_lower_tiers(self, usual: int, tier: Tier) -> None:
        """Seven times in ten visits, where 2, 29, 39 and 88% of all taken items have it."""
        items = ["genre: noir" if n % 10 < 7 else "genre: saga" for n in range(10)]

        assert prior(*items, usual={"preference:genre:noir": usual})["genre: noir"].tier is tier


def test_spellings_of_one_attribute_are_counted_together() -> None:
    found = prior("genre: Sci-Fi", "genre: sci fi", "genre: SCI-FI")

    assert [(a.attribute_id, a.tier, a.support) for a in found.values()] == [("preference:genre:sci-fi", Tier.LOW, 3)]


class TestBounds:
    def test_a_prior_keeps_the_most_taken_values(self) -> None:
        lines = statinit(history(*[f"genre: v{n}" for n in range(60)], *["genre: noir"] * 3))

        kept = [a for a in lines if a.kind is not AttributeKind.PATTERN]
        assert len(kept) == limits.MAX_LINES == 40
        assert kept[0].value == "noir"

    def test_counters_of_older_visits_are_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "MAX_VALUES", 3)
        monkeypatch.setattr(limits, "MAX_DIMENSIONS", 2)
        profile = history(*[(f"genre: g{n}", f"key{n}: v") for n in range(200)])

        assert all(len(values) <= 3 for values in profile.older.values())
        assert len(profile.older) <= 2
        assert set(profile.older) == set(profile.older_known)
        assert "genre" in profile.older

    def test_the_largest_profile_fits_its_changelog(self) -> None:
        profile = None
        numbers = itertools.count()
        for _ in range(120):
            wide = tuple(
                Fact(dimension=f"d{n:02}".ljust(40, "x"), value=f"{next(numbers):06}" + "🍕" * 54) for n in range(32)
            )
            profile = observe(profile, an_interaction(event_id=f"{next(numbers)}" + "🍕" * 200), wide)
        assert profile is not None

        assert len(profile.older) == limits.MAX_DIMENSIONS
        assert len(encode(profile)) < TOPICS["profiles"].max_message_bytes
        assert decode(Profile, encode(profile)) == profile
