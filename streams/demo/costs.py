"""What the LLM was asked in a run, who answered, and what each answer cost: read off the events themselves."""

import math
import statistics
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client.parser import text_string_to_metric_families

from schemas import Injected, Ranking, ReasonedBy, SkillDiff
from streams.demo.observer import Seen
from streams.settings import By, RankerName, ReasonerName, Settings
from streams.worker.reasoning.llm import llm_client

GIVEN_UP = "reasoner-unavailable"
"""The dead letters' reason for a choice that no reasoner has answered."""
SCRAPE_SECONDS = 2.0


class Job(StrEnum):
    """What a reasoner was wanted for."""

    EVOLVE = "evolve"
    RANK = "rank"
    FACETS = "facets"
    SLIM = "slim"


class Who(StrEnum):
    """Who answered, where the LLM was to."""

    LLM = "llm"
    GATED = "gated"
    NOTHING_TO_ASK = "nothing-to-ask"
    FALLBACK = "fallback"


@dataclass(frozen=True)
class Asked:
    """One question of the run: whose it was, what for, and the record of its answer."""

    user_id: str
    domain: str
    job: Job
    by: ReasonedBy


@dataclass(frozen=True)
class PromptCost:
    """What all answers to one prompt cost.

    Attributes:
        prompt: its file and version.
        answered: questions that the LLM has answered. A ranking is one, in however many presentation orders.
        calls: HTTP calls that they took.
        extra_calls: those of them that were not made at first go: retries, corrections, orders asked again.
        prompt_tokens, completion_tokens: as the endpoint counted them.
        median_ms, p95_ms: from the question to the answer, waits included.
        usd: by the configured prices.
    """

    prompt: str
    answered: int
    calls: int
    extra_calls: int
    prompt_tokens: int
    completion_tokens: int
    median_ms: int
    p95_ms: int
    usd: float


@dataclass(frozen=True)
class HttpCalls:
    """What the worker has counted itself: all calls, also those of questions that were never answered.

    Attributes:
        outcomes: calls by how they ended, by prompt.
        prompt_tokens, completion_tokens: of all of them.
    """

    outcomes: Mapping[str, Mapping[str, int]]
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Costs:
    """The LLM's part of a run.

    Attributes:
        model: the model that was asked.
        questions: all of them, in the order in which their answers came.
        usd: what each of them cost.
        prompts: the same, summed up by prompt.
        jobs: who answered how often, by what it was for.
        dead_letters: choices for which there was no answer at all.
        repaired_ids, repaired_rankings: ids that the model left out, invented or repeated, and in how many rankings.
        other_form: rankings that were asked for in another form than the configured one.
        priced: whether prices are configured; without any, all USD are 0.
        http: the worker's own count; None if it could not be asked.
        http_usd: what those calls cost.
    """

    model: str
    questions: tuple[Asked, ...]
    usd: tuple[float, ...]
    prompts: tuple[PromptCost, ...]
    jobs: Mapping[Job, Mapping[Who, int]]
    dead_letters: int
    repaired_ids: int
    repaired_rankings: int
    other_form: int
    priced: bool
    http: HttpCalls | None = None
    http_usd: float = 0.0

    def by(self, who: Who) -> int:
        """How many questions were answered by so-and-so."""
        return sum(job.get(who, 0) for job in self.jobs.values())

    @property
    def asked(self) -> int:
        """How many questions were put to the LLM, answered or not."""
        return self.by(Who.LLM) + self.by(Who.FALLBACK) + self.dead_letters

    @property
    def valid_share(self) -> float:
        """The share of those that it has answered usably; 1 if it was asked nothing."""
        return self.by(Who.LLM) / self.asked if self.asked else 1.0


def uses_llm(settings: Settings) -> bool:
    """Whether these settings let an LLM do anything."""
    return (
        settings.reasoner is ReasonerName.LLM
        or settings.ranker is not RankerName.DETERMINISTIC
        or By.LLM in (settings.facets_by, settings.extract_by)
    )


def patience_seconds(settings: Settings) -> float:
    """How long one record may keep a worker busy: all its questions, each with all its retries."""
    ranking = {RankerName.DETERMINISTIC: 0, RankerName.POINTWISE: 1}.get(settings.ranker, settings.rank_orders + 1)
    before = [settings.facets_by, settings.extract_by].count(By.LLM)
    return max(1, ranking + before) * llm_client(settings).worst_case_seconds


def cost(reasoned_by: ReasonedBy, settings: Settings) -> float:
    """What an answer cost in USD, by the configured prices; 0 without any."""
    return settings.llm_cost(reasoned_by.prompt_tokens, reasoned_by.completion_tokens)


def who(by: ReasonedBy) -> Who | None:
    """Who answered; None where nobody wanted an LLM to."""
    if by.gated:
        return Who.GATED
    if by.calls:
        return Who.LLM
    if by.fallback is not None:
        return Who.FALLBACK
    return Who.NOTHING_TO_ASK if by.reasoner == "llm" else None


