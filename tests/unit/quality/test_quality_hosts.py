"""The three hosts: a model ranks with each one's memory, and the slim skill is all that differs between two arms."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from evaluation.hosts import HOSTS, DynamicProfileHost, HostRequest, profile_of, rewritten
from operators.evolve.proposal import ReasonerUnavailable
from operators.rank import LlmRanking, Task
from operators.rank.llm import LlmRanker
from operators.tokens import count_tokens
from schemas import ItemFacts, ReasonedBy
from streams.llm.client import LlmClient
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import id_of, item_facts
from tests.openai_server import Act, Do, OpenAiServer

NOIR = item_facts("noir", "genre: noir", "mood: dark reads", title="The Long Alley")
SAGA = item_facts("saga", "genre: saga", "mood: warm reads", title="Four Daughters")
SPACE = item_facts("space", "genre: science fiction", "era: 1990s", title="Low Orbit")
FARCE = item_facts("farce", "genre: farce", "era: 1960s", title="Two Umbrellas")
ITEMS = (NOIR, SAGA, SPACE, FARCE)
GENRE_NOIR, GENRE_SAGA = id_of("genre: noir"), id_of("genre: saga")
every_host = pytest.mark.parametrize("name", ["dynamic-profile", "static-profile", "vanilla"])


def a_request(*candidates: ItemFacts, **more: object) -> HostRequest:
    return HostRequest("ann", candidates or ITEMS, **more)  # type: ignore[arg-type]


class Remembers:
    """A model's stand-in: keeps the task, answers with the candidates backwards."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    async def rank(self, task: Task) -> LlmRanking:
        self.tasks.append(task)
        return LlmRanking(tuple(item.item_id for item in reversed(task.items)), ReasonedBy(reasoner="llm"))


@every_host
def test_the_model_decides_by_request_memory_and_slim_skill(name: str) -> None:
    model = Remembers()
    for line in ("", "likes: noir"):
        request = a_request(instruction="a quiet one", history=(SAGA,), slim_skill=line, seed="r1")
        assert asyncio.run(HOSTS[name](model).rank(request)) == ("farce", "space", "saga", "noir")

    without, skilled = model.tasks
    assert (skilled.instruction, skilled.slim_skill, skilled.seed) == ("a quiet one", "likes: noir", "r1")
    assert (without.slim_skill, without.facets, without.lately) == ("", skilled.facets, skilled.lately)
    assert skilled.facets or skilled.lately
    assert not skilled.companions


@every_host
def test_a_choice_is_of_a_candidate(name: str) -> None:
    with pytest.raises(ValueError, match="not one of the candidates"):
        HOSTS[name](Remembers()).observe(a_request(NOIR, SAGA), "space")
    with pytest.raises(ValueError, match="different"):
        a_request(NOIR, NOIR)


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer() as running:
        yield running


@pytest.fixture
async def ranker(server: OpenAiServer) -> AsyncIterator[LlmRanker]:
    settings = {"timeout_seconds": 2.0, "attempts": 1, "max_retry_seconds": 0.05}
    client = LlmClient(base_url=server.base_url, api_key="k", model="fake", **settings)
    yield LlmRanker(client, count_tokens=count_tokens, vouching=VOUCHING)
    await client.aclose()


@every_host
async def test_over_http_memory_comes_after_the_request_and_before_the_slim_skill(
    name: str, server: OpenAiServer, ranker: LlmRanker
) -> None:
    history = (item_facts("old", "genre: saga", title="Daughters of Salt"),)
    host = HOSTS[name](ranker)

    order = await host.rank(a_request(instruction="science fiction", history=history, slim_skill="likes: farce"))

    # Words that a candidate shares with the request, the memory and the slim skill weigh 1.5, 1 and 0.5 there.
    assert order == ("space", "saga", "farce", "noir")
    prompt = server.bodies[0]["messages"][-1]["content"]
    (community,) = re.findall(r"<community>\n(.*?)\n</community>", prompt, re.DOTALL)
    assert ("lately took: Daughters of Salt" if name == "vanilla" else "takes genre: saga") in community


@every_host
async def test_a_host_without_an_answer_raises_instead_of_ranking_otherwise(
    name: str, server: OpenAiServer, ranker: LlmRanker
) -> None:
    server.always = Act(Do.FAIL)

    with pytest.raises(ReasonerUnavailable):
        await HOSTS[name](ranker).rank(a_request())


def test_vanilla_gives_a_model_the_newest_titles_first_and_as_data() -> None:
    model = Remembers()
    many = [item_facts(f"i{number}", title=f"Tome {number}") for number in range(9)]
    history = (*many, item_facts("a", title="Old"), item_facts("b"), item_facts("c", title="<x> New\n" + 400 * "n"))

    asyncio.run(HOSTS["vanilla"](model).rank(a_request(history=history)))

    newest, *rest = model.tasks[0].lately
    assert newest.startswith("(x) New n")
    assert rest == ["Old", "Tome 8", "Tome 7"]


def test_a_dynamic_profile_follows_a_change_of_taste_but_not_at_once() -> None:
    host, request = DynamicProfileHost(Remembers()), a_request(history=(SAGA, SAGA))
    assert host.profile(request) == profile_of((SAGA, SAGA))

    weights = []
    for _ in range(6):
        host.observe(request, "noir")
        profile = host.profile(request)
        weights.append((profile[GENRE_NOIR].weight, profile[GENRE_SAGA].weight))

    assert weights[0][0] < weights[0][1]
    assert weights[-1][0] > weights[-1][1]


def test_a_choice_says_nothing_about_absent_and_common_facts() -> None:
    before = profile_of((SAGA, NOIR))

    after = rewritten(before, FARCE, (NOIR, SPACE))

    assert after[GENRE_SAGA] == before[GENRE_SAGA]
    assert after[GENRE_NOIR].weight < before[GENRE_NOIR].weight
    shared = item_facts("other", "genre: noir")
    assert rewritten({}, NOIR, (shared, shared, SAGA)).keys() == {id_of("mood: dark reads")}
    assert GENRE_NOIR in rewritten({}, NOIR, (shared, SAGA, SPACE))
