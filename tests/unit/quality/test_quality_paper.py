"""The paper's arms against a real endpoint over HTTP, and by rules: what each changes, what is kept, the report."""

import asyncio
import json
import re
from collections import Counter

import pytest
from typer.testing import CliRunner

from evaluation.leave_one_out import run
from evaluation.paper.arms import ARMS, FULL, Models, PaperArm, Rounds, evaluate
from evaluation.paper.report import ABLATION, MAIN, REPLACEMENT
from evaluation.replies import Replies, client_of
from evaluation.split import read
from operators.evolve import llm as evolve
from operators.rank import listwise
from operators.slim import llm as slim
from operators.tokens import count_tokens
from streams.cli import app
from streams.settings import Settings
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.unit.quality.quality_builders import data_set, films, tastes

USERS = 2
EVOLVE, LISTWISE, SLIM = (name.replace(".", "_") for name in (evolve.PROMPT, listwise.PROMPT, slim.PROMPT))
SAME_AS_FULL = {FULL, "tau-2", "slim-30"}
WITH_MODEL = [name for name, condition in ARMS.items() if condition.runs(with_model=True)]
BY_RULES = [name for name, condition in ARMS.items() if condition.runs(with_model=False)]


def rich_films():
    """Films with so many facts that a skill of a whole history fills long texts."""
    more = [f"{word}{number}" for number in range(4) for word in ("Noir", "Heist", "Space", "Court")]
    return [
        film | {"genres": [film["genres"], *more[number % 4 :: 2]], "directors": [film["directors"], "Ann Lee"]}
        for number, film in enumerate(films())
    ]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return read(data_set(tmp_path_factory.mktemp("films"), tastes(16), rich_films()), users=USERS)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    return read(data_set(tmp_path_factory.mktemp("films"), tastes(40), rich_films()), users=16)


async def asked_by(name, world):
    """All requests of one arm, by the name of their prompt; each question is asked once."""
    async with OpenAiServer() as server:
        settings = Settings(llm_base_url=server.base_url, llm_model="fake", llm_attempts=1, rank_orders=1)
        models = Models(client_of(settings, Replies()), 1)
        await run(PaperArm(name, Rounds(0, models, 4), models, 4), *world)
        asked = {}
        for body in server.bodies:
            kind = body["response_format"]["json_schema"]["name"]
            asked.setdefault(kind, []).append(body["messages"][-1]["content"])
        return asked


@pytest.fixture(scope="module")
def requests(world):
    async def of_all():
        return {name: await asked_by(name, world) for name in WITH_MODEL}

    return asyncio.run(of_all())


def tag(prompt, name):
    found = re.search(rf"^<{name}>\n(.*?)\n</{name}>$", prompt, re.DOTALL | re.MULTILINE)
    return found[1]


def tags(prompts, name):
    return [tag(prompt, name) for prompt in prompts]


@pytest.mark.parametrize("name", WITH_MODEL)
def test_an_arm_differs_from_full_in_its_prompts(requests, name):
    def all_prompts(arm):
        return sorted(prompt for prompts in requests[arm].values() for prompt in prompts)

    assert (all_prompts(name) == all_prompts(FULL)) is (name in SAME_AS_FULL)
    # What all arms share: the memory's questions, about the same neighbours.
    assert sorted(requests[name]["memory_v1"]) == sorted(requests[FULL]["memory_v1"])


def test_each_removal_takes_one_part_away(requests):
    kinds = {name: {kind: len(prompts) for kind, prompts in asked.items()} for name, asked in requests.items()}
    whole = requests[FULL]
    ranked, evolved = LISTWISE, EVOLVE
    assert kinds[FULL].keys() == {"memory_v1", SLIM, ranked, evolved}
    assert kinds[FULL][evolved] == 2 * USERS
    assert all(line != "(nothing)" for line in tags(whole[ranked], "taste"))

    # w/o policy skill: nothing is injected, extracted or evolved; the community stays.
    bare = requests["without-skill"]
    assert bare.keys() == {"memory_v1", ranked}
    assert set(tags(bare[ranked], "taste")) == {"(nothing)"}
    assert set(tags(bare[ranked], "community")) <= set(tags(whole[ranked], "community"))
    # w/o StatInit: the first reflections see an empty profile.
    assert tags(requests["without-statinit"][evolved], "profile").count("(nothing)") == USERS
    assert "(nothing)" not in tags(whole[evolved], "profile")
    # w/o listwise: scores instead of an order, about the same information.
    scored = requests["without-listwise"]
    assert scored.keys() == {"memory_v1", SLIM, "rank-pointwise_v1", evolved}
    for part in ("request", "community", "candidates"):
        assert set(tags(scored["rank-pointwise_v1"], part)) == set(tags(whole[ranked], part))
    # w/o incremental CoT: no reflection; the skill is StatInit's.
    assert evolved not in kinds["without-cot"]
    assert requests["without-cot"][SLIM] == requests["statinit-only"][SLIM]
    # Full replacement: a rewriting in the place of each diff.
    assert evolved not in kinds["full-replacement"]
    rewritten = requests["full-replacement"]["rewrite_v1"]
    assert len(rewritten) == 2 * USERS
    assert set(tags(rewritten, "chosen")) == set(tags(whole[evolved], "chosen"))
    # A rewriting keeps what the model names, here one line; a diff keeps the others.
    sizes = sorted(len(tag(prompt, "profile").splitlines()) for prompt in rewritten)
    assert sizes[:USERS] == [1] * USERS < sizes[USERS:]


