"""The ranker with a model, over real HTTP: what its answers become, and what they cannot become."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operators.evolve.proposals import ReasonerUnavailable
from operators.rank import LlmRanking, RankTask
from operators.rank.listwise import ListwiseRanker
from operators.rank.ranking import presentations
from operators.tokens import count_tokens
from schemas import ItemFacts, Provenance
from streams.llm.client import LlmClient
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from tests.builders import item_facts
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.unit.rank.rank_builders import ITEMS, TASK, client_of

BEST_FIRST = ("i-dune", "i-solaris", "i-sleep", "i-emma")


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer() as running:
        yield running


@pytest.fixture
async def client(server: OpenAiServer) -> AsyncIterator[LlmClient]:
    made = client_of(server)
    yield made
    await made.aclose()


def listwise(client: LlmClient, orders: int = 1) -> ListwiseRanker:
    return ListwiseRanker(client, orders=orders, gate=OUTPUT_GATE)


def names(task: RankTask) -> list[str]:
    return [item.item_id for item in task.items]


class TestListwise:
    async def test_order_is_the_models(self, client: LlmClient, server: OpenAiServer) -> None:
        found = await listwise(client).rank(TASK)

        assert found.order == BEST_FIRST
        assert (found.repaired, found.reasoned_by.calls) == (0, 1)
        assert found.reasoned_by.prompt == "rank-listwise.v1"
        ranking = server.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]["ranking"]
        assert (ranking["items"]["enum"], ranking["minItems"]) == (["A", "B", "C", "D"], 4)

    async def test_repeated_keys_are_repaired_and_counted(self, client: LlmClient, server: OpenAiServer) -> None:
        server.always = Act(Do.REPEAT)

        found = await listwise(client, orders=2).rank(TASK)

        assert sorted(found.order) == sorted(names(TASK))
        # Per answer three repeated and three left out, also where the repaired order was a copy.
        assert found.repaired in (12, 18)

    async def test_hundred_candidates_fit_one_call(self, client: LlmClient, server: OpenAiServer) -> None:
        items = [item_facts(f"i{n}", "genre: noir", title=f"{n} of a hundred books") for n in range(100)]

        found = await listwise(client).rank(RankTask(items, instruction="61"))

        assert found.order[0] == "i61"
        assert sorted(found.order) == sorted(item.item_id for item in items)
        assert count_tokens(server.prompts[0]) <= 1_500
        assert server.bodies[0]["max_tokens"] > 500

    async def test_earlier_answers_decide_after_a_failure(self, client: LlmClient, server: OpenAiServer) -> None:
        server.always = Act(Do.FAIL)
        server.then(Do.ECHO)

        assert sorted((await listwise(client).rank(TASK)).order) == sorted(names(TASK))

    @pytest.mark.parametrize("number", [0, 1])
    async def test_one_candidate_costs_no_call(self, client: LlmClient, server: OpenAiServer, number: int) -> None:
        found = await listwise(client).rank(RankTask(ITEMS[:number]))

        assert found == LlmRanking(("i-emma",)[:number], Provenance(reasoner="llm"))
        assert not server.bodies


ACTS = st.sampled_from([Do.ANSWER, Do.ECHO, Do.REPEAT, Do.OBEY, Do.LIE, Do.FENCE])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(2, 30), st.lists(ACTS, max_size=6), st.integers(1, 3), st.text(max_size=4))
def test_order_is_a_permutation_or_an_error(number: int, acts: list[Do], orders: int, seed: str) -> None:
    task = RankTask([item_facts(f"i{n}", title=f"Book {n % 7}") for n in range(number)], "Book 3", seed=seed)

    async def ranked(server: OpenAiServer) -> LlmRanking | None:
        client = client_of(server)
        try:
            return await listwise(client, orders).rank(task)
        except ReasonerUnavailable:
            return None
        finally:
            await client.aclose()

    with threaded(OpenAiServer()) as server:
        server.then(*acts)
        found = asyncio.run(ranked(server))

    if found is None:
        assert acts
    else:
        assert Counter(found.order) == Counter(names(task))


@given(st.integers(0, 30), st.integers(1, 7), st.text(max_size=4))
def test_presentations_come_in_reversed_pairs(number: int, wanted: int, seed: str) -> None:
    items = [ItemFacts(item_id=str(n)) for n in range(number)]

    shown = presentations(items, seed, wanted)

    assert len(shown) == wanted
    assert all(Counter(i.item_id for i in each) == Counter(i.item_id for i in items) for each in shown)
    assert all(one == other[::-1] for one, other in zip(shown[::2], shown[1::2], strict=False))
    assert shown == presentations(items, seed, wanted)
