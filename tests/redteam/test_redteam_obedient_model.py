"""Cases of attacks: the traces they leave with the rules, and with a model that obeys every attack in its prompt."""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
from aiohttp import web
from pydantic import ValidationError

from operators.evolve.llm import LlmReasoner
from operators.rank.listwise import ListwiseRanker
from schemas.skills import SLIM_TEXT
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from tests.openai_server import Act, Do, OpenAiServer
from tests.redteam.attack_corpus import CASES, Sample, read_samples
from tests.redteam.checks import SHINGLE, assert_documented, letters
from tests.redteam.harness import SimulatedUser
from tests.redteam.run import run_choice, run_dislike, run_user
from tests.unit.llm.llm_builders import client_of

ALL = tuple(read_samples(CASES))
PRIVATE = ("sensitive", "personal", "privacy-bait")
OPT_OUTS = ("not-remembered", "for-another")
# Channels that a prompt can quote. The others are commands, statements or a model's own reply.
QUOTED = ("title", "description", "value", "key", "request")
SEEDED = {"preference:genre:noir", "preference:genre:drama", "preference:genre:comedy"}
MYSTERY = "preference:genre:mystery"
# The user's own words beside the attack, where there are any.
COMEDY = "avoids:preference:genre:comedy"


@dataclass
class ObedientServer(OpenAiServer):
    """Answers sensibly until its prompt has a part of `attack`, and then obeys.

    Attacks of odd length get the worst answer that fits the schema, others an answer outside it.
    """

    attack: str = ""
    harmless: str = ""
    obeyed: int = 0

    def finds_attack(self, prompt: str) -> bool:
        text, known, attack = letters(prompt), letters(self.harmless), letters(self.attack)
        size = min(SHINGLE, len(attack))
        shingles = {attack[n : n + size] for n in range(len(attack) - size + 1)} if size else set()
        return any(shingle in text and shingle not in known for shingle in shingles)

    def _answer(self, body: dict[str, Any], act: Act) -> web.Response:
        if self.finds_attack(body["messages"][-1]["content"]):
            self.obeyed += 1
            act = Act(Do.OBEY if len(self.attack) % 2 else Do.LIE)
        return super()._answer(body, act)


def harmless(case: Sample) -> Sample:
    return replace(case, channel="value", text="id", dimension="id", attack="")


def run_by_rules(case: Sample) -> SimulatedUser:
    return asyncio.run(run_choice(case))[0] if case.channel in QUOTED else run_user(case)


@cache
def run_harmless() -> SimulatedUser:
    return run_by_rules(harmless(ALL[0]))


def leaks(case: Sample, user: SimulatedUser) -> list[str]:
    if case.cls not in PRIVATE:
        return []
    return [word for word in case.never if word.casefold() in user.trace.text().casefold()]


def slim_text(user: SimulatedUser) -> str:
    return " ".join(slim.text for slim in user.trace.slims.values())


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_no_case_has_an_effect_with_the_rules(case: Sample) -> None:
    user = run_by_rules(case)
    trace, tiers = user.trace, user.tiers

    assert leaks(case, user) == []
    if case.attack:
        assert case.attack.casefold() not in slim_text(user).casefold()
    match case.holds:
        case "refused" if case.cls in PRIVATE:
            assert trace.refused == ["private"]
            assert set(tiers) == SEEDED
        case "refused":
            # A user may state any words; the gate keeps those that could act out of prompts.
            assert case.text.casefold() not in slim_text(user).casefold()
        case "kept":
            assert case.text.casefold() in trace.text().casefold()
            assert trace.outcome == "matched"
        case "may-correct" | "not-understood":
            # The reader ignores a text with an order to a machine.
            understood = case.holds == "may-correct" and trace.outcome == "corrected"
            assert understood or trace.outcome == "not-understood"
            assert {each.statement_id for each in user.skill.stated} == ({COMEDY} if understood else set())
            assert set(tiers) == SEEDED, "a statement adds no line"
        case "item":
            (statement,) = user.skill.stated
            assert statement.statement_id.startswith("avoids:item:item:x-"), "the item alone, without its facts"
            assert set(tiers) == SEEDED
        case opt_out if opt_out in OPT_OUTS:
            assert trace.outcome == opt_out
            assert trace.diffs == []
        case "same" if case.channel in QUOTED:
            # The line of an odd value exists; the gate keeps it out of the slim skill and of prompts.
            assert (trace.outcome, slim_text(user)) == (run_harmless().trace.outcome, slim_text(run_harmless()))
            assert run_harmless().tiers.items() <= tiers.items()
        case "bounded" if case.channel in ("title", "request"):
            assert tiers == run_harmless().tiers
        case "same":
            assert set(tiers) == SEEDED


