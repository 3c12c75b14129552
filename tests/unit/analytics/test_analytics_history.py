"""The history of a line, from events that the operators apply and the materializer stores."""

import re
from datetime import timedelta
from typing import Any

import pytest
from typer.testing import CliRunner

from operators.evolve.proposals import COUNTS, Proposal
from operators.evolve.quotes import Quotation
from operators.history import line_steps
from operators.language.corrections import understand
from operators.learning.evidence import describe_proof
from operators.seals import seal_record
from operators.steps.evolve import EvolveState, EvolveStep
from schemas import (
    ONE,
    Candidate,
    Correction,
    Directive,
    Event,
    Fact,
    PolicySkill,
    Provenance,
    SkillDiff,
    Stance,
    Tier,
)
from schemas.events import Contrast, Feedback, Interaction, RankedBy, Ranking
from streams.analytics import read
from streams.analytics.read import EvidenceChoice
from streams.analytics.store import DuckDBStore
from streams.cli import app
from streams.language import RULES
from streams.policies import DEFAULT_GATE
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.views.line_history import LineHistory, explain
from streams.views.sentences import LineStep, sentence
from tests.analytics_world import build, published
from tests.builders import (
    DOMAIN,
    NOW,
    USER,
    a_name,
    a_ranking,
    a_skill,
    an_attribute,
    an_interaction,
    id_of,
    item_facts,
)
from tests.unit.analytics.analytics_builders import item, write

NOIR, SAGA, WAR = "genre: noir", "genre: saga", "genre: war"
ABOUT: dict[str, Any] = {"occurred_at": NOW, "user_id": USER, "domain": DOMAIN}
STEP = EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE)


def a_choice(also: tuple[str, ...] = ("b",)) -> tuple[Ranking, Contrast]:
    ranking = a_ranking("r1", "abcd")
    contrast = Contrast(
        event_id="c1", ranking_id="r1", instruction="", chosen_rank=1, chosen=item_facts("a", NOIR, title="Laura"),
        also=tuple(item_facts(name, SAGA) for name in also),
        unchosen=tuple(item_facts(name, WAR) for name in "dcb" if name not in also), **ABOUT,
    )  # fmt: skip
    return ranking, contrast


def held() -> PolicySkill:
    line = an_attribute(NOIR, Tier.HIGH, taken=6 * ONE, expected=ONE, support=6)
    return a_skill(line, version=0, contrasts=0)


def seeded(diff: SkillDiff | None) -> SkillDiff:
    assert diff is not None
    return diff.model_copy(update={"seed": held().attributes})


def told(store: DuckDBStore, *events: Event) -> LineStep:
    write(store, *events)
    found = explain(store._db, USER, DOMAIN, id_of(NOIR), DEFAULT_GATE, NOW)
    assert isinstance(found, LineHistory)
    step = found.steps[-1]
    assert isinstance(step, LineStep)
    return step


@pytest.mark.parametrize("is_ranking_stored", [True, False])
def test_items_that_were_taken_together_are_not_counted_as_left(store: DuckDBStore, is_ranking_stored: bool) -> None:
    ranking, contrast = a_choice()
    diff = seeded(STEP.finish(EvolveState(held()), contrast, Proposal(reasoned_by=COUNTS)).diff)

    step = told(store, *([ranking] if is_ranking_stored else []), contrast, diff)

    assert step.sentence.startswith("You took *Laura* and one more, and left two others, all of them without this.")
    assert step.ranking is not None
    assert list(step.ranking.taken) == ["a", "b"]
    assert set(step.ranking.shown) == set("abcd")


def test_a_models_quotation_and_its_reason_for_the_item_are_stored_and_explained(store: DuckDBStore) -> None:
    ranking, contrast = a_choice(also=())
    why = "It has the fog that you like."
    injected = ranking.injected.model_copy(
        update={"reasons": {"a": why, "b": ""}, "ranked_by": Provenance(reasoner="llm", model="m", calls=1)}
    )
    contrast = contrast.model_copy(update={"chosen": contrast.chosen.model_copy(update={"excerpt": "Fog and smoke."})})
    quoted = Quotation(Fact(dimension="mood", value="smoke"), "Fog and smoke")
    answer = Proposal(quoted=(quoted,), reasoned_by=Provenance(reasoner="llm", model="m", calls=1))
    diff = seeded(STEP.finish(EvolveState(held()), contrast, answer).diff)
    ours = seal_record(ranking.model_copy(update={"injected": injected, "ranked_by": RankedBy.SAGER}))
    write(store, ours, contrast, diff)

    found = explain(store._db, USER, DOMAIN, id_of("mood: smoke"), DEFAULT_GATE, NOW)

    assert isinstance(found, LineHistory)
    told = found.steps[-1].sentence
    assert f"A model had ranked it number 1: “{why}”." in told
    assert (
        "It is new in the profile: counted, it says nothing yet. A model found it in the words “Fog and smoke”." in told
    )
    rows = store._db.execute("SELECT attribute_id, quote FROM quotations").fetchall()
    assert rows == [(id_of("mood: smoke"), "Fog and smoke")]
    reasons = store._db.execute("SELECT item_id, place, reason FROM ranking_reasons ORDER BY place").fetchall()
    assert reasons == [("a", 1, why), ("b", 2, "")]