def test_the_sweeps_change_rounds_and_lengths(requests):
    assert [len(requests[f"tau-{tau}"].get(EVOLVE, ())) for tau in range(4)] == [0, USERS, 2 * USERS, 3 * USERS]
    allowed = [
        re.findall(r"at most (\d+) lines", requests[f"slim-{tokens}"][SLIM][0]) for tokens in (10, 30, 80, 150, 200)
    ]
    assert allowed == [["3"], ["3"], ["6"], ["12"], ["16"]]
    assert max(map(count_tokens, tags(requests["slim-10"][LISTWISE], "taste"))) <= 10


@pytest.mark.parametrize("host", ["vanilla", "static-profile", "dynamic-profile"])
def test_a_host_keeps_its_memory_and_gains_a_skill(requests, host):
    without, skilled = (requests[name][LISTWISE] for name in (host, f"{host}+skill"))

    if host != "dynamic-profile":  # that one rewrites its profile by what the list left
        assert sorted(tags(without, "community")) == sorted(tags(skilled, "community"))
    assert set(tags(without, "taste")) == {"(nothing)"}
    assert "(nothing)" not in tags(skilled, "taste")
    assert len(requests[f"{host}+skill"][EVOLVE]) == USERS
    assert all(("lately took" if host == "vanilla" else "takes ") in each for each in tags(without, "community"))


async def trained(name, split):
    arm = PaperArm(name, Rounds(0, None, 1), None, 1)
    await arm.train(split, lambda *_: None)
    return arm, [await arm.rank(case) for case in split.cases]


async def test_a_longer_slim_skill_has_more_lines(crowd):
    found = {}
    for tokens in (10, 30, 80, 150, 200):
        arm, _ = await trained(f"slim-{tokens}", crowd[0])
        slims = [await arm.skills.slim(case.user_id) for case in crowd[0].cases]
        assert max(count_tokens(text) for text, _ in slims) <= tokens
        found[tokens] = sum(len(lines) for _, lines in slims)

    assert 0 < found[10] < found[30] < found[80] < found[150] <= found[200]


async def test_an_arm_by_rules_differs_from_full_in_its_effects(crowd):
    split, _ = crowd
    whole, orders = await trained(FULL, split)

    assert "full-replacement" not in BY_RULES
    assert "without-listwise" not in BY_RULES
    for name in BY_RULES:
        arm, found = await trained(name, split)
        learned = {skill.contrasts for skill in arm.skills.skills.values()}
        assert learned == {ARMS[name].tau if ARMS[name].skill else 0}
        assert (found == orders) is (name in SAME_AS_FULL), name
    assert {line.expected for skill in whole.skills.skills.values() for line in skill.attributes} == {0}


def test_a_run_stops_at_its_budget_and_resumes(tmp_path):
    folder, results = data_set(tmp_path / "films"), tmp_path / "results.jsonl"
    wanted = ["--data", folder, "--arm", "without-skill", "--users", 2, "--results", results, "--json"]
    with threaded(OpenAiServer()) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "SAGER_LLM_MODEL": "fake", "SAGER_RANK_ORDERS": "1"}

        def eval_(*more, model="fake"):
            words = ["eval", "paper", *map(str, [*wanted, *more])]
            return CliRunner().invoke(app, words, env=environment | {"SAGER_LLM_MODEL": model})

        stopped = eval_("--budget-calls", 3)
        done = eval_()
        asked = len(server.bodies)
        again = eval_()
        assert len(server.bodies) == asked, "replies are kept"
        eval_(model="other")
        assert len(server.bodies) == 2 * asked, "replies belong to one model"

    assert stopped.exit_code == 1
    assert "the budget of 3 calls is spent" in stopped.stderr
    assert str(tmp_path / "replies.duckdb") in stopped.stderr.replace("\n", "")
    assert done.exit_code == 0, done.output
    first, second = json.loads(done.stdout), json.loads(again.stdout)
    assert (first["by"], first["llm_calls"], second["cached_calls"]) == ("fake", 2, 2)
    assert first["hit_at_1"] == second["hit_at_1"]
    assert "by the model fake" in done.stderr


