"""LLM_Mem (paper 2.2, C.4): a model puts into words what the neighbours have in common.

As everywhere, code finds what may be named and the model judges: it can cite only neighbours that it was shown, and
name only attributes that they have. What it writes goes through the same filter as the template's facets.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from operators.asks import CORRECTION_TOKENS, MAX_PROMPT_TOKENS, Asker, Asks, strict_object
from operators.attributes import fact_id
from operators.privacy import Privacy
from operators.prompts import as_data, template
from operators.retrieve.facets import names_of
from operators.retrieve.prune import Neighbours, ScoredItem, ScoredUser
from operators.retrieve.quality import DEFAULT_LIMITS, Reason, RetrieveLimits, quality_filter
from operators.vouch import Vouching, in_words
from schemas import MAX_SUPPORTERS, Facet, Memory, ReasonedBy

PROMPT = "facets.v1"
NONE = "none"
CONFIDENCES = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Five steps: models do not tell 0.85 from 0.9, and a closed list needs no check of bounds."""
MAX_FACET_CHARS = 120

_TITLE_CHARS, _SHOWN, _MOST_TAKEN = 80, 6, 8


@dataclass(frozen=True)
class Synthesis:
    """A model's facets."""

    facets: tuple[Facet, ...] = ()
    dropped: Mapping[Reason, int] = field(default_factory=dict)
    reasoned_by: ReasonedBy = field(default_factory=ReasonedBy)


class LlmFacets(Asker):
    """Lets a model say what a user's neighbours have in common."""

    def __init__(self, client: Asks, *, privacy: Privacy, **more: Any) -> None:
        super().__init__(client, **more)
        self._privacy = privacy

    async def synthesize(self, memory: Memory, neighbours: Neighbours) -> Synthesis:
        """What these neighbours say about this user. With nobody to cite, nothing and no call.

        Raises:
            ReasonerUnavailable: there is no usable answer.
        """
        asked = request(
            memory,
            neighbours,
            count_tokens=self._count_tokens,
            max_tokens=MAX_PROMPT_TOKENS,
            most=DEFAULT_LIMITS.facets,
            vouching=self._vouching,
        )
        if asked is None:
            return Synthesis(reasoned_by=ReasonedBy(reasoner=self.name, prompt=PROMPT))
        reply = await self._ask(PROMPT, asked)
        facets, dropped = synthesis(asked, reply.answer, DEFAULT_LIMITS, self._vouching, self._privacy)
        return Synthesis(facets, dropped, reply.reasoned_by(PROMPT))


