"""Listwise ranking (paper 2.4, C.3): a model names all candidates, best first.

Each part of the prompt has a share of the budget; all candidates are shown in the same detail, as much as fits. The
request's beginning and the candidates' keys are never lost.
"""

import math
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from operators.attributes import fact_id
from operators.evolve.proposals import ReasonerUnavailable
from operators.language.output_policy import OutputGate, trusted_facet_words
from operators.language.words import keywords
from operators.llm import CORRECTION_TOKENS, MAX_PROMPT_TOKENS, ModelClient, ask, strict_object
from operators.prompts import as_data, template
from operators.tokens import count_tokens
from schemas import MAX_CANDIDATES, Facet, Fact, ItemFacts, Provenance
from schemas.events import MAX_RANK_REASON

PROMPT = "rank-listwise.v2"
_LETTERS = "ABCDEFGHJKLMNOPQRSTU"
_REQUEST_SHARE, _COMMUNITY_SHARE, _TASTE_SHARE = 0.12, 0.16, 0.14
_REQUEST_CHARS = (600, 400, 250, 150, 75)
_COMMUNITY = ((10, 120), (10, 80), (7, 80), (7, 50), (4, 50), (3, 40), (2, 30))
_TASTE_CHARS = (900, 600, 300, 150, 90)
_MAX_COMPANIONS = 8


@dataclass(frozen=True)
class RankTask:
    """One list to rank by a model, each candidate once.

    `companions` score by item id, from 0 to 1, how often others took it with the user's items. `lately` has taken
    titles, newest first, for hosts that rank by titles. The seed decides presentation orders and ties.
    """

    items: Sequence[ItemFacts]
    instruction: str = ""
    facets: Sequence[Facet] = ()
    companions: Mapping[str, float] = field(default_factory=dict)
    slim_skill: str = ""
    lately: Sequence[str] = ()
    seed: str = ""

    def __post_init__(self) -> None:
        if not len({item.item_id for item in self.items}) == len(self.items) <= MAX_CANDIDATES:
            raise ValueError(f"items must be at most {MAX_CANDIDATES} different candidates")


@dataclass(frozen=True)
class LlmRanking:
    """A model's order, best first, its number of repairs, and its reasons by item id."""

    order: tuple[str, ...]
    reasoned_by: Provenance
    repaired: int = 0
    reasons: Mapping[str, str] = field(default_factory=dict)


def repair(order: Sequence[str], candidates: Sequence[ItemFacts]) -> tuple[tuple[str, ...], int]:
    """Drop unknown and repeated ids and append missing ones; count the repairs.

    >>> repair(["b", "x", "b"], [ItemFacts(item_id=i) for i in "ab"])
    (('b', 'a'), 3)
    """
    known = [candidate.item_id for candidate in candidates]
    kept = [name for name in dict.fromkeys(order) if name in known]
    missing = [name for name in known if name not in kept]
    return (*kept, *missing), len(order) - len(kept) + len(missing)


def presentations(items: Sequence[ItemFacts], seed: str, wanted: int) -> list[list[ItemFacts]]:
    """Return presentation orders: shuffles, each followed by its reverse.

    Models favour places: the reverse cancels the gain. No order comes from the input, which may carry another ranker's
    order.
    """
    shown: list[list[ItemFacts]] = []
    for number in range(math.ceil(wanted / 2)):
        shuffled = list(items)
        # Reproducible, not secret.
        random.Random(f"{seed}/{number}").shuffle(shuffled)  # noqa: S311
        shown += [shuffled, shuffled[::-1]]
    return shown[:wanted]


def by_mean_rank(orders: Sequence[Sequence[str]], seed: str) -> tuple[str, ...]:
    """Order ids by their mean rank in several orders (Borda).

    >>> by_mean_rank([["b", "c", "a"], ["b", "a", "c"], ["c", "b", "a"]], "")
    ('b', 'c', 'a')
    """
    names = list(orders[0])
    random.Random(f"{seed}/ties").shuffle(names)  # noqa: S311
    return tuple(sorted(names, key=lambda name: sum(order.index(name) for order in orders)))


