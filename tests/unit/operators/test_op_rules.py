"""The reasoner without a model (paper 2.5): attribute algebra. Its thresholds are set here, whatever their defaults."""

from operators.evolve import Proposal, RulesReasoner
from schemas import Contrast, PolicySkill, Tier
from tests.builders import a_contrast, a_skill, an_attribute, facts, id_of

NOIR, SAGA, WESTERN = "genre: noir", "genre: saga", "genre: western"
REASONER = RulesReasoner(common_share=0.5, discoveries=2, near_misses=2, offers=2)


def propose(contrast: Contrast, skill: PolicySkill | None = None) -> Proposal:
    return REASONER.propose(contrast, skill or a_skill())


class TestReinforce:
    def test_known_attribute_that_the_chosen_item_has_is_reinforced(self) -> None:
        proposal = propose(a_contrast([NOIR], [[SAGA]]), a_skill(an_attribute(NOIR), an_attribute(SAGA)))

        assert proposal.reinforced == (id_of(NOIR),)

    def test_attribute_that_most_unchosen_items_have_too_does_not_explain_the_choice(self) -> None:
        skill = a_skill(an_attribute(NOIR))

        assert propose(a_contrast([NOIR], [[NOIR], [NOIR], [SAGA]]), skill).reinforced == ()
        assert propose(a_contrast([NOIR], [[NOIR], [SAGA]]), skill).reinforced == (id_of(NOIR),)


class TestDiscover:
    def test_new_fact_of_the_chosen_item_is_discovered(self) -> None:
        proposal = propose(a_contrast([NOIR, SAGA], [[WESTERN]]), a_skill(an_attribute(SAGA)))

        assert proposal.discovered == facts(NOIR)

    def test_telling_dimensions_come_first_and_rarer_facts_before_commoner_ones(self) -> None:
        chosen = ["year: 1999", "mood: dark", "genre: common", "genre: rare"]

        proposal = propose(a_contrast(chosen, [["genre: common"], [SAGA], [SAGA]]))

        assert proposal.discovered == facts("genre: rare", "genre: common")


class TestWeaken:
    def weakens(self, *unchosen: list[str], chosen: tuple[str, ...] = (NOIR,), tier: Tier = Tier.MEDIUM) -> bool:
        proposal = propose(a_contrast(chosen, unchosen), a_skill(an_attribute(SAGA, tier)))
        return id_of(SAGA) in proposal.weakened

    def test_near_misses_that_offered_it_and_were_passed_over_contradict(self) -> None:
        assert self.weakens([SAGA], [SAGA])

    def test_choice_within_known_tastes_contradicts_none_of_them(self) -> None:
        skill = a_skill(an_attribute(SAGA), an_attribute(NOIR))

        assert propose(a_contrast([NOIR], [[SAGA], [SAGA]]), skill).weakened == ()


def test_reasons_name_what_can_be_counted() -> None:
    skill = a_skill(an_attribute(NOIR))

    reasons = propose(a_contrast([NOIR], [[NOIR], [SAGA]]), skill).reasons

    assert reasons == {id_of(NOIR): "chosen, and 50% of the others have it"}