def test_a_line_that_falls_with_a_stated_change_of_taste_names_that_change(store: DuckDBStore) -> None:
    items = [item_facts("x", WAR)]
    says = (Directive(stance=Stance.AVOIDS, dimension="genre", value="war", changed=True),)
    given = {"text": "I don't like war any more", "items": (Candidate(item_id="x"),), "directives": says}
    correction = Correction(event_id="w1", **ABOUT, **given)
    effects = STEP.correct(
        EvolveState(held()), correction, items, understand(correction, items, held(), privacy=PRIVACY, reader=RULES)
    )

    step = told(store, seeded(effects.diff))

    assert step.kind == "overtaken"
    assert step.sentence == (
        "You said: “I don't like war any more”. You said that your taste has changed: older choices count for less now."
    )


def test_titles_come_from_the_catalogue_then_from_the_users_newest_event(store: DuckDBStore) -> None:
    def visit(item_id: str, title: str, minutes: int, **more: str) -> Interaction:
        visited = Candidate(item_id=item_id, title=title)
        return an_interaction(visited, event_id=a_name("v"), occurred_at=NOW + timedelta(minutes=minutes), **more)

    write(
        store,
        item("dune", "Dune"),
        visit("dune", "Dune, used", 1),
        Feedback(event_id="f1", item=Candidate(item_id="heat", title="Heat"), signal="purchased", **ABOUT),
        visit("heat", "Heat (1995)", 1),
        visit("laura", "Laura", 0, user_id="mallory"),
    )

    assert read.titles(store._db, USER, ["dune", "heat", "laura"]) == {"dune": "Dune", "heat": "Heat (1995)"}


READER, BOOKS = "person-003", "books"


@pytest.fixture
def ask(monkeypatch):
    monkeypatch.setenv("SAGER_DUCKDB", str(published()))

    def ask(*words: str, width: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.stderr
        return done.stdout

    return ask


def lines_of(user: str = READER, domain: str = BOOKS) -> list[str]:
    return [line.attribute_id for line in build().skills[user, domain].attributes]


def test_an_explanation_names_titles_and_no_ids_or_shares(ask):
    diffs = [diff for diff in build().diffs if (diff.user_id, diff.domain) == (READER, BOOKS)]

    for line in lines_of()[::4]:
        shown = ask("policy", "explain", READER, line, "--domain", BOOKS, width=200)
        assert line_steps(diffs, line)
        assert "%" not in shown
        assert line not in shown
        assert not re.search(r"\b[0-9a-f]{16}\b|rank-|books:\S|person-\d", shown)


ARRIVAL = EvidenceChoice("Arrival", "r1", 1, ["a"], list("abcdefghij"), "", None, None)
WORDS_STEP: dict[str, Any] = {"kind": "reinforced", "version": 1, "attribute_id": id_of(NOIR), "occurred_at": NOW}
WORDS_STEP |= {"title": "Arrival", "ranking": ARRIVAL}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"others_with": 1, "tier_before": "low", "tier_after": "medium"},
            ("You took *Arrival* and left nine others, eight of them without this. "
             "It went from “a first sign” to “likely”."),
        ),
        (
            {"taken": "6", "expected": "2.1", "luck": describe_proof(3 * ONE), "others_with": 0,
             "tier_before": "high", "tier_after": "high"},
            ("You took *Arrival* and left nine others, all of them without this. "
             "Lately you took this 6 times, where 2.1 were to be expected; "
             "luck would do as well once in 20 cases."),
        ),
        (
            {"kind": "weakened", "taken": "2.1", "expected": "2.5", "tier_before": "low", "tier_after": "silent"},
            ("You took *Arrival* and left nine others. Lately you took this 2.1 times, where 2.5 were to be expected. "
             "It went from “a first sign” to “says nothing”."),
        ),
        (
            {"rank_by_line": 2, "luck": describe_proof(2 * ONE), "tier_before": "low", "tier_after": "medium"},
            ("You took *Arrival* and left nine others; it was number 2 of 10 by this. "
             "Luck would do as well once in 7.4 cases. It went from “a first sign” to “likely”."),
        ),
        (
            {"kind": "discovered", "tier_before": None, "tier_after": "silent"},
            "You took *Arrival* and left nine others. It is new in the profile: counted, it says nothing yet.",
        ),
        (
            {"kind": "discovered", "tier_before": None, "tier_after": "low"},
            "You took *Arrival* and left nine others. It is new in the profile: a first sign.",
        ),
        (
            {"kind": "pinned", "tier_after": "high", "actor": "the help desk", "reason": "she said so"},
            "The help desk pinned this: it stays, whatever you choose. The reason given: “she said so”.",
        ),
        (
            {"title": None, "ranking": None, "tier_before": "low", "tier_after": "low"},
            "You took an item whose title is no longer known.",
        ),
    ],
)  # fmt: skip
def test_a_step_is_a_sentence(changed, told):
    assert sentence(LineStep(**{**WORDS_STEP, **changed})) == told
