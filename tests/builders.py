"""Builders of every event and state with sensible defaults. All data is made up."""

import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from operators.attributes import attribute_id
from operators.evolve.proposals import Proposal, validate
from operators.language.output_policy import OutputGate, Rejection
from operators.learning.choice_model import ListFeatures
from operators.learning.document import SECTIONS, _strategy_lines, format_line
from operators.learning.evidence import proof_for_tier
from operators.learning.fold import merge
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits
from operators.learning.tiers import resolve_tiers
from operators.rank.deterministic import Score, rank
from operators.weights import DEFAULT_WEIGHTS, RankWeights
from schemas import Candidate, Card, CardLine, Fact, ItemFacts, OpenRankings, PolicySkill, Position, SkillDiff, Stance
from schemas.commands import Action, SkillCommand, SkillLineInput
from schemas.events import Contrast, Interaction, Ranking, RankRequest, Selection
from schemas.skills import Attribute, AttributeKind, AttributeSource, Tier
from streams.language import RULES
from streams.policies import DEFAULT_PRIVACY as PRIVACY

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
USER = "ann"
DOMAIN = "books"

_numbers = count(1)


class _Everything(OutputGate):
    """A gate that rejects nothing, for tests of the steps after it."""

    def rejection(self, dimension: str, value: str, items: int = 0) -> Rejection | None:
        return None


EVERYTHING = _Everything(policy=RULES)


def a_name(prefix: str) -> str:
    """A fresh id, so that no two events of a test are equal by accident."""
    return f"{prefix}-{next(_numbers)}"


def a_time(minutes: int = 0) -> datetime:
    return NOW + timedelta(minutes=minutes)


def a_fact(text: str) -> Fact:
    """`a_fact("genre: noir")`."""
    dimension, value = text.split(": ", 1)
    return Fact(dimension=dimension, value=value)


def facts(*texts: str) -> tuple[Fact, ...]:
    return tuple(a_fact(text) for text in texts)


def item_facts(item_id: str, *texts: str, title: str = "") -> ItemFacts:
    return ItemFacts(item_id=item_id, title=title, facts=facts(*texts))


def rank_items(
    items: Sequence[ItemFacts],
    lines: Sequence[Attribute] = (),
    instruction: str = "",
    facets: Mapping[str, float] | None = None,
    seed: str = "",
    weights: RankWeights = DEFAULT_WEIGHTS,
    **community: Any,
) -> list[tuple[ItemFacts, Score]]:
    """The order of items by a skill's lines and the community."""
    return rank(items, ListFeatures.of(items, lines, facets, **community), instruction, seed, weights)


def a_candidate(item_id: str = "i1", **metadata: Any) -> Candidate:
    return Candidate(item_id=item_id, metadata=metadata)


def read_item(candidate: Candidate) -> ItemFacts:
    """A parser for tests: every metadata value is a fact."""
    pairs = candidate.metadata.items()
    return ItemFacts(item_id=candidate.item_id, facts=tuple(Fact(dimension=k, value=str(v)) for k, v in pairs))


def an_attribute(
    text: str = "genre: noir", tier: Tier = Tier.MEDIUM, source: AttributeSource = AttributeSource.PRIOR, **more: Any
) -> Attribute:
    """`an_attribute("genre: noir", Tier.HIGH)`: by default a medium preference of the prior."""
    dimension, value = text.split(": ", 1)
    kind = more.pop("kind", AttributeKind.PREFERENCE)
    name = more.pop("attribute_id", attribute_id(kind, dimension, value))
    if "taken" in more:
        more.setdefault("proof", proof_for_tier(tier))
    return Attribute(attribute_id=name, kind=kind, dimension=dimension, value=value, tier=tier, source=source, **more)


def id_of(text: str) -> str:
    """The id of the attribute `genre: noir`."""
    return attribute_id(AttributeKind.PREFERENCE, *text.split(": ", 1))


