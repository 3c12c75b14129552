"""What all three hosts do alike: a strict order, the slim skill between equals only, with a model and without."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.hosts import HOSTS, Host, HostRequest
from evaluation.hosts.host import ordered, tastes_of
from operators.evolve.proposal import ReasonerUnavailable
from operators.rank.llm import LlmRanker
from operators.tokens import count_tokens
from schemas import ItemFacts
from streams.llm.client import LlmClient
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import item_facts
from tests.openai_server import Act, Do, OpenAiServer
from tests.unit.hosts.hosts_builders import FARCE, ITEMS, NOIR, SAGA, SPACE, Remembers, a_request

VALUES = st.sampled_from(["noir", "saga", "farce", "warm reads", "dark reads", "1990s"])
SOME_ITEMS = st.lists(st.lists(VALUES, max_size=3), min_size=1, max_size=8).map(
    lambda each: tuple(
        item_facts(f"i{number}", *(f"said: {value}" for value in dict.fromkeys(values)), title=f"Book {number}")
        for number, values in enumerate(each)
    )
)
LINES = st.sampled_from(["", "likes: noir", "likes: warm reads, saga | style: prefers 1990s", "nonsense, |: likes"])
every_host = pytest.mark.parametrize("name", sorted(HOSTS))


def ranked(host: Host, request: HostRequest) -> tuple[str, ...]:
    return asyncio.run(host.rank(request))


def test_the_three_hosts_of_the_paper_are_there() -> None:
    assert sorted(HOSTS) == ["dynamic-profile", "static-profile", "vanilla"]
    assert all(HOSTS[name](None).name == name for name in HOSTS)


# --- without a model


@every_host
@given(items=SOME_ITEMS, history=SOME_ITEMS, asked=VALUES, line=LINES, seed=st.text(max_size=3))
def test_ranks_every_candidate_once(
    name: str, items: tuple[ItemFacts, ...], history: tuple[ItemFacts, ...], asked: str, line: str, seed: str
) -> None:
    request = a_request(*items, history=history, instruction=asked, slim_skill=line, seed=seed)

    order = ranked(HOSTS[name](None), request)

    assert sorted(order) == sorted(item.item_id for item in items)
    assert order == ranked(HOSTS[name](None), request)


@given(
    items=SOME_ITEMS, scores=st.lists(st.integers(0, 3), min_size=8, max_size=8), line=LINES, seed=st.text(max_size=3)
)
def test_slim_skill_never_moves_what_the_host_finds_better(
    items: tuple[ItemFacts, ...], scores: list[int], line: str, seed: str
) -> None:
    own = dict(zip((item.item_id for item in items), scores, strict=False))

    order = ordered(a_request(*items, slim_skill=line, seed=seed), lambda item: own[item.item_id])

    assert [own[item_id] for item_id in order] == sorted(own.values(), reverse=True)


@every_host
def test_slim_skill_decides_between_equals(name: str) -> None:
    for seed in "abcdef":
        order = ranked(HOSTS[name](None), a_request(slim_skill="likes: saga, noir | style: prefers 1960s", seed=seed))
        assert order[-1] == "space"
        assert ranked(HOSTS[name](None), a_request(slim_skill="likes: dark reads", seed=seed))[0] == "noir"
        assert ranked(HOSTS[name](None), a_request(slim_skill="style: prefers 1960s", seed=seed))[0] == "farce"


@every_host
def test_request_comes_before_everything(name: str) -> None:
    for seed in "abc":
        request = a_request(
            instruction="Some science fiction", history=(SAGA, SAGA), slim_skill="likes: noir, warm reads", seed=seed
        )
        assert ranked(HOSTS[name](None), request)[0] == "space"


@every_host
def test_no_place_in_the_input_is_favoured(name: str) -> None:
    firsts = {ranked(HOSTS[name](None), a_request(seed=f"s{number}"))[0] for number in range(40)}

    assert firsts == {item.item_id for item in ITEMS}


@every_host
def test_a_choice_is_of_a_candidate(name: str) -> None:
    with pytest.raises(ValueError, match="not one of the candidates"):
        HOSTS[name](None).observe(a_request(NOIR, SAGA), "space")


def test_a_candidate_stands_there_once() -> None:
    with pytest.raises(ValueError, match="different"):
        a_request(NOIR, NOIR)


@pytest.mark.parametrize(
    ("line", "tastes"),
    [
        ("", []),
        ("likes: noir", [["noir"]]),
        ("likes: dark reads, Noir | style: prefers 1990s", [["dark", "reads"], ["noir"], ["1990s"]]),
        ("style: explores many genres", [["explores", "genres", "many"]]),
        ("likes: , | style: ", []),
        ("loves: noir | likes noir", []),
        ("| | ::", []),
    ],
)
def test_reads_the_line(line: str, tastes: list[list[str]]) -> None:
    assert [sorted(taste) for taste in tastes_of(line)] == tastes


# --- with a model


@every_host
def test_model_is_told_request_and_slim_skill_and_decides(name: str) -> None:
    model = Remembers()
    request = a_request(instruction="a quiet one", history=(SAGA,), slim_skill="likes: noir", seed="r1")

    assert ranked(HOSTS[name](model), request) == ("farce", "space", "saga", "noir")

    (task,) = model.tasks
    assert (task.instruction, task.slim_skill, task.seed) == ("a quiet one", "likes: noir", "r1")
    assert task.facets or task.lately
    assert not task.companions


@every_host
def test_the_arms_differ_by_the_slim_skill_alone(name: str) -> None:
    model = Remembers()
    for line in ("", "likes: noir"):
        ranked(HOSTS[name](model), a_request(history=(SAGA,), slim_skill=line))

    without, given_line = model.tasks
    assert without.slim_skill == ""
    assert without.facets == given_line.facets


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
async def test_a_host_without_an_answer_says_so_instead_of_ranking_otherwise(
    name: str, server: OpenAiServer, ranker: LlmRanker
) -> None:
    server.always = Act(Do.FAIL)

    with pytest.raises(ReasonerUnavailable):
        await HOSTS[name](ranker).rank(a_request(NOIR, SAGA, SPACE, FARCE))
