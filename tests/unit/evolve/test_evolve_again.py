"""A prompt that was sent, put together again from the log: to the letter, or plainly not."""

from collections.abc import AsyncIterator

import pytest

from operators.evolve import validate
from operators.evolve.again import again
from operators.evolve.llm import LlmReasoner, LlmReplacer
from operators.merge import fold, resolve, resolve_command, resolve_replacement
from operators.tokens import count_tokens
from schemas import Action, Contrast, PolicySkill, SkillDiff
from streams.llm.client import LlmClient
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import DOMAIN, EVERYTHING, USER, a_command, a_contrast, a_skill, an_attribute
from tests.openai_server import OpenAiServer
from tests.unit.llm.llm_builders import client_of

CHOICES = [
    a_contrast(["genre: noir", "mood: dark", "era: 1940s"], [["genre: saga"], ["genre: noir", "mood: light"]]),
    a_contrast(["genre: saga", "author: Undset"], [["genre: noir"], ["mood: dark"]]),
    a_contrast(["genre: noir", "author: Chandler"], [["genre: saga"], ["mood: dark"]]),
]


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer() as running:
        yield running


@pytest.fixture
async def client(server: OpenAiServer) -> AsyncIterator[LlmClient]:
    made = client_of(server)
    yield made
    await made.aclose()


def seed() -> PolicySkill:
    return a_skill(an_attribute("genre: noir"), an_attribute("mood: dark"), version=0)


async def learned(client: LlmClient, *, replaces: bool = False) -> list[SkillDiff]:
    """The log of three choices, and of a command between the question about the second and its answer."""
    skill, log = seed(), []
    for number, contrast in enumerate(CHOICES):
        if replaces:
            replacer = LlmReplacer(client, count_tokens=count_tokens, vouching=EVERYTHING)
            written = await replacer.replace(contrast, skill)
        else:
            reasoner = LlmReasoner(client, count_tokens=count_tokens, vouching=EVERYTHING)
            proposal = await reasoner.reason(contrast, skill)
        if number == 1:
            log.append(resolve_command(skill, a_command(Action.PIN, "genre: noir"), privacy=PRIVACY, vouching=VOUCHING))
            skill = fold(log)[USER, DOMAIN]
        if replaces:
            log.append(resolve_replacement(skill, written, contrast, privacy=PRIVACY))
        else:
            log.append(resolve(skill, validate(proposal, skill, contrast, privacy=PRIVACY), contrast))
        skill = fold(log)[USER, DOMAIN]
    return log


@pytest.mark.parametrize("replaces", [False, True])
async def test_every_prompt_is_put_together_again_to_the_letter(
    server: OpenAiServer, client: LlmClient, replaces: bool
) -> None:
    log = await learned(client, replaces=replaces)

    asked = [diff for diff in log if diff.reasoned_by.prompt_hash]
    found = [
        again(log, diff.version, contrast, count_tokens=count_tokens, vouching=EVERYTHING)
        for diff, contrast in zip(asked, CHOICES, strict=True)
    ]

    assert [each.prompt for each in found if each is not None] == server.prompts
    assert [each is not None and each.is_same for each in found] == [True, True, True]


async def test_another_choice_or_another_list_is_told_from_what_was_sent(client: LlmClient) -> None:
    log = await learned(client)
    other: Contrast = CHOICES[0].model_copy(update={"instruction": "something else"})

    about_another = again(log, 1, other, count_tokens=count_tokens, vouching=EVERYTHING)

    assert about_another is not None
    assert (about_another.is_same, about_another.recorded) == (False, log[0].reasoned_by.prompt_hash)
    assert "something else" in about_another.prompt
