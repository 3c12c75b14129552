"""The LLM calls of a demo run, and what they cost, from the events themselves."""

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemas import Ranking, ReasonedBy, SkillDiff
from streams.demo.observer import Seen
from streams.settings import By, RankerName, ReasonerName, Settings
from streams.worker.reasoning.llm import llm_client

GIVEN_UP = "reasoner-unavailable"
"""The dead letters' reason for a choice that no reasoner answered."""


@dataclass(frozen=True)
class PromptCost:
    """The sums over all answers to one prompt; `median_ms` includes waits."""

    prompt: str
    answered: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    median_ms: int
    usd: float


@dataclass(frozen=True)
class Costs:
    """The LLM's part of a run.

    Attributes:
        model: the model's name.
        prompts: the sums of the answered questions, by prompt.
        gated: choices that the gate kept from the LLM.
        fallbacks: questions that rules answered instead.
        dead_letters: choices that no reasoner answered.
        priced: True if prices are configured; else all USD are 0.
    """

    model: str
    prompts: tuple[PromptCost, ...]
    gated: int
    fallbacks: int
    dead_letters: int
    priced: bool

    @property
    def answered(self) -> int:
        """The number of questions that the LLM answered."""
        return sum(each.answered for each in self.prompts)

    @property
    def asked(self) -> int:
        """The number of questions for the LLM, answered or not."""
        return self.answered + self.fallbacks + self.dead_letters

    @property
    def valid_share(self) -> float:
        """The share of them that the LLM answered usably; 1 without a question."""
        return self.answered / self.asked if self.asked else 1.0

    @property
    def usd(self) -> float:
        """The cost of all answers."""
        return math.fsum(each.usd for each in self.prompts)


def uses_llm(settings: Settings) -> bool:
    """Return True if any part of these settings uses an LLM."""
    return (
        settings.reasoner is ReasonerName.LLM
        or settings.ranker is not RankerName.DETERMINISTIC
        or settings.extract_by is By.LLM
    )


def patience_seconds(settings: Settings) -> float:
    """Return how long one record may keep a worker busy: all its questions, each with all its retries."""
    ranking = 0 if settings.ranker is RankerName.DETERMINISTIC else settings.rank_orders + 1
    return max(1, ranking + (settings.extract_by is By.LLM)) * llm_client(settings).worst_case_seconds


def costs(seen: Seen, settings: Settings) -> Costs:
    """Sum up the LLM's part of a run."""
    answers: dict[str, list[ReasonedBy]] = {}
    others = Counter[str]()
    kept: set[tuple[str, str, ReasonedBy]] = set()
    for event in seen.reasoned:
        for by, is_kept in _records(event):
            name = (event.user_id, event.domain, by)
            if by.gated:
                others["gated"] += 1
            elif by.calls and name not in kept:
                answers.setdefault(by.prompt or "", []).append(by)
                if is_kept:
                    kept.add(name)
            elif not by.calls and by.fallback is not None:
                others["fallback"] += 1
    return Costs(
        model=settings.llm_model,
        prompts=tuple(_sums(name, answers[name], settings) for name in sorted(answers)),
        gated=others["gated"],
        fallbacks=others["fallback"],
        dead_letters=sum(letter.reason == GIVEN_UP for letter in seen.dead_letters.values()),
        priced=settings.llm_price_prompt + settings.llm_price_completion > 0,
    )


def _records(event: SkillDiff | Ranking) -> Iterator[tuple[ReasonedBy, bool]]:
    """Yield the records of an event's reasoners; True: a worker keeps the answer for the user's next requests."""
    if isinstance(event, SkillDiff):
        yield event.reasoned_by, False
        return
    injected = event.injected
    for by, is_kept in ((injected.facets_by, True), (injected.slim_by, True), (injected.ranked_by, False)):
        if by is not None:
            yield by, is_kept


def _sums(prompt: str, answers: Sequence[ReasonedBy], settings: Settings) -> PromptCost:
    sent, got = sum(by.prompt_tokens for by in answers), sum(by.completion_tokens for by in answers)
    return PromptCost(
        prompt=prompt,
        answered=len(answers),
        calls=sum(by.calls for by in answers),
        prompt_tokens=sent,
        completion_tokens=got,
        median_ms=round(statistics.median(by.latency_ms for by in answers)),
        usd=settings.llm_cost(sent, got),
    )
