"""Who answered, at what cost: read off made-up events, with prices that can be checked by hand."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from schemas import (
    Candidate,
    DeadLetter,
    Evidence,
    Injected,
    Position,
    RankedBy,
    Ranking,
    ReasonedBy,
    SkillDiff,
)
from streams.demo.costs import (
    Asked,
    Costs,
    Job,
    Who,
    cost,
    costs,
    counted,
    http_calls,
    patience_seconds,
    percentile,
    questions,
    uses_llm,
    who,
)
from streams.demo.observer import Seen
from streams.demo.report import _answers, _calls, _llm, _prompts
from streams.settings import By, RankerName, ReasonerName, Settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PRICED = Settings(
    llm_price_prompt=2.0,
    llm_price_completion=10.0,
    llm_model="some-model",
    reasoner=ReasonerName.LLM,
    ranker=RankerName.FIRST_TOKEN,
)
RULES = ReasonedBy()
GATED = ReasonedBy(reasoner="llm", gated=True)
NOTHING = ReasonedBy(reasoner="llm")
FALLEN = ReasonedBy(reasoner="rules", fallback="timeout: no reply within 2 s (3 calls)")


def llm(prompt: str = "evolve.v2", calls: int = 1, ms: int = 100, **more: Any) -> ReasonedBy:
    return ReasonedBy(
        reasoner="llm",
        model="some-model",
        prompt=prompt,
        prompt_tokens=1_000 * calls,
        completion_tokens=50 * calls,
        calls=calls,
        latency_ms=ms,
        **more,
    )


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


def ranking(number: int, ranked: ReasonedBy, repaired: int = 0, user: str = "ann", **by: ReasonedBy) -> Ranking:
    return Ranking(
        event_id=f"r{number}",
        occurred_at=NOW,
        ranking_id=f"r{number}",
        user_id=user,
        domain="films",
        candidates=(Candidate(item_id="f1"), Candidate(item_id="f2")),
        ranked_by=RankedBy.SAGER,
        injected=Injected(ranked_by=ranked, repaired=repaired, **by),
    )


def letter(reason: str) -> DeadLetter:
    source = Position(topic="sager.contrasts", partition=0, offset=1, timestamp_ms=0)
    return DeadLetter(event_id=reason, occurred_at=NOW, stage="evolve", reason=reason, detail="", source=source)


def of(*reasoned: SkillDiff | Ranking, settings: Settings = PRICED, letters: tuple[str, ...] = ()) -> Costs:
    dead = {reason: letter(reason) for reason in letters}
    return costs(Seen(reasoned=list(reasoned), dead_letters=dead), settings)


class TestCost:
    def test_it_is_tokens_by_price_per_million(self) -> None:
        assert cost(llm(), PRICED) == pytest.approx(1_000 * 2e-6 + 50 * 10e-6)

    def test_without_prices_it_is_nothing(self) -> None:
        assert cost(llm(), Settings()) == 0.0

    def test_who_did_not_ask_an_llm_costs_nothing(self) -> None:
        assert [cost(by, PRICED) for by in (RULES, GATED, NOTHING, FALLEN)] == [0.0] * 4


@pytest.mark.parametrize(
    ("by", "told"),
    [
        (llm(), Who.LLM),
        (llm("rank-listwise.v1", fallback="no-logprobs"), Who.LLM),
        (GATED, Who.GATED),
        (NOTHING, Who.NOTHING_TO_ASK),
        (FALLEN, Who.FALLBACK),
        (ReasonedBy(reasoner="deterministic", fallback="timeout"), Who.FALLBACK),
        (RULES, None),
        (ReasonedBy(reasoner="deterministic"), None),
    ],
)
def test_who_answered(by: ReasonedBy, told: Who | None) -> None:
    assert who(by) is told


class TestQuestions:
    def test_they_come_in_the_order_of_the_events(self) -> None:
        first, slim, facets, ranked = llm(), llm("slim.v1"), llm("facets.v1"), llm("rank-first-token.v1", 2)

        found = list(questions([diff(0, first), ranking(1, ranked, slim_by=slim, facets_by=facets)]))

        assert [(one.job, one.by) for one in found] == [
            (Job.EVOLVE, first),
            (Job.FACETS, facets),
            (Job.SLIM, slim),
            (Job.RANK, ranked),
        ]

    def test_facets_that_a_worker_kept_are_one_question(self) -> None:
        facets, ranked = llm("facets.v1"), ReasonedBy(reasoner="deterministic")
        again = [ranking(number, ranked, facets_by=facets) for number in range(3)]

        assert list(questions(again)) == [Asked("ann", "films", Job.FACETS, facets)]

    def test_the_same_facets_of_another_user_or_with_another_record_are_more(self) -> None:
        ranked = ReasonedBy(reasoner="deterministic")
        events = [
            ranking(1, ranked, facets_by=llm("facets.v1")),
            ranking(2, ranked, facets_by=llm("facets.v1"), user="bob"),
            ranking(3, ranked, facets_by=llm("facets.v1", ms=101)),
        ]

        assert len(list(questions(events))) == 3

    def test_each_fallback_and_each_ranking_is_a_question_of_its_own(self) -> None:
        ranked = llm("rank-first-token.v1")

        assert len(list(questions([ranking(n, ranked, facets_by=FALLEN) for n in range(3)]))) == 6


class TestCosts:
    def test_they_are_summed_up_by_prompt(self) -> None:
        found = of(*[diff(n, llm(ms=10 * n)) for n in range(1, 21)], ranking(1, llm("rank-first-token.v1", 2, ms=70)))

        evolve, rank = found.prompts
        assert (evolve.prompt, evolve.answered, evolve.calls, evolve.extra_calls) == ("evolve.v2", 20, 20, 0)
        assert (evolve.prompt_tokens, evolve.completion_tokens) == (20_000, 1_000)
        assert (evolve.median_ms, evolve.p95_ms) == (105, 190)
        assert evolve.usd == pytest.approx(0.05)
        assert (rank.prompt, rank.answered, rank.calls, rank.extra_calls) == ("rank-first-token.v1", 1, 2, 0)
        assert sum(found.usd) == pytest.approx(evolve.usd + rank.usd)
        assert found.priced

    def test_calls_beyond_the_usual_ones_are_extra(self) -> None:
        [evolve] = of(diff(1, llm(calls=3)), diff(2, llm())).prompts
        [rank] = of(ranking(1, llm("rank-first-token.v1", 3)), ranking(2, llm("rank-first-token.v1", 1))).prompts
        [listed] = of(ranking(1, llm("rank-listwise.v1", 2, fallback="no-logprobs"))).prompts
        listwise = PRICED.model_copy(update={"ranker": RankerName.LISTWISE})
        [wanted] = of(ranking(1, llm("rank-listwise.v1", 2)), settings=listwise).prompts

        assert [each.extra_calls for each in (evolve, rank, listed, wanted)] == [2, 1, 1, 0]

    def test_who_answered_is_told_by_job(self) -> None:
        fallen = ReasonedBy(reasoner="deterministic", fallback="timeout")
        found = of(
            diff(1, llm()), diff(2, GATED), diff(3, NOTHING), diff(4, FALLEN), ranking(1, fallen), ranking(2, RULES)
        )

        assert found.jobs[Job.EVOLVE] == {Who.LLM: 1, Who.GATED: 1, Who.NOTHING_TO_ASK: 1, Who.FALLBACK: 1}
        assert found.jobs[Job.RANK] == {Who.FALLBACK: 1}
        assert (found.asked, found.by(Who.LLM)) == (3, 1)
        assert found.valid_share == pytest.approx(1 / 3)

    def test_a_choice_that_was_given_up_was_asked_and_not_answered(self) -> None:
        found = of(diff(1, llm()), letters=("reasoner-unavailable", "not-json"))

        assert (found.dead_letters, found.asked, found.valid_share) == (1, 2, 0.5)

    def test_repairs_and_other_forms_are_counted(self) -> None:
        listed = llm("rank-listwise.v1", fallback="no-logprobs")
        found = of(ranking(1, listed, repaired=3), ranking(2, listed), ranking(3, llm("rank-first-token.v1"), 1))

        assert (found.repaired_ids, found.repaired_rankings, found.other_form) == (4, 2, 2)

    def test_nothing_asked_is_nothing_wrong(self) -> None:
        found = of(diff(1, RULES), ranking(1, RULES), settings=Settings())

        assert (found.prompts, found.jobs, found.asked, found.valid_share) == ((), {}, 0, 1.0)
        assert not found.priced


@pytest.mark.parametrize(("share", "value"), [(0.95, 19), (0.5, 10), (1.0, 20), (0.0, 1)])
def test_a_percentile_is_one_of_the_values(share: float, value: int) -> None:
    assert percentile([*range(20, 0, -1)], share) == value


def test_a_worker_counts_its_calls_itself() -> None:
    page = """# HELP sager_llm_calls_total Calls
