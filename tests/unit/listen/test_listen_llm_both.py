"""Rules and a model on one chunk: put together in one place, and by rules where no model answers."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from operators.evolve import CountsReasoner
from operators.language.extraction import both
from operators.language.ports import Effect, Finding, Heard
from schemas import ReasonedBy
from schemas.statements import Stance
from streams.settings import OnLlmFailure, ReasonerName, Settings
from streams.worker.reasoning.llm import listener_of
from streams.worker.reasoning.reasoner import GivenUp, Reasoning
from tests.openai_server import Act, Do, OpenAiServer
from tests.unit.listen.listen_llm_builders import RUNS, SAID_AT, a_chunk, no_vocabulary, tells

MODEL = ReasonedBy(reasoner="llm", calls=1)
JAZZ = Finding(Stance.PREFERS, "jazz", "I love jazz", "u1", SAID_AT)
FORGOTTEN = replace(JAZZ, words="forget that I love jazz", effect=Effect.FORGETS)
FORGET = "Please forget that I love jazz."


def values(heard: Heard) -> list[tuple[str, str]]:
    return [(finding.effect.value, finding.value) for finding in heard.findings]


def test_what_both_found_is_the_rules_and_once() -> None:
    of_model = replace(JAZZ, value="jazz music", words="Oh, I love jazz music")
    found = both(Heard((replace(JAZZ, words="I love jazz"),)), Heard((of_model,), 2, MODEL))

    assert (values(found), found.of_others, found.reasoned_by) == ([("states", "jazz")], 2, MODEL)


def test_what_only_the_model_found_is_added_in_its_place() -> None:
    tea = replace(JAZZ, value="tea", words="tea it is", event_id="u0", said_at=SAID_AT.replace(hour=1))

    assert values(both(Heard((JAZZ,)), Heard((tea,)))) == [("states", "tea"), ("states", "jazz")]


def test_what_is_to_be_forgotten_is_not_told_again_by_the_model() -> None:
    assert values(both(Heard((FORGOTTEN,)), Heard((JAZZ,)))) == [("forgets", "jazz")]
    assert values(both(Heard((FORGOTTEN,)), Heard(()))) == [("forgets", "jazz")]
    assert values(both(Heard(()), Heard((FORGOTTEN,)))) == [("forgets", "jazz")]


def test_a_model_cannot_turn_what_rules_understand_into_its_opposite() -> None:
    avoids = replace(JAZZ, stance=Stance.AVOIDS, words="I do not love jazz")
    turned = replace(JAZZ, words="love jazz")

    assert both(Heard((avoids,)), Heard((turned,))).findings == (avoids,)


def test_what_rules_know_to_be_over_is_no_dislike() -> None:
    tango = replace(JAZZ, value="tango", words="It is tango now", effect=Effect.UPDATES, replaces="jazz")
    gone = replace(JAZZ, stance=Stance.AVOIDS, words="I no longer enjoy jazz.")

    assert both(Heard((tango,)), Heard((gone,))).findings == (tango,)
    assert both(Heard((tango,)), Heard((replace(gone, value="brass bands"),))).findings != (tango,)


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer() as running:
        yield running


def reasoning(server: OpenAiServer, on_failure: OnLlmFailure = OnLlmFailure.RULES) -> Reasoning:
    settings = Settings(
        reasoner=ReasonerName.LLM,
        llm_base_url=server.base_url,
        llm_attempts=1,
        llm_retry_seconds=0,
        llm_timeout_seconds=1,
    )
    return Reasoning(CountsReasoner(), on_failure, places=1, listener=listener_of(settings))


async def test_rules_alone_ask_nobody() -> None:
    assert listener_of(Settings()) is None

    found = await Reasoning(CountsReasoner(), OnLlmFailure.RULES).listen(a_chunk(FORGET), None, no_vocabulary)

    assert ("forgets", "jazz") in values(found)
    assert found.reasoned_by.calls == 0


async def test_rules_and_the_model_hear_one_chunk_by_one_call(server: OpenAiServer) -> None:
    server.then(tells("likes: morning runs"))

    found = await reasoning(server).listen(a_chunk(f"{RUNS}. {FORGET}"), None, no_vocabulary)

    assert ("states", "morning runs") in values(found)
    assert ("forgets", "jazz") in values(found)
    assert (found.reasoned_by.reasoner, found.reasoned_by.calls, len(server.bodies)) == ("llm", 1, 1)


async def test_rules_answer_for_a_model_that_does_not(server: OpenAiServer) -> None:
    server.always = Act(Do.FAIL)

    found = await reasoning(server).listen(a_chunk(FORGET), None, no_vocabulary)

    assert ("forgets", "jazz") in values(found)
    assert found.reasoned_by.reasoner == "rules"
    assert found.reasoned_by.fallback


async def test_a_chunk_without_an_answer_is_given_up_where_that_is_wanted(server: OpenAiServer) -> None:
    server.always = Act(Do.FAIL)

    with pytest.raises(GivenUp):
        await reasoning(server, OnLlmFailure.DEAD_LETTER).listen(a_chunk(RUNS), None, no_vocabulary)


@pytest.mark.parametrize("on_failure", [OnLlmFailure.WAIT, OnLlmFailure.DEAD_LETTER])
async def test_what_is_to_be_forgotten_waits_for_no_endpoint(server: OpenAiServer, on_failure: OnLlmFailure) -> None:
    server.always = Act(Do.FAIL)

    found = await reasoning(server, on_failure).listen(a_chunk(FORGET), None, no_vocabulary)

    assert ("forgets", "jazz") in values(found)
    assert found.reasoned_by.fallback