def total_cost(calls: Sequence[Provenance]) -> Provenance:
    """Merge the records of calls: add costs, keep the first prompt."""
    costs = ("prompt_tokens", "completion_tokens", "calls", "latency_ms")
    return calls[0].model_copy(update={name: sum(getattr(call, name) for call in calls) for name in costs})


@dataclass(frozen=True)
class ListwiseRanker:
    """Asks a model for a permutation of the candidates.

    Small models copy the presented order, which carries no information, so another of `orders` presentations is tried.
    If all answers are copies they all count, and the seed breaks the ties. With `reasons`, the first answer also has a
    reason for each item (C.3) of a list whose keys are letters: the reply has no room for more.
    """

    client: ModelClient
    orders: int
    gate: OutputGate
    reasons: bool = False

    async def rank(self, task: RankTask) -> LlmRanking:
        """Return the candidates in a strict order.

        Raises ReasonerUnavailable if the first call fails. After a later failure the earlier answers decide.
        """
        if len(task.items) <= 1:
            return LlmRanking(tuple(item.item_id for item in task.items), Provenance(reasoner="llm"))
        copies: list[tuple[str, ...]] = []
        own: list[tuple[str, ...]] = []
        records: list[Provenance] = []
        repaired, reasons = 0, dict[str, str]()
        for number, shown in enumerate(presentations(task.items, task.seed, self.orders + 1)):
            if number >= self.orders and own:
                break
            try:
                found, record = await self._ask_one(task, shown, self.reasons and not number)
            except ReasonerUnavailable:
                if not records:
                    raise
                break
            order, repairs = repair([name for name, _ in found], shown)
            repaired += repairs
            reasons = reasons or {name: why for name, why in reversed(found) if why}
            copied = order == tuple(item.item_id for item in shown)
            (copies if copied else own).append(order)
            records.append(record)
        return LlmRanking(by_mean_rank(own or copies, task.seed), total_cost(records), repaired, reasons)

    async def _ask_one(
        self, task: RankTask, shown: Sequence[ItemFacts], with_reasons: bool
    ) -> tuple[list[tuple[str, str]], Provenance]:
        """Return the named items, each with its reason, if any."""
        by_key: dict[str, str] = dict(zip(candidate_keys(len(shown)), (item.item_id for item in shown), strict=True))
        named = list(by_key)
        entry: dict[str, Any] = {"type": "string", "enum": named}
        if with_reasons := with_reasons and len(named) <= len(_LETTERS):
            entry = strict_object({"key": entry, "why": {"type": "string", "maxLength": MAX_RANK_REASON}})
        ranking = {"type": "array", "items": entry, "minItems": len(named), "maxItems": len(named)}
        prompt = render_prompt(task, shown, gate=self.gate)
        reply = await ask(self.client, PROMPT, prompt, strict_object({"ranking": ranking}))
        answer = [
            (e["key"], as_data(e["why"], MAX_RANK_REASON)) if with_reasons else (e, "") for e in reply.answer["ranking"]
        ]
        return [(by_key[key], why) for key, why in answer], reply.reasoned_by(PROMPT)


@dataclass(frozen=True)
class _Detail:
    title_chars: int
    facts: int = 0
    fact_chars: int = 0
    with_dimension: bool = False


# Cut facts before titles: most models know the titles.
_DETAILS = (
    _Detail(80, 8, 60, True),
    _Detail(80, 6, 48, True),
    _Detail(60, 4, 40, True),
    _Detail(60, 3, 32),
    _Detail(48, 2, 32),
    _Detail(40, 2, 20),
    _Detail(40, 1, 24),
    _Detail(30, 1, 16),
    _Detail(40),
    *map(_Detail, (30, 24, 18, 12, 8, 4, 0)),
)