# TYPE sager_llm_calls_total counter
sager_llm_calls_total{outcome="ok",prompt="rank-first-token_v1"} 4.0
sager_llm_calls_total{outcome="timeout",prompt="rank-first-token_v1"} 1.0
sager_llm_calls_total{outcome="ok",prompt="evolve_v2"} 2.0
# HELP sager_llm_tokens_total Tokens
# TYPE sager_llm_tokens_total counter
sager_llm_tokens_total{direction="prompt",prompt="evolve_v2"} 900.0
sager_llm_tokens_total{direction="completion",prompt="evolve_v2"} 80.0
sager_llm_tokens_total{direction="prompt",prompt="rank-first-token_v1"} 100.0
"""
    found = counted(page)

    assert found.outcomes == {"rank-first-token.v1": {"ok": 4, "timeout": 1}, "evolve.v2": {"ok": 2}}
    assert (found.prompt_tokens, found.completion_tokens) == (1_000, 80)


def test_a_worker_that_does_not_answer_is_no_error() -> None:
    assert http_calls("http://127.0.0.1:1/metrics") is None


class TestSettings:
    @pytest.mark.parametrize(
        "settings",
        [
            Settings(reasoner=ReasonerName.LLM),
            Settings(ranker=RankerName.LISTWISE),
            Settings(facets_by=By.LLM),
            Settings(extract_by=By.LLM),
        ],
    )
    def test_any_part_by_an_llm_uses_it(self, settings: Settings) -> None:
        assert uses_llm(settings)

    def test_by_default_none_does(self) -> None:
        assert not uses_llm(Settings())

    def test_patience_is_for_all_questions_of_one_record(self) -> None:
        one = {"llm_timeout_seconds": 10.0, "llm_attempts": 2, "llm_retry_seconds": 5.0}

        evolve = patience_seconds(Settings(reasoner=ReasonerName.LLM, **one))
        rank = patience_seconds(Settings(ranker=RankerName.FIRST_TOKEN, rank_orders=2, **one))
        every = patience_seconds(
            Settings(ranker=RankerName.FIRST_TOKEN, facets_by=By.LLM, extract_by=By.LLM, rank_orders=2, **one)
        )

        # A question: three calls of 10 s and two pauses of 5 s. A ranking: two orders, and perhaps a list instead.
        assert (evolve, rank, every) == (40.0, 120.0, 200.0)


class TestReport:
    def shown(self, settings: Settings = PRICED, every: bool = False) -> str:
        found = of(*[diff(n, llm(ms=n)) for n in range(1, 15)], diff(15, GATED), settings=settings)
        facts = _llm(found)
        out = io.StringIO()
        console = Console(file=out, width=140)
        for table in (_calls(facts["calls"], every, found.priced), _prompts(facts, found.priced), _answers(facts)):
            console.print(table)
        return out.getvalue()

    def test_the_last_calls_or_all_are_shown(self) -> None:
        assert "the last 10 of 14; --calls shows all" in self.shown()
        assert self.shown(every=True).count("│ ann ") == 14

    def test_costs_are_told_where_there_are_prices(self) -> None:
        assert "0.035000 USD in all, 0.002500 per choice that the LLM judged" in self.shown()
        free = self.shown(Settings(reasoner=ReasonerName.LLM))
        assert "SAGER_LLM_PRICE_PROMPT" in free
        assert "0.0000" not in free

    def test_shares_and_health_are_told(self) -> None:
        text = self.shown()

        assert "14 (93%)" in text
        assert "1 (7%)" in text
        assert "100.0% of 14 questions" in text
