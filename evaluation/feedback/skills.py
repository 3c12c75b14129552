"""The product as a learner: the steps of the worker's agents, in this process and without any model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from evaluation.feedback.learners import EXPLORES, Offer
from evaluation.feedback.person import Kind, Reply, in_words
from evaluation.feedback.scenarios import Scenario
from operators.attributes import fact_ids
from operators.contrast import contrast_id, reverse_rank
from operators.evolve import CountsReasoner
from operators.fit.known import Known
from operators.retrieve import Retrieved
from operators.stated import live, statement_id
from operators.statinit.parsers import facts_of, parser_for
from operators.steps import Evolve, Start, State, learn
from operators.steps import rank as ranking
from operators.understand import understand
from schemas import (
    Abstention,
    Candidate,
    Contrast,
    Correction,
    Directive,
    Fit,
    ItemFacts,
    PolicySkill,
    Question,
    Stance,
    derived_id,
)
from schemas.fields import Domain, UserId
from streams.language import RULES
from streams.privacy import DEFAULT
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
BETWEEN = timedelta(hours=1)
"""Between two events; what happens earlier or later makes no difference but for scopes and ageing."""


class Replies(StrEnum):
    """How replies arrive: as words alone, or as the fields of a form."""

    TEXT = "text"
    STRUCTURED = "structured"


@dataclass(frozen=True, slots=True)
class Directed:
    """One avoidance that the person said, and what the very next ranking made of it.

    Attributes:
        is_last: every candidate with what they do not want stands below every one that nothing speaks against.
        is_named: the ranking names the statement.
    """

    is_last: bool
    is_named: bool


class Skills:
    """Learns as the worker does.

    Args:
        replies: how the person's replies arrive.
    """

    def __init__(self, replies: Replies = Replies.STRUCTURED) -> None:
        self.replies = replies
        self.skills: dict[tuple[str, str], PolicySkill] = {}
        self.outcomes: Counter[str] = Counter()
        self.directed: list[Directed] = []
        self._evolve, self._rank, self._start = (
            Evolve(privacy=PRIVACY, vouching=VOUCHING),
            ranking.Rank(privacy=PRIVACY, vouching=VOUCHING),
            Start(privacy=PRIVACY),
        )
        self._facts: dict[str, ItemFacts] = {}
        self._events = 0

    async def offer(self, scenario: Scenario, *, explores: bool, asks: bool = False) -> Offer:
        """The ranking's first candidate, unless the ranking says that better nothing is shown.

        While it explores, the host shows something unless everything was refused by word, and of candidates that are
        as probable the one whose unknown facts the fewest others have: what all have it learns from any of them.
        """
        skill, items = self.skill(scenario), self.facts(scenario.items)
        heard = self._rank.heard(skill, items, self._now, asks=asks)
        order = self._rank.order(items, self._rank.lines(skill), "", Retrieved(), scenario.key, heard=heard)
        fit = heard.told(items, order)
        if not explores:
            return Offer(order[0] if fit is None or fit.suits else None, order, fit)
        action = self._most_telling(scenario, order, fit) if fit is None or fit.chances[0] > EXPLORES else None
        return Offer(action, order, fit)

    def _most_telling(self, scenario: Scenario, order: Sequence[str], fit: Fit | None) -> str:
        skill, by_id = self.skill(scenario), {str(item.item_id): item for item in self.facts(scenario.items)}
        known = Known.of(skill, live(skill, self._now))
        having = Counter(name for item in by_id.values() for name in dict.fromkeys(fact_ids(item.facts)))
        tied = [name for place, name in enumerate(order) if fit is None or fit.chances[place] == fit.chances[0]]
        return min(tied, key=lambda name: sum(having[each] for each in known.missing(by_id[name])))

    async def hear(self, scenario: Scenario, offer: Offer, reply: Reply) -> None:
        """Whoever takes what is offered chooses; whoever agrees to nothing takes none; else they correct."""
        match reply.kind:
            case Kind.ACCEPTED:
                await self._choose(scenario, offer, str(reply.item_id))
            case Kind.CONFIRMED_NONE:
                self._abstain(scenario, offer)
            case _:
                await self._correct(scenario, self.correction(scenario, reply))
                await self._check(scenario, reply.says)

    async def told(self, scenario: Scenario, question: Question, says: tuple[Directive, ...]) -> None:
        """The answer is a correction."""
        reply = Reply(Kind.REJECTED, in_words(says), says=says)
        await self._correct(scenario, replace_answer(self.correction(scenario, reply), question))
        await self._check(scenario, says)

    async def say(self, scenario: Scenario, text: str) -> PolicySkill:
        """What the person says in passing; the skill afterwards."""
        await self._correct(scenario, self.correction(scenario, Reply(Kind.REJECTED, text), Replies.TEXT))
        return self.skill(scenario)

    def correction(self, scenario: Scenario, reply: Reply, replies: Replies | None = None) -> Correction:
        """The event that tells of a reply."""
        return Correction(
            event_id=self._event_id("correction"),
            occurred_at=self._now,
            user_id=UserId(scenario.user_id),
            domain=Domain(scenario.domain),
            **said_of(scenario, reply, replies or self.replies),
        )

    def facts(self, items: Sequence[Candidate]) -> list[ItemFacts]:
        """What the generic parser finds in them, without what is private."""
        for item in items:
            if item.item_id not in self._facts:
                found = facts_of(item, parser_for("", {}))
                self._facts[item.item_id] = DEFAULT.item(found, "")[0]
        return [self._facts[item.item_id] for item in items]

    @property
    def _now(self) -> datetime:
        return BEGINNING + self._events * BETWEEN

    def _event_id(self, what: str) -> str:
        self._events += 1
        return derived_id("feedback", what, str(self._events))

    def skill(self, scenario: Scenario) -> PolicySkill:
        """The skill of the scenario's person, in its domain."""
        if scenario.person not in self.skills:
            first = Contrast.model_construct(event_id=derived_id("seed", *scenario.person), occurred_at=BEGINNING)  # type: ignore[call-arg]
            self.skills[scenario.person] = self._start.skill(*scenario.person, first, None)
        return self.skills[scenario.person]

    async def _choose(self, scenario: Scenario, offer: Offer, item_id: str) -> None:
        by_id: dict[str, ItemFacts] = {item.item_id: item for item in self.facts(scenario.items)}
        ranking_id = self._event_id("ranking")
        contrast = Contrast(
            event_id=contrast_id(scenario.user_id, ranking_id),
            occurred_at=self._now,
            user_id=UserId(scenario.user_id),
            domain=Domain(scenario.domain),
            ranking_id=ranking_id,
            chosen=by_id[item_id],
            chosen_rank=offer.order.index(item_id) + 1,
            unchosen=reverse_rank([by_id[name] for name in offer.order], item_id),
            by_sager=True,
        )
        state = State(self.skill(scenario))
        effects = await learn(self._evolve, CountsReasoner().reason, state, contrast)
        self._keep(scenario, effects.outcome, effects.skill)

    def _abstain(self, scenario: Scenario, offer: Offer) -> None:
        by_id: dict[str, ItemFacts] = {item.item_id: item for item in self.facts(scenario.items)}
        ranking_id = self._event_id("ranking")
        abstention = Abstention(
            event_id=derived_id("abstention", scenario.user_id, ranking_id),
            occurred_at=self._now,
            user_id=UserId(scenario.user_id),
            domain=Domain(scenario.domain),
            ranking_id=ranking_id,
            shown=tuple(by_id[name] for name in offer.order),
        )
        effects = self._evolve.abstain(State(self.skill(scenario)), abstention)
        self._keep(scenario, effects.outcome, effects.skill)

    async def _correct(self, scenario: Scenario, correction: Correction) -> None:
        items, skill = self.facts(scenario.items), self.skill(scenario)
        understood = understand(correction, items, skill, privacy=PRIVACY, reader=RULES)
        effects = self._evolve.correct(State(skill), correction, items, understood)
        self._keep(scenario, effects.outcome, effects.skill)

    async def _check(self, scenario: Scenario, says: Sequence[Directive]) -> None:
        """Ranks the same items again at once, and sees whether each avoidance is honoured."""
        avoided = [said for said in says if said.stance is Stance.AVOIDS and said.dimension is not None]
        if not avoided:
            return
        next_offer = await self.offer(scenario, explores=False)
        having = {str(item.item_id): fact_ids(item.facts) for item in self.facts(scenario.items)}
        fit = next_offer.fit
        against: set[str] = set(fit.against) if fit is not None else set()
        for said in avoided:
            alone = Candidate(item_id=f"{said.dimension}={said.value}", metadata={str(said.dimension): said.value})
            # Of what may not be learned there is no fact, and nothing to honour.
            for name in fact_ids(self.facts([alone])[0].facts):
                judged = [item_id for item_id in next_offer.order if name in having[item_id] or item_id not in against]
                marks = [name in having[item_id] for item_id in judged]
                is_named = fit is not None and statement_id(Stance.AVOIDS, name) in fit.honoured
                self.directed.append(Directed(marks == sorted(marks), is_named))

    def _keep(self, scenario: Scenario, outcome: str, skill: PolicySkill) -> None:
        self.outcomes[outcome] += 1
        self.skills[scenario.person] = skill


def replace_answer(correction: Correction, question: Question) -> Correction:
    """The correction as the answer to a question."""
    return correction.model_copy(update={"answers": question.question_id})


def said_of(scenario: Scenario, reply: Reply, replies: Replies) -> dict[str, Any]:
    """What a correction says of a reply: the person's words about what they see, or the fields of a form."""
    if replies is Replies.TEXT or not (reply.says or reply.suits):
        return {"text": reply.text, "items": scenario.items}
    about = reply.item_id if reply.kind is Kind.REJECTED else None
    return {"items": scenario.items, "item_id": about, "says": reply.says, "suits": reply.suits}