def a_skill(*attributes: Attribute, version: int = 1, contrasts: int | None = None, **more: Any) -> PolicySkill:
    """A skill that has learned from `contrasts` choices (default: one per version)."""
    fields = {"event_id": "c0", "occurred_at": NOW, "user_id": USER, "domain": DOMAIN, **more}
    seen = version if contrasts is None else contrasts
    return PolicySkill(**fields, version=version, contrasts=seen, attributes=attributes)


def a_contrast(
    chosen: Sequence[str] | ItemFacts = ("genre: noir",), unchosen: Iterable[Sequence[str]] = (), **more: Any
) -> Contrast:
    """A choice of an item with these facts, past items with those: `a_contrast(["genre: noir"], [["genre: saga"]])`.

    `unchosen` is in the order of a contrast: the last one is the nearest miss.
    """
    ranking = more.pop("ranking_id", None) or a_name("r")
    item = chosen if isinstance(chosen, ItemFacts) else item_facts("taken", *chosen)
    left = tuple(item_facts(f"left{n}", *each) for n, each in enumerate(unchosen))
    fields = {
        "event_id": f"contrast-{ranking}",
        "occurred_at": NOW,
        "user_id": USER,
        "domain": DOMAIN,
        "chosen_rank": 1,
        **more,
    }
    return Contrast(**fields, ranking_id=ranking, chosen=item, unchosen=left)


def a_proposal(
    reinforced: Iterable[str] = (), discovered: Iterable[str] = (), weakened: Iterable[str] = (), **more: Any
) -> Proposal:
    """A proposal by texts such as `genre: noir`, or ids for reinforced and weakened lines."""
    return Proposal(
        reinforced=tuple(_id(each) for each in reinforced),
        discovered=facts(*discovered),
        weakened=tuple(_id(each) for each in weakened),
        **more,
    )


def _id(text: str) -> str:
    return id_of(text) if ": " in text else text


def evolve(
    skill: PolicySkill,
    proposal: Proposal,
    contrast: Contrast | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
    source: Position | None = None,
) -> tuple[PolicySkill, SkillDiff]:
    """The whole step of the agent: validate, resolve, merge. Without a contrast: one that backs all discoveries."""
    if contrast is None:
        contrast = a_contrast(ItemFacts(item_id="taken", facts=proposal.discovered))
    diff = resolve_tiers(skill, validate(proposal, skill, contrast, privacy=PRIVACY), contrast, source, limits)
    return merge(skill, diff), diff


def line(skill: PolicySkill, text: str) -> Attribute:
    """The line `genre: noir` of a skill; KeyError without it."""
    return {f"{a.dimension}: {a.value}": a for a in skill.attributes}[text]


def texts(attributes: Iterable[Attribute]) -> list[str]:
    return [f"{a.dimension}: {a.value}" for a in attributes]


def a_command(action: Action = Action.PIN, text: str = "genre: noir", **more: Any) -> SkillCommand:
    fields = {"event_id": a_name("command"), "occurred_at": NOW, "user_id": USER, "domain": DOMAIN, "actor": "ann"}
    dimension, _, value = text.partition(": ")
    needed: dict[Action, dict[str, Any]] = {
        Action.ADD: {"line": SkillLineInput(dimension=dimension[:40], value=(value or text)[:120])},
        Action.REWORD: {"value": "film noir"},
        Action.SET_TIER: {"tier": Tier.HIGH},
        Action.ROLL_BACK: {"to_version": 0, "lines": ()},
        Action.IMPORT: {"lines": ()},
    }
    about = {} if action in (Action.ADD, Action.FREEZE, Action.UNFREEZE, Action.ROLL_BACK, Action.IMPORT) else _id(text)
    named = {"attribute_id": about} if about else {}
    return SkillCommand(**{**fields, **named, **needed.get(action, {}), **more}, action=action)


