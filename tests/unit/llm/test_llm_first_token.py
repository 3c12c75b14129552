"""The first token's probabilities: what the client makes of whatever an endpoint says about them, over real HTTP."""

import math
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

from operators.evolve.proposal import ReasonerUnavailable
from streams.llm import CallRecord, FirstToken, Outcome
from streams.llm.client import CHOICE_CORRECTION, LlmClient
from streams.llm.completions import choice_logprobs
from streams.llm.failures import CallFailed
from tests.openai_server import Act, Do, OpenAiServer
from tests.unit.llm.llm_builders import client_of

PROMPT = "Which?\n<request>\nnoir\n</request>\n<candidates>\nA: saga\nB: noir\nC: verse\n</candidates>"
CHOICES = ["A", "B", "C"]


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer() as running:
        yield running


async def ask(client: LlmClient, prompt: str = PROMPT) -> FirstToken:
    try:
        return await client.first_token(prompt, CHOICES, name="test")
    finally:
        await client.aclose()


async def failure(client: LlmClient, prompt: str = PROMPT) -> ReasonerUnavailable:
    with pytest.raises(ReasonerUnavailable) as caught:
        await ask(client, prompt)
    return caught.value


def told(*pairs: tuple[Any, Any]) -> ChatCompletion:
    alternatives = [{"token": token, "logprob": logprob} for token, logprob in pairs]
    return ChatCompletion.construct(choices=[{"logprobs": {"content": [{"top_logprobs": alternatives}]}}])


async def test_it_asks_for_one_token_and_its_alternatives(server: OpenAiServer) -> None:
    calls: list[CallRecord] = []
    found = await ask(client_of(server, calls))
    body = server.bodies[0]
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"], body["temperature"]) == (1, True, 20, 0)
    assert "response_format" not in body
    assert max(found.logprobs, key=lambda choice: found.logprobs[choice]) == "B"
    assert (list(found.logprobs), found.seen, found.calls, found.completion_tokens) == (CHOICES, 3, 1, 1)
    assert [(c.name, c.outcome, c.prompt_hash) for c in calls] == [("test", Outcome.OK, found.prompt_hash)]


def test_what_spells_a_choice_adds_up() -> None:
    body = told(("B", math.log(0.3)), (" B", math.log(0.2)), ("b", math.log(0.1)), ("▁B", math.log(0.1)), ("A", -3))
    found, seen = choice_logprobs(body, CHOICES)
    assert found["B"] == pytest.approx(math.log(0.7))
    assert found["A"] == -3
    assert seen == 2


@pytest.mark.parametrize(("said", "counted"), [(-9999.0, -30.0), (0.5, 0.0), (0, 0.0)])
def test_numbers_are_bounded(said: float, counted: float) -> None:
    assert choice_logprobs(told(("A", said)), CHOICES)[0]["A"] == pytest.approx(counted)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.sampled_from(["A", "", "token"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "logprobs", "content", "top_logprobs", "token", "logprob", "message"]), inner
        )
    ),
    max_leaves=20,
)


@given(JSON | JSON.map(lambda v: [{"logprobs": {"content": [{"top_logprobs": [v, v]}]}}]))
def test_any_body_is_probabilities_or_a_failure(choices: Any) -> None:
    with suppress(CallFailed):
        found, seen = choice_logprobs(ChatCompletion.construct(choices=choices), CHOICES)
        assert 0 < seen <= len(found) == 3
        assert all(-32 <= logprob <= 0 for logprob in found.values())


@pytest.mark.parametrize("bad", [Do.NO_LOGPROBS, Do.WRONG_SCHEMA, Do.BREAK_JSON])
async def test_an_endpoint_without_probabilities_is_told_apart_at_once(server: OpenAiServer, bad: Do) -> None:
    calls: list[CallRecord] = []
    server.always = Act(bad)
    assert (await failure(client_of(server, calls))).outcome == "no-logprobs"
    assert [call.outcome for call in calls] == [Outcome.NO_LOGPROBS]
    assert calls[0].completion_tokens == 1


@pytest.mark.parametrize("bad", [Do.JUNK_TOKENS, Do.LIE, Do.TRUNCATE, Do.NO_CHOICES])
async def test_an_unusable_reply_is_corrected_once(server: OpenAiServer, bad: Do) -> None:
    server.then(bad)
    found = await ask(client_of(server))
    assert found.calls == 2
    assert server.prompts[1].startswith(PROMPT)
    assert "one of these only: A, B, C" in server.prompts[1]
    assert len(CHOICE_CORRECTION) < 120
    server.always = Act(bad)
    assert (await failure(client_of(server, attempts=1))).outcome == "invalid-reply"


@pytest.mark.parametrize("choices", [[], ["A", "a"], [f"c{n}" for n in range(21)]])
async def test_choices_that_cannot_be_told_apart_are_refused_before_any_call(
    server: OpenAiServer, choices: list[str]
) -> None:
    client = client_of(server)
    with pytest.raises(ValueError, match="1 to 20 different"):
        await client.first_token(PROMPT, choices, name="test")
    await client.aclose()
    assert not server.bodies