def candidate_keys(number: int) -> list[str]:
    """Return a short opaque name per candidate: A, B, or c1, c2."""
    return list(_LETTERS[:number]) if number <= len(_LETTERS) else [f"c{n}" for n in range(1, number + 1)]


def render_prompt(
    task: RankTask, shown: Sequence[ItemFacts], *, max_tokens: int = MAX_PROMPT_TOKENS, gate: OutputGate
) -> str:
    """Write the prompt, with the candidates in this order."""
    task = replace(task, items=gate.filter_items(task.items))

    def fit(texts: Iterable[str], share: float) -> str:
        return next((text for text in texts if count_tokens(text) <= share * max_tokens), "")

    known: dict[str, str] = dict(zip((item.item_id for item in shown), candidate_keys(len(shown)), strict=True))
    request = fit((as_data(task.instruction, chars) for chars in _REQUEST_CHARS), _REQUEST_SHARE)
    community = fit((_community(task, known, gate, *size) for size in _COMMUNITY), _COMMUNITY_SHARE)
    # `as_data` would remove the bar between likes and style.
    slim = task.slim_skill.replace(" | ", "; ")
    taste = fit((as_data(slim, chars) for chars in _TASTE_CHARS), _TASTE_SHARE)
    facts = _deciding_first(task)

    def text(detail: _Detail) -> str:
        return template(PROMPT).substitute(
            request=request or "(none)",
            community=community or "(nothing)",
            taste=taste or "(nothing)",
            candidates="\n".join(_line(known[i.item_id], i.title, facts[i.item_id], detail) for i in shown),
        )

    # Bisect: rendering a hundred candidates takes tens of milliseconds.
    room = max_tokens - CORRECTION_TOKENS
    richest = bisect_left(_DETAILS, True, key=lambda detail: count_tokens(text(detail)) <= room)
    return text(_DETAILS[min(richest, len(_DETAILS) - 1)])


def _community(task: RankTask, known: Mapping[str, str], gate: OutputGate, facets: int, chars: int) -> str:
    notes = [(words, facet.confidence) for facet in task.facets if (words := trusted_facet_words(facet, gate))]
    notes += [(f"lately took: {title}", 1.0) for title in task.lately]
    lines = [f"- {as_data(words, chars)} (confidence {sure:.1f})" for words, sure in notes[:facets]]
    taken = sorted((i for i in known if task.companions.get(i, 0.0) > 0), key=lambda i: (-task.companions[i], i))
    if taken:
        also = ", ".join(known[i] for i in taken[:_MAX_COMPANIONS])
        lines.append(f"- others who took what this person took also took, most often first: {also}")
    return "\n".join(lines)


def _deciding_first(task: RankTask) -> dict[str, list[Fact]]:
    spoken_for = keywords(f"{task.instruction} {task.slim_skill}")
    ids = {facet.attribute_id for facet in task.facets}
    facts = {item.item_id: {fact_id(fact): fact for fact in item.facts} for item in task.items}
    having = Counter(name for each in facts.values() for name in each)

    def rank(named: tuple[str, Fact]) -> tuple[bool, bool]:
        name, words = named[0], keywords(named[1].value)
        return name not in ids and not (words and words <= spoken_for), having[name] == len(task.items)

    return {item_id: [fact for _, fact in sorted(each.items(), key=rank)] for item_id, each in facts.items()}


def _line(key: str, title: str, facts: Sequence[Fact], detail: _Detail) -> str:
    name = as_data(title, detail.title_chars) if detail.title_chars else ""
    notes = "; ".join(
        as_data(f"{fact.dimension}: {fact.value}" if detail.with_dimension else fact.value, detail.fact_chars)
        for fact in facts[: detail.facts]
    )
    return f"{key}: " + " | ".join(part for part in (name, notes) if part) if name or notes else key
