"""Exploration lines: both reasoners leave them to the same count, so a model's skills have patterns too."""

from collections.abc import AsyncIterator

import pytest

from operators.evolve import RulesReasoner, validate
from operators.evolve.llm import LlmReasoner
from operators.llm import LlmClient
from operators.merge import merge, resolve
from operators.tokens import count_tokens
from schemas import Contrast, Kind, PolicySkill, Tier
from tests.builders import a_contrast, a_skill, an_attribute
from tests.openai_server import OpenAiServer

NOIR, WESTERN = "genre: noir", "genre: western"
STAYS = an_attribute("exploration: stays with favourite genres", kind=Kind.PATTERN)
EXPLORES = an_attribute("exploration: explores many genres", kind=Kind.PATTERN)
HELD = a_skill(an_attribute(NOIR), STAYS, EXPLORES)


@pytest.fixture
async def reasoner() -> AsyncIterator[LlmReasoner]:
    async with OpenAiServer() as server:
        client = LlmClient(
            base_url=server.base_url, api_key="", model="fake", timeout_seconds=2, attempts=1, max_retry_seconds=0
        )
        yield LlmReasoner(client, count_tokens=count_tokens)
        await client.aclose()


@pytest.mark.parametrize(
    ("contrast", "confirmed", "contradicted"),
    [
        (a_contrast([NOIR, "author: Jo Wick"]), {STAYS.attribute_id}, set()),
        (a_contrast([WESTERN]), {EXPLORES.attribute_id}, {STAYS.attribute_id}),
        (a_contrast(["author: Jo Wick"]), set(), set()),
    ],
)
async def test_both_reasoners_say_the_same_of_exploration(
    reasoner: LlmReasoner, contrast: Contrast, confirmed: set[str], contradicted: set[str]
) -> None:
    patterns = {STAYS.attribute_id, EXPLORES.attribute_id}

    for asked in (reasoner, RulesReasoner()):
        found = await asked.reason(contrast, HELD)
        assert patterns & set(found.reinforced) == confirmed
        assert patterns & set(found.weakened) == contradicted


async def test_a_pattern_rises_under_the_model_and_falls_slowly(reasoner: LlmReasoner) -> None:
    async def after(skill: PolicySkill, *chosen: str) -> PolicySkill:
        contrast = a_contrast(chosen)
        validated = validate(await reasoner.reason(contrast, skill), skill, contrast)
        assert validated.refused == ()
        return merge(skill, resolve(skill, validated, contrast))

    def stays(skill: PolicySkill) -> Tier:
        return next(a.tier for a in skill.attributes if a.attribute_id == STAYS.attribute_id)

    skill = await after(a_skill(an_attribute(NOIR), STAYS), NOIR)
    assert stays(skill) is Tier.HIGH
    skill = await after(skill, WESTERN)
    assert stays(skill) is Tier.HIGH
    skill = await after(skill, "genre: saga")
    assert stays(skill) is Tier.MEDIUM