async def test_unusable_answers_keep_the_presented_order(world):
    async with OpenAiServer(always=Act(Do.WRONG_SCHEMA)) as server:
        settings = Settings(llm_base_url=server.base_url, llm_model="fake", llm_attempts=1, rank_orders=1)
        found = await evaluate(*world, [FULL], settings, Replies())
    split, answers = world

    assert found.results[FULL].cost.unusable > 0
    assert found.results[FULL].places == {
        case.user_id: case.candidates.index(answers[case.user_id]) + 1 for case in split.cases
    }


@pytest.mark.parametrize("by_model", [True, False])
async def test_facets_are_the_models_or_the_templates(world, by_model):
    async with OpenAiServer() as server:
        settings = Settings(llm_base_url=server.base_url, llm_model="fake", llm_attempts=1, rank_orders=1)
        await evaluate(*world, ["without-skill"], settings, Replies(), facets_by_model=by_model)
    kinds = {body["response_format"]["json_schema"]["name"] for body in server.bodies}
    assert kinds == ({"memory_v1", LISTWISE} if by_model else {LISTWISE})


# Without a model, and the report.


def test_the_command_runs_by_rules_and_reports_every_table(tmp_path):
    folder = data_set(tmp_path / "yelp-films", tastes(40), rich_films())
    words = ["--users", 20, "--results", tmp_path / "results.jsonl", "--report", tmp_path / "report.md", "--json"]

    done = CliRunner().invoke(app, ["eval", "paper", "--data", str(folder), *map(str, words)], env={"COLUMNS": "200"})

    assert done.exit_code == 0, done.output
    assert "by rules alone, without any model" in done.stderr
    assert "not run without a model: without-listwise, full-replacement" in done.stderr
    found = {line["arm"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert list(found) == BY_RULES
    assert {(line["by"], line["users"], line["llm_calls"]) for line in found.values()} == {("rules", 20, 0)}
    assert found[FULL]["less_full"] == {"difference": 0.0, "ci95": [0.0, 0.0]}
    written = (tmp_path / "report.md").read_text()
    assert re.findall(r"^## (\w+ \d)", written, re.MULTILINE) == [
        *("Table 3", "Figure 3", "Figure 4", "Figure 5", "Table 4", "Table 5", "Figure 6", "Figure 7")
    ]
    assert "by **rules alone, no model**" in written
    mine = f"{found[FULL]['hit_at_1']:.3f}".lstrip("0")
    assert re.search(rf"\| Sager \| {re.escape(mine)} \(\.5227\) \|", written)
    assert "| SASRec | - (.2305) |" in written
    results = [json.loads(row) for row in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert {row["options"]["by"] for row in results} == {"rules"}


def test_printed_figures_are_complete():
    assert Counter(row for row, _, _ in MAIN) == dict.fromkeys(dict.fromkeys(row for row, _, _ in MAIN), 20)
    assert MAIN["MemRec", "GoodReads", "hit_at_1"] == ".3997"
    assert ABLATION["without-listwise", "Books", "hit_at_5"] == ".804"
    assert REPLACEMENT["full-replacement", "MovieTV", "hit_at_3"] == ".824"
    assert {arm for arm, _, _ in (*ABLATION, *REPLACEMENT)} <= set(ARMS)


def eval_(*args):
    return CliRunner().invoke(app, ["eval", *map(str, args)], env={"COLUMNS": "200"})


KEYS = {
    *("arm", "data", "candidates", "users", "hit_at_1", "hit_at_3", "hit_at_5", "ndcg_at_3", "ndcg_at_5"),
    *("ci95_hit_at_1", "llm_calls", "cached_calls", "unusable", "hit_at_1_less_random"),
    *("prompt_tokens", "completion_tokens", "seconds", "seed"),
}


def test_json_output_has_one_line_per_arm(tmp_path):
    folder, results = data_set(tmp_path / "films"), tmp_path / "results.jsonl"
    wanted = ("--arm", "random,popularity,profile", "--candidates", "popular", "--users", "20")

    done = eval_("--data", folder, *wanted, "--seed", 3, "--results", results, "--json")

    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["arm"] for line in lines] == ["random", "popularity", "profile"]
    for line in lines:
        assert set(line) == KEYS
        assert (line["data"], line["candidates"], line["users"], line["seed"]) == ("films", "popular", 20, 3)
        assert line["ci95_hit_at_1"][0] <= line["hit_at_1"] <= line["ci95_hit_at_1"][1]
    kept = [json.loads(row) for row in results.read_text().splitlines()]
    assert [(row["arm"], len(row["places"]), row["options"]["tau"]) for row in kept] == [
        ("random", 20, 2),
        ("popularity", 20, 2),
        ("profile", 20, 2),
    ]
