"""The ranking prompt (paper 2.4, C.3): request, community, taste and candidates.

Each part has a share of the budget; all candidates are shown in the same detail, as much as fits. The request's
beginning and the candidates' keys are never lost.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from operators.attributes import fact_id
from operators.language.output_policy import OutputGate, trusted_facet_words
from operators.language.words import keywords
from operators.llm import CORRECTION_TOKENS
from operators.prompts import as_data, template
from operators.rank.ranking import RankTask
from operators.tokens import count_tokens
from schemas import Fact, ItemFacts

_LETTERS = "ABCDEFGHJKLMNOPQRSTU"
_REQUEST_SHARE, _COMMUNITY_SHARE, _TASTE_SHARE = 0.12, 0.16, 0.14
_REQUEST_CHARS = (600, 400, 250, 150, 75)
_COMMUNITY = ((10, 120), (10, 80), (7, 80), (7, 50), (4, 50), (3, 40), (2, 30))
_TASTE_CHARS = (900, 600, 300, 150, 90)
_MAX_COMPANIONS = 8


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
    """Return one short opaque name per candidate, in the order of presentation.

    >>> candidate_keys(3), candidate_keys(21)[-1]
    (['A', 'B', 'C'], 'c21')
    """
    return list(_LETTERS[:number]) if number <= len(_LETTERS) else [f"c{n}" for n in range(1, number + 1)]


def render_prompt(prompt: str, task: RankTask, shown: Sequence[ItemFacts], *, max_tokens: int, gate: OutputGate) -> str:
    """Write the prompt of this name, with the candidates in this order."""
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
        return template(prompt).substitute(
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
    facet_lines = (
        (keywords, facet.confidence) for facet in task.facets if (keywords := trusted_facet_words(facet, gate))
    )
    notes = [*facet_lines, *((f"lately took: {title}", 1.0) for title in task.lately)]
    lines = [f"- {as_data(keywords, chars)} (confidence {sure:.1f})" for keywords, sure in notes[:facets]]
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
        name, facet_lines = named[0], keywords(named[1].value)
        return name not in ids and not (facet_lines and facet_lines <= spoken_for), having[name] == len(task.items)

    return {item_id: [fact for _, fact in sorted(each.items(), key=rank)] for item_id, each in facts.items()}


def _line(key: str, title: str, facts: Sequence[Fact], detail: _Detail) -> str:
    name = as_data(title, detail.title_chars) if detail.title_chars else ""
    notes = "; ".join(
        as_data(f"{fact.dimension}: {fact.value}" if detail.with_dimension else fact.value, detail.fact_chars)
        for fact in facts[: detail.facts]
    )
    return f"{key}: " + " | ".join(part for part in (name, notes) if part) if name or notes else key