def questions(reasoned: Iterable[SkillDiff | Ranking]) -> Iterator[Asked]:
    """Every question in these events, once.

    A worker keeps facets and slim skills for a user's next requests, and each ranking names the record of those that
    it was made with: the same record of the same user again is no second question.
    """
    kept: set[tuple[str, str, Job, ReasonedBy]] = set()
    for event in reasoned:
        for job, by in _records(event):
            name = (event.user_id, event.domain, job, by)
            if who(by) is None or name in kept:
                continue
            if job in (Job.FACETS, Job.SLIM) and by.calls:
                kept.add(name)
            yield Asked(event.user_id, event.domain, job, by)


def _records(event: SkillDiff | Ranking) -> Iterator[tuple[Job, ReasonedBy]]:
    if isinstance(event, SkillDiff):
        yield Job.EVOLVE, event.reasoned_by
        return
    injected = event.injected
    for job, by in (
        (Job.FACETS, injected.facets_by),
        (Job.SLIM, injected.slim_by),
        (Job.RANK, injected.ranked_by),
    ):
        if by is not None:
            yield job, by


def costs(seen: Seen, settings: Settings, http: HttpCalls | None = None) -> Costs:
    """What the LLM did in this run, and what that cost."""
    found = tuple(questions(seen.reasoned))
    jobs: dict[Job, Counter[Who]] = {}
    for one in found:
        told = who(one.by)
        if told is not None:
            jobs.setdefault(one.job, Counter())[told] += 1
    names = dict.fromkeys(one.by.prompt or "" for one in found if one.by.calls)
    rankings: list[Injected] = [event.injected for event in seen.reasoned if isinstance(event, Ranking)]
    ranked = [one.by for one in found if one.job is Job.RANK]
    return Costs(
        model=settings.llm_model,
        questions=found,
        usd=tuple(cost(one.by, settings) for one in found),
        prompts=tuple(
            _prompt_cost(name, [one.by for one in found if one.by.calls and (one.by.prompt or "") == name], settings)
            for name in sorted(names)
        ),
        jobs=jobs,
        dead_letters=sum(letter.reason == GIVEN_UP for letter in seen.dead_letters.values()),
        repaired_ids=sum(injected.repaired for injected in rankings),
        repaired_rankings=sum(injected.repaired > 0 for injected in rankings),
        other_form=sum(by.calls > 0 and by.fallback is not None for by in ranked),
        priced=settings.llm_price_prompt + settings.llm_price_completion > 0,
        http=http,
        http_usd=settings.llm_cost(http.prompt_tokens, http.completion_tokens) if http else 0.0,
    )


def _prompt_cost(name: str, answers: Sequence[ReasonedBy], settings: Settings) -> PromptCost:
    times = [by.latency_ms for by in answers]
    usual = _usual_calls(name, settings)
    return PromptCost(
        prompt=name,
        answered=len(answers),
        calls=sum(by.calls for by in answers),
        extra_calls=sum(max(0, by.calls - usual) for by in answers),
        prompt_tokens=sum(by.prompt_tokens for by in answers),
        completion_tokens=sum(by.completion_tokens for by in answers),
        median_ms=round(statistics.median(times)),
        p95_ms=percentile(times, 0.95),
        usd=math.fsum(cost(by, settings) for by in answers),
    )


def _usual_calls(prompt: str, settings: Settings) -> int:
    """The calls of one answer when all goes well: rankings are asked for in several presentation orders."""
    first_token = prompt.startswith("rank-first-token.")
    listwise = prompt.startswith("rank-listwise.") and settings.ranker is RankerName.LISTWISE
    return settings.rank_orders if first_token or listwise else 1


def percentile(values: Sequence[int], share: float) -> int:
    """The smallest of the values that at least this share of them does not exceed.

    >>> percentile([5, 1, 3, 2, 4], 0.95), percentile([5, 1, 3, 2, 4], 0.5)
    (5, 3)
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def http_calls(url: str) -> HttpCalls | None:
    """What a worker's metrics say of its calls; None if they cannot be had."""
    try:
        with urllib.request.urlopen(url, timeout=SCRAPE_SECONDS) as answer:  # noqa: S310 - our own child's address  # nosec B310
            return counted(answer.read().decode())
    except OSError:
        return None


def counted(text: str) -> HttpCalls:
    """The calls and tokens in a page of metrics."""
    outcomes: dict[str, dict[str, int]] = {}
    tokens: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = sample.labels
            if sample.name == "sager_llm_calls_total":
                outcomes.setdefault(labels["prompt"].replace("_v", ".v"), {})[labels["outcome"]] = int(sample.value)
            elif sample.name == "sager_llm_tokens_total":
                tokens[labels["direction"]] += int(sample.value)
    return HttpCalls(outcomes, tokens["prompt"], tokens["completion"])
