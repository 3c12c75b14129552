"""A worker's reasoner, from its settings to what the endpoint hears: gate and fallback."""

from typing import Any

import pytest

from operators.evolve import CountsReasoner, GatedReasoner, RulesReasoner
from operators.evolve.llm import LlmReasoner
from operators.options import EvolveMode
from schemas import Tier
from streams.settings import OnLlmFailure, ReasonerName, Settings
from streams.worker import metrics
from streams.worker.reasoning import reasoner as reasoning
from streams.worker.reasoning.llm import reasoner_of
from streams.worker.reasoning.reasoner import ReasonerFailed, Reasoning
from tests.builders import a_contrast, a_skill, an_attribute
from tests.openai_server import Act, Do, OpenAiServer

NOIR = "genre: noir"
SURE = a_skill(an_attribute(NOIR, Tier.HIGH))


def llm(server: OpenAiServer | None = None, **more: Any) -> Settings:
    url = server.base_url if server else "http://127.0.0.1:9/v1"
    return Settings(reasoner=ReasonerName.LLM, llm_base_url=url, llm_attempts=1, llm_retry_seconds=0, **more)


def test_settings_name_who_reasons() -> None:
    assert isinstance(reasoner_of(Settings()), CountsReasoner)
    assert isinstance(reasoner_of(Settings(evolve_mode=EvolveMode.INCREMENTAL)), RulesReasoner)
    assert isinstance(reasoner_of(llm()), GatedReasoner)
    assert isinstance(reasoner_of(llm(gate=False)), LlmReasoner)


async def test_a_gated_choice_is_counted_and_the_endpoint_hears_nothing() -> None:
    async with OpenAiServer() as server:
        before = metrics.GATED._value.get()
        proposal = await reasoner_of(llm(server)).reason(a_contrast([NOIR]), SURE)

        assert proposal.reasoned_by.gated
        assert metrics.GATED._value.get() == before + 1
        assert not server.bodies

        proposal = await reasoner_of(llm(server, gate=False)).reason(a_contrast([NOIR]), SURE)
        assert (proposal.reasoned_by.gated, proposal.reasoned_by.calls) == (False, 1)


class TestFallback:
    async def reason(self, on_failure: OnLlmFailure, *acts: Do) -> Any:
        async with OpenAiServer(Act(Do.ANSWER if acts else Do.FAIL)) as server:
            server.then(*acts)
            settings = llm(server, on_llm_failure=on_failure)
            return await Reasoning(reasoner_of(settings), on_failure).reason(a_contrast(["genre: saga"]), SURE)

    async def test_the_record_says_why_rules_answered(self) -> None:
        by = (await self.reason(OnLlmFailure.RULES)).reasoned_by

        assert by.reasoner == "counts"
        assert by.fallback is not None
        assert by.fallback.startswith("server-error")

    async def test_dead_letter_gives_up(self) -> None:
        with pytest.raises(ReasonerFailed, match="server-error"):
            await self.reason(OnLlmFailure.DEAD_LETTER)

    async def test_wait_asks_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reasoning, "FIRST_WAIT_SECONDS", 0.01)

        found = await self.reason(OnLlmFailure.WAIT, Do.FAIL, Do.FAIL)

        assert found.reasoned_by.reasoner == "llm"