@dataclass(frozen=True)
class FacetRequest:
    """A question to the model, with the meaning of its answer's words.

    Attributes:
        prompt: the text.
        shown: the neighbours in it, by the short names that the model cites.
        attributes: ids by the words that the model copies, for those that stand in the prompt.
        most: most facets.
    """

    prompt: str
    shown: Mapping[str, ScoredItem | ScoredUser]
    attributes: Mapping[str, str]
    most: int

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema that the answer must fit."""
        cited = {"type": "string", "enum": list(self.shown)}
        entry = {
            "attribute": {"type": "string", "enum": [*self.attributes, NONE]},
            "supporting_neighbors": {"type": "array", "items": cited, "maxItems": MAX_SUPPORTERS},
            "facet": {"type": "string", "maxLength": MAX_FACET_CHARS},
            "confidence": {"type": "number", "enum": list(CONFIDENCES)},
        }
        return strict_object({"facets": {"type": "array", "items": strict_object(entry), "maxItems": self.most}})

    @property
    def longest_answer(self) -> str:
        """The longest possible answer, for the reply's token limit."""
        entry = {
            "attribute": max([*self.attributes, NONE], key=len),
            "supporting_neighbors": list(self.shown)[-MAX_SUPPORTERS:],
            "facet": "many words " * (MAX_FACET_CHARS // 11),
            "confidence": 1.0,
        }
        return orjson.dumps({"facets": [entry] * self.most}).decode()


def request(
    memory: Memory,
    neighbours: Neighbours,
    *,
    count_tokens: Callable[[str], int],
    max_tokens: int,
    most: int,
    vouching: Vouching,
) -> FacetRequest | None:
    """What to ask about these neighbours, or None if there is nobody to cite."""
    # By place on their own side, so that a tight budget takes from both sides of the graph alike.
    places: dict[str, float] = {}
    sides: tuple[Sequence[ScoredItem | ScoredUser], ...] = (neighbours.items, neighbours.users)
    for side in sides:
        places |= {one.neighbour: place / len(side) for place, one in enumerate(side, 1)}
    rows: list[ScoredItem | ScoredUser] = [*neighbours.items, *neighbours.users]
    rows.sort(key=lambda one: (places[one.neighbour], one.neighbour))
    draft = _Draft(_most_taken(memory, vouching), rows, names_of(neighbours, vouching), most)
    while draft.rows and count_tokens(draft.prompt) > max_tokens - CORRECTION_TOKENS:
        draft.shrink()
    if not draft.rows:
        return None
    return FacetRequest(draft.prompt, draft.named, draft.attributes, most)


def synthesis(
    asked: FacetRequest, answer: Mapping[str, Any], limits: RetrieveLimits, vouching: Vouching, privacy: Privacy
) -> tuple[tuple[Facet, ...], Mapping[Reason, int]]:
    """The facets of an answer that fits the request's schema, filtered, and how many were dropped for which reason.

    A facet speaks of an attribute only if a neighbour that it cites has it: to a ranker, an attribute is a weight.
    """
    empty, proposed = 0, []
    for entry in answer["facets"][: asked.most]:
        words = as_data(entry["facet"], MAX_FACET_CHARS)
        if not words:
            empty += 1
            continue
        cited = [asked.shown[name] for name in entry["supporting_neighbors"][:MAX_SUPPORTERS]]
        named = asked.attributes.get(entry["attribute"])
        proposed.append(
            Facet(
                facet=words,
                confidence=entry["confidence"],
                supporting_neighbors=tuple(one.neighbour for one in cited),
                attribute_id=named if any(named in one.attributes for one in cited) else None,
            )
        )
    kept, dropped = quality_filter(
        proposed, {one.neighbour for one in asked.shown.values()}, limits, vouching=vouching, privacy=privacy
    )
    return kept, dict(Counter(dropped) + Counter({Reason.EMPTY: empty}))


@dataclass
class _Draft:
    """A prompt's parts while they are cut to its budget; `rows` have the best first."""

    most_taken: list[str]
    rows: list[ScoredItem | ScoredUser]
    names: Mapping[str, str]
    most: int
    shown_each: int = _SHOWN

    @property
    def named(self) -> dict[str, ScoredItem | ScoredUser]:
        return {f"n{number}": row for number, row in enumerate(self.rows, 1)}

    @property
    def attributes(self) -> dict[str, str]:
        words: dict[str, str] = {}
        for row in self.rows:
            for name in self._shown_of(row):
                words.setdefault(self.names[name], name)
        words.pop(NONE, None)
        return words

    @property
    def prompt(self) -> str:
        return template(PROMPT).substitute(
            most=self.most,
            steps=", ".join(map(str, CONFIDENCES)),
            memory="\n".join(f"- {line}" for line in self.most_taken) or "(nothing)",
            neighbours="\n".join(f"- {key} | {self._row(row)}" for key, row in self.named.items()),
        )

    def shrink(self) -> None:
        """Takes away the least telling part: later attributes, then the weakest neighbours, at last the memory."""
        if self.shown_each > _SHOWN // 2:
            self.shown_each -= 1
        elif len(self.rows) > 1:
            self.rows.pop()
        elif self.most_taken:
            self.most_taken.pop()
        elif self.shown_each > 1:
            self.shown_each -= 1
        else:
            self.rows.pop()

    def _row(self, row: ScoredItem | ScoredUser) -> str:
        words = "; ".join(self.names[name] for name in self._shown_of(row)) or NONE
        if isinstance(row, ScoredItem):
            return f"took | {as_data(row.taken.title, _TITLE_CHARS) or '(no title)'} | {words}"
        return f"another person, {row.signals.co_count} things in common | {words}"

    def _shown_of(self, row: ScoredItem | ScoredUser) -> Sequence[str]:
        own = (fact_id(fact) for fact in row.taken.facts) if isinstance(row, ScoredItem) else sorted(row.attributes)
        return [name for name in dict.fromkeys(own) if name in self.names][: self.shown_each]


def _most_taken(memory: Memory, vouching: Vouching) -> list[str]:
    """M_u in lines: what the user takes most, and how often."""
    having = Counter(name for taken in memory.taken for name in {fact_id(fact) for fact in taken.facts})
    counts: Counter[str] = Counter()
    for taken in memory.taken:
        said = (f for f in taken.facts if vouching.held(f.dimension, f.value, having[fact_id(f)]) is None)
        counts.update({in_words(fact.dimension, fact.value) for fact in said} - {""})
    best = sorted(counts, key=lambda words: (-counts[words], words))[:_MOST_TAKEN]
    return [f"{words}: {counts[words]} of {len(memory.taken)}" for words in best]
