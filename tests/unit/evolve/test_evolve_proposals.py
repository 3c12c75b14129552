"""Proposals: the gate before a model call, and the validation after it."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from operators.attributes import fact_id, from_fact
from operators.evolve.llm import LlmReasoner
from operators.evolve.proposals import CountsReasoner, GatedReasoner, Proposal, RulesReasoner, is_repetition, validate
from operators.learning.fold import merge
from operators.learning.tiers import resolve_tiers
from operators.options import EvolveMode
from schemas import AttributeSource, Contrast, Fact, ItemFacts, PolicySkill, Provenance, Tier
from schemas.diffs import RefusalReason
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.settings import OnLlmFailure, ReasonerName, Settings
from streams.worker import metrics
from streams.worker.reasoning import reasoner as reasoning
from streams.worker.reasoning.llm import reasoner_of
from streams.worker.reasoning.reasoner import ReasonerFailed, Reasoning
from tests.builders import a_contrast, a_skill, an_attribute, id_of, line
from tests.openai_server import Act, Do, OpenAiServer

NOIR, DARK, SAGA = "genre: noir", "mood: dark", "genre: saga"
HIGH = Tier.HIGH
SURE = a_skill(an_attribute(NOIR, HIGH), an_attribute(DARK, HIGH))


class Asked:
    """A reasoner that only counts."""

    name = "llm"

    def __init__(self) -> None:
        self.times = 0

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        self.times += 1
        return Proposal(reasoned_by=Provenance(reasoner=self.name, calls=1))


class TestGatedReasoner:
    async def test_repeated_choice_reinforces_its_lines_without_a_call(self) -> None:
        inner, gated = Asked(), list[int]()
        skill = a_skill(an_attribute(NOIR, HIGH, support=4, contradictions=1), version=9)
        contrast = a_contrast([NOIR])

        proposal = await GatedReasoner(inner, lambda: gated.append(1)).reason(contrast, skill)

        assert (inner.times, len(gated)) == (0, 1)
        assert proposal.reinforced == (id_of(NOIR),)
        by = proposal.reasoned_by
        assert (by.reasoner, by.gated, by.calls, by.model, by.prompt) == ("llm", True, 0, None, None)
        noir = line(
            merge(skill, resolve_tiers(skill, validate(proposal, skill, contrast, privacy=PRIVACY), contrast)), NOIR
        )
        assert (noir.tier, noir.support, noir.contradictions, noir.confirmed_at) == (HIGH, 5, 0, 10)

    async def test_new_choice_asks_the_inner_reasoner(self) -> None:
        inner, gated = Asked(), list[int]()

        proposal = await GatedReasoner(inner, lambda: gated.append(1)).reason(a_contrast([SAGA]), SURE)

        assert (inner.times, gated) == (1, [])
        assert proposal.reasoned_by == Provenance(reasoner="llm", calls=1)


def test_reinforcement_wins_over_weakening() -> None:
    proposal = Proposal(reinforced=(id_of(NOIR),), weakened=(id_of(NOIR), id_of(DARK), id_of(SAGA)))

    validated = validate(proposal, SURE, a_contrast([NOIR]), privacy=PRIVACY)

    assert (validated.proposal.reinforced, validated.proposal.weakened) == ((id_of(NOIR),), (id_of(DARK),))
    assert [each.why for each in validated.refused] == [RefusalReason.ALSO_REINFORCED, RefusalReason.UNKNOWN]


FACT = st.builds(Fact, dimension=st.sampled_from(["genre", "mood", "era"]), value=st.sampled_from("abc"))
FACTS = st.lists(FACT, max_size=4)
TIERS = st.sampled_from([HIGH, HIGH, HIGH, HIGH, HIGH, HIGH, Tier.MEDIUM, None])


@st.composite
def settled(draw: st.DrawFn) -> tuple[list[Fact], PolicySkill]:
    """A chosen item, and a skill that is sure of nearly all of its facts."""
    chosen = draw(st.lists(FACT, min_size=1, max_size=4, unique_by=fact_id))
    tiers = {fact: draw(TIERS) for fact in draw(st.lists(FACT, max_size=3))} | {fact: draw(TIERS) for fact in chosen}
    lines = {fact_id(fact): from_fact(fact, tier, AttributeSource.PRIOR) for fact, tier in tiers.items() if tier}
    return chosen, a_skill(*lines.values())


@settings(max_examples=400, deadline=None)
@given(settled(), st.lists(FACTS, max_size=3))
def test_rules_change_no_tier_for_a_skipped_choice(
    known: tuple[list[Fact], PolicySkill], left: list[list[Fact]]
) -> None:
    """What is gated is what the other reasoner finds nothing in: no rise, no discovery, no contradiction."""
    chosen, skill = known
    contrast = a_contrast(ItemFacts(item_id="taken", facts=tuple(chosen))).model_copy(
        update={"unchosen": tuple(ItemFacts(item_id=f"l{n}", facts=tuple(each)) for n, each in enumerate(left))}
    )
    assume(is_repetition(contrast, skill))

    proposal = RulesReasoner().propose(contrast, skill)

    assert not proposal.discovered
    assert not proposal.weakened
    after = merge(skill, resolve_tiers(skill, validate(proposal, skill, contrast, privacy=PRIVACY), contrast))
    assert {a.attribute_id: a.tier for a in after.attributes} == {a.attribute_id: a.tier for a in skill.attributes}


CERTAIN = a_skill(an_attribute(NOIR, HIGH))


def llm(server: OpenAiServer | None = None, **more: Any) -> Settings:
    url = server.base_url if server else "http://127.0.0.1:9/v1"
    return Settings(reasoner=ReasonerName.LLM, llm_base_url=url, llm_attempts=1, llm_retry_seconds=0, **more)


def test_settings_select_the_reasoner() -> None:
    assert isinstance(reasoner_of(Settings()), CountsReasoner)
    assert isinstance(reasoner_of(Settings(evolve_mode=EvolveMode.INCREMENTAL)), RulesReasoner)
    assert isinstance(reasoner_of(llm()), GatedReasoner)
    assert isinstance(reasoner_of(llm(gate=False)), LlmReasoner)


async def test_skipped_choice_is_counted_and_sends_no_request() -> None:
    async with OpenAiServer() as server:
        before = metrics.GATED._value.get()
        proposal = await reasoner_of(llm(server)).reason(a_contrast([NOIR]), CERTAIN)

        assert (proposal.reasoned_by.gated, metrics.GATED._value.get(), server.bodies) == (True, before + 1, [])


class TestFallback:
    async def reason(self, on_failure: OnLlmFailure, *acts: Do) -> Any:
        async with OpenAiServer(Act(Do.ANSWER if acts else Do.FAIL)) as server:
            server.then(*acts)
            settings = llm(server, on_llm_failure=on_failure)
            return await Reasoning(reasoner_of(settings), on_failure).reason(a_contrast(["genre: saga"]), CERTAIN)

    async def test_record_names_the_reason_for_the_fallback(self) -> None:
        by = (await self.reason(OnLlmFailure.RULES)).reasoned_by

        assert by.reasoner == "counts"
        assert by.fallback is not None
        assert by.fallback.startswith("server-error")

    async def test_dead_letter_mode_raises(self) -> None:
        with pytest.raises(ReasonerFailed, match="server-error"):
            await self.reason(OnLlmFailure.DEAD_LETTER)

    async def test_wait_mode_retries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reasoning, "FIRST_WAIT_SECONDS", 0.01)

        found = await self.reason(OnLlmFailure.WAIT, Do.FAIL, Do.FAIL)

        assert found.reasoned_by.reasoner == "llm"