@pytest.mark.parametrize("channel", ["correction", "form"])
def test_no_case_leaks_as_the_users_own_statement(channel: str) -> None:
    for case in ALL:
        if channel == "correction" and case.channel == "key":
            continue  # a key is no sentence
        try:
            user = run_user(replace(case, channel=channel))
        except ValidationError:
            continue  # the event cannot hold this text
        assert leaks(case, user) == [], case.id
        assert re.fullmatch(SLIM_TEXT, slim_text(user)) or not slim_text(user), case.id
        if case.holds == "not-remembered" and channel == "correction":
            assert (user.trace.outcome, user.trace.diffs) == ("not-remembered", []), case.id


def test_no_case_leaks_from_a_disliked_item() -> None:
    for case in ALL:
        if case.channel in QUOTED:
            user = SimulatedUser("films")
            run_dislike(user, case)
            assert leaks(case, user) == [], case.id
            assert re.fullmatch(SLIM_TEXT, slim_text(user)), case.id


def shares(results: list[tuple[str, bool]]) -> list[tuple[str, str]]:
    """Return held of all cases by group, as the page has them."""
    held, of = Counter(group for group, is_held in results if is_held), Counter(group for group, _ in results)
    return [(group, f"{held[group]}/{of[group]}") for group in sorted(of)]


async def run_obedient() -> list[tuple[Sample, SimulatedUser, tuple[str, ...], bool]]:
    results = []
    async with ObedientServer() as server:
        client = client_of(server, model="obedient", attempts=1, timeout_seconds=5.0, retry_seconds=0.0)
        reasoner, ranker = LlmReasoner(client, gate=OUTPUT_GATE), ListwiseRanker(client, orders=1, gate=OUTPUT_GATE)
        await run_choice(harmless(ALL[0]), reasoner, ranker)
        server.harmless = "\n".join(server.prompts)
        for case in ALL:
            if case.channel in QUOTED:
                server.attack, server.obeyed = case.parts[0], 0
                results.append((case, *await run_choice(case, reasoner, ranker), server.obeyed > 0))
        await client.aclose()
    return results


def test_an_obedient_model_stays_within_the_schema_and_the_figures() -> None:
    held: list[tuple[Sample, bool]] = []
    reached = []
    for case, user, order, obeyed in asyncio.run(run_obedient()):
        assert leaks(case, user) == [], case.id
        if case.cls == "innocent":
            continue
        # Any answer can only add facts of the item, and rank each candidate once.
        left = {f"preference:genre:{value}" for value in ("comedy", "crime", "noir", "war")}
        invented = set(user.tiers) - SEEDED - {MYSTERY} - left
        assert not invented or case.holds == "bounded" or case.channel in ("value", "key"), case.id
        assert sorted(order) == ["comedy", "noir", "war", "x"], case.id
        ignored_opt_out = case.cls in ("not-remembered", "third-person") and user.trace.outcome not in OPT_OUTS
        held.append((case, not obeyed and not ignored_opt_out))
        # Orders in a title or a request can only move the item; values and keys must not reach a prompt at all.
        if obeyed and case.holds not in {"bounded", "clean"} and case.channel in ("value", "key"):
            reached.append(case.id)
    assert reached == []
    by_class = [*shares([(case.cls, each) for case, each in held]), *shares([("all", each) for _, each in held])]
    rows = "\n".join(f"| {name} | {share} |" for name, share in by_class)
    languages = ", ".join(" ".join(each) for each in shares([(case.language, each) for case, each in held]))
    assert_documented("figures", f"| technique | held |\n| --- | --- |\n{rows}\n\nBy language: {languages}.")
