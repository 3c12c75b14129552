"""Proposals: the choice of a reasoner, and the validation after it."""

from typing import Any

import pytest

from operators.evolve.llm import LlmReasoner
from operators.evolve.proposals import CountsReasoner, Proposal, RulesReasoner, validate
from operators.options import EvolveMode
from schemas import RefusalReason, Tier
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.settings import OnLlmFailure, Settings
from streams.worker.reasoning import reasoner as reasoning
from streams.worker.reasoning.llm import reasoner_of
from streams.worker.reasoning.reasoner import ReasonerFailed, Reasoning
from tests.builders import a_contrast, a_skill, an_attribute, id_of
from tests.openai_server import Act, Do, OpenAiServer

NOIR, DARK, SAGA = "genre: noir", "mood: dark", "genre: saga"
HIGH = Tier.HIGH
SURE = a_skill(an_attribute(NOIR, HIGH), an_attribute(DARK, HIGH))


def test_reinforcement_wins_over_weakening() -> None:
    proposal = Proposal(reinforced=(id_of(NOIR),), weakened=(id_of(NOIR), id_of(DARK), id_of(SAGA)))

    validated = validate(proposal, SURE, a_contrast([NOIR]), privacy=PRIVACY)

    assert (validated.proposal.reinforced, validated.proposal.weakened) == ((id_of(NOIR),), (id_of(DARK),))
    assert [each.why for each in validated.refused] == [RefusalReason.ALSO_REINFORCED, RefusalReason.UNKNOWN]


CERTAIN = a_skill(an_attribute(NOIR, HIGH))


def llm(server: OpenAiServer | None = None, **more: Any) -> Settings:
    url = server.base_url if server else "http://127.0.0.1:9/v1"
    return Settings(reasoner="llm", llm_base_url=url, llm_attempts=1, llm_retry_seconds=0, **more)


def test_settings_select_the_reasoner() -> None:
    assert isinstance(reasoner_of(Settings()), CountsReasoner)
    assert isinstance(reasoner_of(Settings(evolve_mode=EvolveMode.PAPER)), RulesReasoner)
    assert isinstance(reasoner_of(llm()), LlmReasoner)


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
