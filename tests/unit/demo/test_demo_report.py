"""The demo's report: LLM costs from made-up events with prices that can be checked by hand, and the curve."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from operators.evolve import Proposal, validate
from operators.merge import merge, resolve_counts, start
from schemas import (
    Candidate,
    Contrast,
    DeadLetter,
    Evidence,
    Injected,
    Position,
    RankedBy,
    Ranking,
    ReasonedBy,
    SkillDiff,
)
from streams.demo.costs import Costs, costs, uses_llm
from streams.demo.observer import Seen
from streams.demo.report import _costs, curve
from streams.privacy import DEFAULT as PRIVACY
from streams.settings import By, RankerName, ReasonerName, Settings
from tests.builders import a_contrast, an_attribute

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PRICED = Settings(
    llm_price_prompt=2.0,
    llm_price_completion=10.0,
    llm_model="some-model",
    reasoner=ReasonerName.LLM,
    ranker=RankerName.LISTWISE,
)
RULES = ReasonedBy()
GATED = ReasonedBy(reasoner="llm", gated=True)
NOTHING = ReasonedBy(reasoner="llm")
FALLEN = ReasonedBy(reasoner="rules", fallback="timeout: no reply within 2 s (3 calls)")


def llm(prompt: str = "evolve.v2", calls: int = 1, ms: int = 100, **more: Any) -> ReasonedBy:
    tokens = {"prompt_tokens": 1_000 * calls, "completion_tokens": 50 * calls}
    return ReasonedBy(reasoner="llm", model="some-model", prompt=prompt, calls=calls, latency_ms=ms, **tokens, **more)


def diff(number: int, by: ReasonedBy, user: str = "ann") -> SkillDiff:
    return SkillDiff(
        event_id=f"c{number}",
        occurred_at=NOW,
        user_id=user,
        domain="films",
        base_version=number,
        version=number + 1,
        evidence=Evidence(event_id=f"c{number}", item_id="f1"),
        reasoned_by=by,
    )


def ranking(number: int, ranked: ReasonedBy, user: str = "ann", **by: ReasonedBy) -> Ranking:
    return Ranking(
        event_id=f"r{number}",
        occurred_at=NOW,
        ranking_id=f"r{number}",
        user_id=user,
        domain="films",
        candidates=(Candidate(item_id="f1"), Candidate(item_id="f2")),
        ranked_by=RankedBy.SAGER,
        injected=Injected(ranked_by=ranked, **by),
    )


def letter(reason: str) -> DeadLetter:
    source = Position(topic="sager.contrasts", partition=0, offset=1, timestamp_ms=0)
    return DeadLetter(event_id=reason, occurred_at=NOW, stage="evolve", reason=reason, detail="", source=source)


def of(*reasoned: SkillDiff | Ranking, settings: Settings = PRICED, letters: tuple[str, ...] = ()) -> Costs:
    dead = {reason: letter(reason) for reason in letters}
    return costs(Seen(reasoned=list(reasoned), dead_letters=dead), settings)


def test_costs_are_tokens_by_price_per_million_and_summed_by_prompt() -> None:
    found = of(*[diff(n, llm(ms=10 * n)) for n in range(1, 21)], ranking(1, llm("rank-listwise.v1", 2, ms=70)))

    evolve, rank = found.prompts
    assert (evolve.prompt, evolve.answered, evolve.calls, evolve.median_ms) == ("evolve.v2", 20, 20, 105)
    assert (evolve.prompt_tokens, evolve.completion_tokens) == (20_000, 1_000)
    assert evolve.usd == pytest.approx(20 * (1_000 * 2e-6 + 50 * 10e-6))
    assert (rank.prompt, rank.answered, rank.calls) == ("rank-listwise.v1", 1, 2)
    assert found.usd == pytest.approx(evolve.usd + rank.usd)
    assert found.priced


def test_gate_fallbacks_and_dead_letters_are_counted() -> None:
    fallen = ReasonedBy(reasoner="deterministic", fallback="timeout")
    events = [diff(1, llm()), diff(2, GATED), diff(3, NOTHING), diff(4, FALLEN), ranking(1, fallen), ranking(2, RULES)]
    found = of(*events, letters=("reasoner-unavailable", "not-json"))

    assert (found.gated, found.fallbacks, found.dead_letters) == (1, 2, 1)
    assert (found.asked, found.valid_share) == (4, 0.25)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(reasoner=ReasonerName.LLM),
        Settings(ranker=RankerName.LISTWISE),
        Settings(extract_by=By.LLM),
    ],
)
def test_any_part_by_an_llm_uses_it(settings: Settings) -> None:
    assert uses_llm(settings)
    assert not uses_llm(Settings())


def shown(settings: Settings = PRICED) -> str:
    found = of(*[diff(n, llm(ms=n)) for n in range(1, 15)], diff(15, GATED), settings=settings)
    out = io.StringIO()
    Console(file=out, width=400).print(_costs(found))
    return out.getvalue()


def test_the_share_of_valid_replies_is_shown() -> None:
    assert "100.0% valid replies to 14 questions; 1 choices kept" in shown()


OTHERS = [["genre: saga"], ["genre: epic"], ["genre: farce"]]


def played(choices: int) -> tuple[list[SkillDiff], dict[str, Contrast]]:
    """A user whose prior says saga and who takes noir."""
    contrasts = [a_contrast(["genre: noir"], OTHERS, event_id=f"c{n}", ranking_id=f"r{n}") for n in range(choices)]
    skill, log = start("ann", "films", (an_attribute("genre: saga"),), contrasts[0]), list[SkillDiff]()
    for contrast in contrasts:
        log.append(resolve_counts(skill, validate(Proposal(), skill, contrast, privacy=PRIVACY), contrast))
        skill = merge(skill, log[-1])
    return log, {contrast.event_id: contrast for contrast in contrasts}


def test_what_was_learned_and_the_prior_rank_the_same_lists() -> None:
    points = curve(*played(20))

    assert [(point.seen, point.choices) for point in points] == [
        ("0", 1), ("1", 1), ("2", 1), ("3-4", 2), ("5-8", 4), ("9-16", 8), ("17+", 3),
    ]  # fmt: skip
    assert [point.prior for point in points] == [0.0] * 7
    assert [point.learned for point in points][3:] == [1.0] * 4
