"""A worker's reasoner, from its settings to what the endpoint hears: gate, fallback and full replacement."""

from typing import Any

import pytest

from operators.evolve import CountsReasoner, GatedReasoner, RulesReasoner, RulesReplacer
from operators.evolve.llm import LlmReasoner, LlmReplacer
from operators.options import EvolveMode
from schemas import Tier
from streams.settings import OnLlmFailure, ReasonerName, Settings
from streams.worker import metrics
from streams.worker.reasoning import reasoner as reasoning
from streams.worker.reasoning.configured import reasoner_of, replacer_of
from streams.worker.reasoning.reasoner import GivenUp, Reasoning
from tests.builders import a_contrast, a_skill, an_attribute, facts, id_of
from tests.openai_server import Act, Do, OpenAiServer

NOIR = "genre: noir"
SURE = a_skill(an_attribute(NOIR, Tier.HIGH))


def llm(server: OpenAiServer | None = None, **more: Any) -> Settings:
    url = server.base_url if server else "http://127.0.0.1:9/v1"
    return Settings(reasoner=ReasonerName.LLM, llm_base_url=url, llm_attempts=1, llm_retry_seconds=0, **more)


def test_settings_name_who_reasons_and_who_replaces() -> None:
    replace = EvolveMode.REPLACE

    assert isinstance(reasoner_of(Settings()), CountsReasoner)
    assert isinstance(reasoner_of(Settings(evolve_mode=EvolveMode.INCREMENTAL)), RulesReasoner)
    assert isinstance(reasoner_of(llm()), GatedReasoner)
    assert isinstance(reasoner_of(llm(gate=False)), LlmReasoner)
    assert replacer_of(Settings()) is None
    assert replacer_of(llm()) is None
    assert isinstance(replacer_of(Settings(evolve_mode=replace)), RulesReplacer)
    assert isinstance(replacer_of(llm(evolve_mode=replace)), LlmReplacer)


@pytest.mark.skipif(not hasattr(metrics, "GATED"), reason="the metric comes with the worker's own change")
async def test_a_gated_choice_is_counted_and_the_endpoint_hears_nothing() -> None:
    async with OpenAiServer() as server:
        before = metrics.GATED._value.get()
        proposal = await reasoner_of(llm(server)).reason(a_contrast([NOIR]), SURE)

        assert proposal.reasoned_by.gated
        assert metrics.GATED._value.get() == before + 1
        assert not server.bodies

        proposal = await reasoner_of(llm(server, gate=False)).reason(a_contrast([NOIR]), SURE)
        assert (proposal.reasoned_by.gated, proposal.reasoned_by.calls) == (False, 1)


async def test_a_skill_is_written_anew_by_the_configured_replacer() -> None:
    async with OpenAiServer() as server:
        settings = llm(server, evolve_mode=EvolveMode.REPLACE)
        asking = Reasoning(reasoner_of(settings), settings.on_llm_failure, replacer=replacer_of(settings))

        found = await asking.rewrite(a_contrast([NOIR]), SURE)

    assert found.facts == ((facts(NOIR)[0], Tier.HIGH),)
    assert found.reasoned_by.reasoner == "llm"


class TestFallback:
    async def rewrite(self, on_failure: OnLlmFailure, *acts: Do) -> Any:
        async with OpenAiServer(Act(Do.ANSWER if acts else Do.FAIL)) as server:
            server.then(*acts)
            settings = llm(server, evolve_mode=EvolveMode.REPLACE, on_llm_failure=on_failure)
            asking = Reasoning(reasoner_of(settings), on_failure, replacer=replacer_of(settings))
            return await asking.rewrite(a_contrast([NOIR]), SURE)

    async def test_rules_write_the_skill_in_the_models_stead(self) -> None:
        found = await self.rewrite(OnLlmFailure.RULES)

        assert found.facts == ((facts(NOIR)[0], Tier.MEDIUM),)
        assert found.reasons.keys() == {id_of(NOIR)}
        by = found.reasoned_by
        assert by.reasoner == "rules"
        assert by.fallback is not None
        assert by.fallback.startswith("server-error")

    async def test_dead_letter_gives_up(self) -> None:
        with pytest.raises(GivenUp, match="server-error"):
            await self.rewrite(OnLlmFailure.DEAD_LETTER)

    async def test_wait_asks_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reasoning, "FIRST_WAIT_SECONDS", 0.01)

        found = await self.rewrite(OnLlmFailure.WAIT, Do.FAIL, Do.FAIL)

        assert found.reasoned_by.reasoner == "llm"
