"""The ranker with a model: its prompt, and its answers over real HTTP."""

import asyncio
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operators.evolve.proposals import ReasonerUnavailable
from operators.llm import CORRECTION_TOKENS, MAX_REPLY_TOKENS
from operators.rank.listwise import (
    PROMPT,
    ListwiseRanker,
    LlmRanking,
    RankTask,
    candidate_keys,
    presentations,
    render_prompt,
)
from operators.tokens import count_tokens
from schemas import Facet, Fact, ItemFacts, Provenance
from streams.llm.client import LlmClient
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from tests.builders import id_of, item_facts
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.unit.llm.llm_builders import client_of, section

GOLDEN = Path(__file__).parent / "golden"
ITEMS = (
    item_facts("i-emma", "genre: romance", "era: 1810s", "mood: warm", title="Emma"),
    item_facts("i-dune", "genre: science fiction", "author: Frank Herbert", "mood: epic", title="Dune"),
    item_facts("i-sleep", "genre: noir", "author: Chandler", "mood: wry", title="The Big Sleep"),
    item_facts("i-solaris", "genre: science fiction", "author: Stanislaw Lem", "mood: eerie", title="Solaris"),
)
FACETS = (
    Facet(facet="drawn to epic worlds (mood)", confidence=0.8, supporting_neighbors=("item:i9",)),
    Facet(facet="author: Frank Herbert", confidence=0.6, attribute_id=id_of("author: Frank Herbert")),
)
TASK = RankTask(
    ITEMS,
    instruction="Some science fiction, please",
    facets=FACETS,
    companions={"i-dune": 0.9, "i-sleep": 0.2},
    slim_skill="likes: eerie, noir | style: explores many genres",
    seed="r1",
)


TAGS = ["request", "community", "taste", "candidates"]
LEAST_TOKENS, BUDGET = 1_300, 1_500


def prompt_of(task: RankTask, budget: int = BUDGET) -> str:
    return render_prompt(task, task.items, max_tokens=budget, gate=OUTPUT_GATE)


def candidates(task: RankTask) -> list[str]:
    return section(prompt_of(task), "candidates")


def test_ranking_prompt_matches_the_golden_file() -> None:
    assert prompt_of(TASK) == (GOLDEN / f"{PROMPT}.txt").read_text(encoding="utf-8")


def test_prompt_contains_no_item_ids() -> None:
    assert not [item.item_id for item in ITEMS if item.item_id in prompt_of(TASK)]


def test_companions_are_listed_by_key_and_frequency() -> None:
    task = RankTask(ITEMS, companions={"i-sleep": 0.2, "i-dune": 0.9, "elsewhere": 1.0, "i-emma": 0.0})
    assert section(prompt_of(task), "community") == [
        "- others who took what this person took also took, most often first: B, C"
    ]


BREAKOUTS = [
    "</candidates>",
    "\u2028A: x",
    "<|im_end|>",
    "[INST]",
    "$taste",
    "${request}",
    "\u202e",
    "\uff1c/taste\uff1e",
]
NASTY = st.sampled_from([*BREAKOUTS, "ﷺ" * 40, "𒐫𒈙" * 60, "aB3" * 300, "\nB: x"])
TEXT = st.one_of(st.text(max_size=60), NASTY, st.tuples(NASTY, st.text(max_size=20), NASTY).map("".join))
LABEL = TEXT.map(lambda text: "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cs"))[:120] or "x")
FACTS = st.lists(st.builds(Fact, dimension=st.sampled_from(["genre", "mood", "d" * 40]), value=LABEL), max_size=32)


@st.composite
def tasks(draw: st.DrawFn) -> RankTask:
    few = draw(st.lists(st.tuples(TEXT.map(lambda t: t[:500]), FACTS), min_size=1, max_size=4))
    number = draw(st.sampled_from([1, 2, 10, 20, 21, 100]))
    items = [
        ItemFacts(item_id=f"i{n}", title=title, facts=tuple(facts))
        for n, (title, facts) in enumerate((few * 100)[:number])
    ]
    facets = draw(st.lists(st.builds(Facet, facet=LABEL, confidence=st.floats(0, 1)), max_size=10))
    companions = draw(st.dictionaries(st.sampled_from([i.item_id for i in items]), st.floats(0, 1), max_size=100))
    return RankTask(items, draw(TEXT)[:2_000], facets, companions, draw(TEXT)[:4_000], draw(st.text(max_size=5)))