def a_position(offset: int = 0, topic: str = "sager.contrasts", partition: int = 0, timestamp_ms: int = 0) -> Position:
    return Position(topic=topic, partition=partition, offset=offset, timestamp_ms=timestamp_ms)


def an_interaction(item: Candidate | None = None, **more: Any) -> Interaction:
    fields = {"event_id": a_name("interaction"), "occurred_at": NOW, "user_id": USER, "domain": DOMAIN, **more}
    return Interaction(**fields, item=item or a_candidate())


def a_rank_request(*items: str, **more: Any) -> RankRequest:
    fields = {"event_id": a_name("request"), "occurred_at": NOW, "user_id": USER, "domain": DOMAIN, **more}
    candidates = tuple(a_candidate(item, genre=item) for item in items or ("i1", "i2", "i3"))
    return RankRequest(**fields, request_id=fields["event_id"], candidates=candidates)


def a_ranking(ranking_id: str = "r1", items: Sequence[str] = ("i1", "i2", "i3"), **more: Any) -> Ranking:
    """A ranking of these items; each has the fact `genre: <its id>` for `read_item`."""
    fields = {"event_id": f"ranking-{ranking_id}", "occurred_at": NOW, "user_id": USER, "domain": DOMAIN, **more}
    return Ranking(**fields, ranking_id=ranking_id, candidates=tuple(a_candidate(i, genre=i) for i in items))


def a_selection(ranking_id: str = "r1", item_id: str | None = "i2", **more: Any) -> Selection:
    fields = {"event_id": a_name("selection"), "occurred_at": a_time(1), "user_id": USER, **more}
    return Selection(**fields, ranking_id=ranking_id, item_id=item_id)


def open_rankings(**more: Any) -> OpenRankings:
    return OpenRankings(user_id=USER, slot=0, **more)


def render(skill: PolicySkill) -> str:
    """The document whose length `operators.learning.document.document_length` computes: strongest lines first."""
    parts: list[str] = []
    for kind, heading in SECTIONS.items():
        lines = [a for a in skill.attributes if a.kind is kind and a.tier]
        lines.sort(key=lambda a: (-a.tier, -a.confirmed_at, -a.support, a.attribute_id))
        if lines:
            parts.append(f"## {heading}\n" + "\n".join(format_line(a) for a in lines))
    if skill.strategy.must_include:
        parts.append(_strategy_lines(skill.strategy))
    return "\n".join(parts)


def words(text: str) -> int:
    """A tokenizer that counts words, for tests that do not depend on o200k."""
    return len(text.split())


LATER = NOW + timedelta(days=30)


def a_line(value: str, **kept: Any) -> CardLine:
    stance = kept.pop("stance", Stance.PREFERS)
    days = kept.pop("days", 0)
    return CardLine(
        line_id=f"{stance.value}:stated:{value.replace(' ', '-')}",
        stance=stance,
        value=value,
        version=1,
        **{"weight": 1024, "since": NOW, "confirmed_at": NOW + timedelta(days=days), **kept},
    )


def a_card(*lines: CardLine, **kept: Any) -> Card:
    return Card(event_id="c", occurred_at=NOW, user_id="ann", version=1, lines=lines, **kept)


GENRES = ("Drama", "Action", "Comedy", "Horror", "Western", "Animation")


def film(number: int) -> dict[str, Any]:
    """A made-up film, as an app would send it."""
    return {
        "item_id": f"film-{number}",
        "title": f"Film {number} ({1970 + number % 50})",
        "metadata": {
            "genres": [GENRES[number % 6], GENRES[(number // 6) % 6]],
            "director": f"Dana Director{number % 7}",
            "year": 1970 + number % 50,
        },
    }


def slate(seed: int, size: int = 10, of: int = 120) -> list[dict[str, Any]]:
    """Distinct made-up films, the same for the same seed."""
    return [film(number) for number in random.Random(seed).sample(range(of), size)]