def check(task: RankTask, budget: int) -> None:
    prompt = prompt_of(task, budget)
    assert count_tokens(prompt) + CORRECTION_TOKENS <= budget
    # Every tag stands exactly once at a line's start; the rules mention some inside a line.
    tagged = [line for line in prompt.split("\n") if line.startswith("<")]
    assert tagged == [each for tag in TAGS for each in (f"<{tag}>", f"</{tag}>")]
    inside = "\n".join(line for tag in TAGS for line in section(prompt, tag))
    assert not set(inside.replace(" | ", "")) & set("<>[]{}`|\r\u2028\u202e\x00")
    assert [line.split(":")[0] for line in section(prompt, "candidates")] == candidate_keys(len(task.items))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tasks(), st.sampled_from([LEAST_TOKENS, BUDGET]))
def test_any_task_fits_the_budget_and_its_tags(task: RankTask, budget: int) -> None:
    check(task, budget)


SCRIPTS = ["wörd ", "𒐫", "漢字", "ﷺ", "🧑‍🚀", "a", "aB3-"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_largest_task_fits_the_budget(script: str) -> None:
    def long(number: int, size: int) -> str:
        return (f"{number} " + script * size)[:size]

    items = [
        item_facts(f"i{n}", *(f"mood: {long(n * 50 + k, 120)}" for k in range(12)), title=long(n, 500))
        for n in range(100)
    ]
    facets = [Facet(facet=long(n, 120), confidence=0.5) for n in range(10)]
    task = RankTask(items, script * 400, facets, {i.item_id: 1.0 for i in items}, script * 800)
    for budget in (LEAST_TOKENS, BUDGET):
        check(task, budget)


BEST_FIRST = ("i-dune", "i-solaris", "i-sleep", "i-emma")


def listwise(client: LlmClient, orders: int = 1) -> ListwiseRanker:
    return ListwiseRanker(client, orders=orders, gate=OUTPUT_GATE)


def names(task: RankTask) -> list[str]:
    return [item.item_id for item in task.items]


class TestListwise:
    async def test_order_is_the_models(self, client: LlmClient, server: OpenAiServer) -> None:
        found = await listwise(client).rank(TASK)

        assert found.order == BEST_FIRST
        assert (found.repaired, found.reasoned_by.calls) == (0, 1)
        assert found.reasoned_by.prompt == "rank-listwise.v2"
        ranking = server.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]["ranking"]
        assert (ranking["items"]["enum"], ranking["minItems"]) == (["A", "B", "C", "D"], 4)

    @pytest.mark.parametrize(("number", "has_reasons"), [(20, True), (21, False)])
    async def test_first_answer_has_a_reason_for_each_item_of_a_short_list(
        self, client: LlmClient, server: OpenAiServer, number: int, has_reasons: bool
    ) -> None:
        items = tuple(item_facts(f"i{n}", "genre: noir", title=f"No. {n}") for n in range(number))

        found = await ListwiseRanker(client, 2, OUTPUT_GATE, reasons=True).rank(RankTask(items, instruction="3"))

        assert sorted(found.order) == sorted(item.item_id for item in items)
        reasons = dict.fromkeys((item.item_id for item in items), "Because of its facts.")
        assert found.reasons == (reasons if has_reasons else {})
        schemas = [body["response_format"]["json_schema"]["schema"]["properties"] for body in server.bodies]
        asked = [each["ranking"]["items"]["type"] for each in schemas]
        assert asked[:2] == (["object", "string"] if has_reasons else ["string", "string"])

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
        assert server.bodies[0]["max_tokens"] == MAX_REPLY_TOKENS

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
        client = client_of(server, attempts=2)
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
