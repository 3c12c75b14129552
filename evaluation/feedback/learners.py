"""Arms of the feedback evaluation: the product and a yardstick."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from evaluation.feedback.person import Reply, ReplyKind
from evaluation.feedback.scenarios import Scenario
from evaluation.simulation import Turn
from operators.admission import contrast_id
from operators.attributes import fact_ids
from operators.contrast import reverse_rank
from operators.evolve.proposals import CountsReasoner
from operators.fit.acceptance import KnownFacts
from operators.graph.facets import Retrieved
from operators.language.corrections import understand
from operators.stated import live_statements, statement_id
from operators.statinit import facts_of, parser_for
from operators.steps import rank as ranking
from operators.steps.evolve import EvolveState, EvolveStep, learn
from operators.steps.prior import SkillStart
from schemas import Candidate, Correction, Directive, Domain, ItemFacts, PolicySkill, Stance, UserId, derived_id
from schemas.events import Abstention, ClarifyingQuestion, Contrast, Fit
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY
from streams.policies import DEFAULT_PRIVACY as PRIVACY

# The chance above which an item is offered: low while learning, since an offer of nothing brings little feedback.
EXPLORES, EXPLOITS = 0.1, 0.6
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
# Between two events; times make no difference but for scopes and ageing.
BETWEEN = timedelta(hours=1)


class ReplyForm(StrEnum):
    """The form of replies: words alone, or the fields of a form."""

    TEXT = "text"
    STRUCTURED = "structured"


@dataclass(frozen=True, slots=True)
class Offer:
    """An arm's offer (None: no item), all ids, and their fit."""

    action: str | None
    order: tuple[str, ...]
    fit: Fit | None = None

    @property
    def question(self) -> ClarifyingQuestion | None:
        """The question that the arm would ask first."""
        return None if self.fit is None else self.fit.question


class StructuredLearner:
    """Remembers taken and refused features, and nothing else."""

    def __init__(self) -> None:
        self._liked: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        self._refused: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        self._wanted: Counter[tuple[tuple[str, str], tuple[str, str]]] = Counter()

    async def answer(self, turn: Turn[Scenario]) -> Offer:
        """Offer the item with the best chance; unknown features count half."""
        person, scored = turn.shown.person, []
        for item in turn.shown.items:
            chance, wanted = 1.0, 0
            for feature in _features(item):
                chance *= 0.0 if feature in self._refused[person] else 1.0 if feature in self._liked[person] else 0.5
                wanted += self._wanted[person, feature]
            scored.append((chance, wanted, item.item_id))
        scored.sort(key=lambda each: (-each[0], -each[1]))
        action = scored[0][2] if scored[0][0] > (EXPLORES if turn.learns else EXPLOITS) else None
        return Offer(action, tuple(item_id for _, _, item_id in scored))

    async def learn(self, turn: Turn[Scenario], answer: Offer, reply: Reply) -> None:
        """Remember the features of suitable items, and the directives about features."""
        del answer
        person = turn.shown.person
        for item_id in {
            *reply.suits,
            *((reply.item_id,) if reply.kind is ReplyKind.ACCEPTED and reply.item_id else ()),
        }:
            features = _features(turn.shown.item(item_id))
            self._liked[person] |= features
            self._refused[person] -= features
        for directive in reply.says:
            if directive.dimension is None or directive.value is None:
                continue
            feature = (directive.dimension, directive.value)
            if directive.stance == "avoids":
                self._refused[person].add(feature)
                self._liked[person].discard(feature)
            else:
                self._wanted[person, feature] += 1


def _features(item: Candidate) -> set[tuple[str, str]]:
    return {(name, str(value)) for name, value in item.metadata.items()}


class SkillLearner:
    """The product: the worker's steps in this process, without a model.

    `directed` has, for each stated avoidance, whether the next ranking puts every candidate with it below every one
    that no statement avoids, and names the statement.
    """

    def __init__(self, replies: ReplyForm = ReplyForm.STRUCTURED) -> None:
        self.replies = replies
        self.skills: dict[tuple[str, str], PolicySkill] = {}
        self.outcomes: Counter[str] = Counter()
        self.directed: list[bool] = []
        self._evolve, self._rank, self._start = (
            EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE),
            ranking.RankStep(privacy=PRIVACY, gate=OUTPUT_GATE),
            SkillStart(privacy=PRIVACY),
        )
        self._facts: dict[str, ItemFacts] = {}
        self._events = 0

    async def answer(self, turn: Turn[Scenario]) -> Offer:
        """Offer the first candidate, unless the fit suggests none.

        While it learns, the host offers something unless everything was refused by word, and among equally probable
        candidates the one whose unknown facts the fewest others have: facts of all are learned from any of them.
        """
        order, fit = self._ranked(turn.shown, asks=turn.asks)
        if not turn.learns:
            return Offer(order[0] if fit is None or fit.suits else None, order, fit)
        is_open = fit is None or fit.chances[0] > EXPLORES
        return Offer(self._most_informative(turn.shown, order, fit) if is_open else None, order, fit)

    async def learn(self, turn: Turn[Scenario], answer: Offer, reply: Reply) -> None:
        """Learn a choice, an abstention or a correction."""
        if reply.kind is ReplyKind.ACCEPTED:
            await self._choose(turn.shown, answer, str(reply.item_id))
        elif reply.kind is ReplyKind.CONFIRMED_NONE:
            self._abstain(turn.shown, answer)
        else:
            self._correct(turn.shown, reply, self.replies)
            self._check(turn.shown, reply.says)

    def say(self, scenario: Scenario, text: str) -> PolicySkill:
        """The skill after a sentence in passing."""
        self._correct(scenario, Reply(ReplyKind.REJECTED, text), ReplyForm.TEXT)
        return self.skill(scenario)

    def skill(self, scenario: Scenario) -> PolicySkill:
        """The skill of the scenario's person, in its domain."""
        if scenario.person not in self.skills:
            first = Contrast.model_construct(event_id=derived_id("seed", *scenario.person), occurred_at=BEGINNING)  # type: ignore[call-arg]
            self.skills[scenario.person] = self._start.skill(*scenario.person, first, None)
        return self.skills[scenario.person]

    def facts(self, items: Sequence[Candidate]) -> list[ItemFacts]:
        """The facts that the generic parser finds, without private ones."""
        for item in items:
            if item.item_id not in self._facts:
                found = facts_of(item, parser_for("", {}))
                self._facts[item.item_id] = DEFAULT_PRIVACY.item(found, "")[0]
        return [self._facts[item.item_id] for item in items]

    def _ranked(self, scenario: Scenario, *, asks: bool = False) -> tuple[tuple[str, ...], Fit | None]:
        skill, items = self.skill(scenario), self.facts(scenario.items)
        heard = self._rank.statements_for(skill, items, self._now, asks=asks)
        spoken = self._rank.features_of(items, self._rank.lines(skill), Retrieved())
        order = self._rank.order(items, spoken, "", scenario.key, heard=heard).order
        return order, heard.fit_in_order(items, order)

    def _most_informative(self, scenario: Scenario, order: Sequence[str], fit: Fit | None) -> str:
        skill, by_id = self.skill(scenario), {str(item.item_id): item for item in self.facts(scenario.items)}
        known = KnownFacts.of(skill, live_statements(skill, self._now))
        having = Counter(name for item in by_id.values() for name in dict.fromkeys(fact_ids(item.facts)))
        tied = [name for place, name in enumerate(order) if fit is None or fit.chances[place] == fit.chances[0]]

        def unknown(name: str) -> int:
            return sum(having[each] for each in set(fact_ids(by_id[name].facts)) if known.is_unknown(each))

        return min(tied, key=unknown)

    async def _choose(self, scenario: Scenario, offer: Offer, item_id: str) -> None:
        by_id: dict[str, ItemFacts] = {item.item_id: item for item in self.facts(scenario.items)}
        ranking_id = self._event_id("ranking")
        contrast = Contrast(
            event_id=contrast_id(scenario.user_id, ranking_id),
            **self._about(scenario),
            ranking_id=ranking_id,
            chosen=by_id[item_id],
            chosen_rank=offer.order.index(item_id) + 1,
            unchosen=reverse_rank([by_id[name] for name in offer.order], item_id),
            by_sager=True,
        )
        effects = await learn(self._evolve, CountsReasoner().reason, EvolveState(self.skill(scenario)), contrast)
        self._keep(scenario, effects.outcome, effects.skill)

    def _abstain(self, scenario: Scenario, offer: Offer) -> None:
        by_id: dict[str, ItemFacts] = {item.item_id: item for item in self.facts(scenario.items)}
        ranking_id = self._event_id("ranking")
        abstention = Abstention(
            event_id=derived_id("abstention", scenario.user_id, ranking_id),
            **self._about(scenario),
            ranking_id=ranking_id,
            shown=tuple(by_id[name] for name in offer.order),
        )
        effects = self._evolve.abstain(EvolveState(self.skill(scenario)), abstention)
        self._keep(scenario, effects.outcome, effects.skill)

    def _correct(self, scenario: Scenario, reply: Reply, replies: ReplyForm) -> None:
        items, skill = self.facts(scenario.items), self.skill(scenario)
        content: dict[str, Any] = {"text": reply.text}
        if replies is ReplyForm.STRUCTURED and (reply.says or reply.suits):
            about = reply.item_id if reply.kind is ReplyKind.REJECTED else None
            content = {"item_id": about, "directives": reply.says, "acceptable": reply.suits}
        event_id = self._event_id("correction")
        correction = Correction(
            event_id=event_id, **self._about(scenario), items=scenario.items, answers=reply.answers, **content
        )
        effects = self._evolve.correct(
            EvolveState(skill), correction, items, understand(correction, items, skill, privacy=PRIVACY, reader=RULES)
        )
        self._keep(scenario, effects.outcome, effects.skill)

    def _check(self, scenario: Scenario, says: Sequence[Directive]) -> None:
        """Rank the same items again, and check each avoidance."""
        avoided = [each for each in says if each.stance is Stance.AVOIDS and each.dimension is not None]
        if not avoided:
            return
        order, fit = self._ranked(scenario)
        having = {str(item.item_id): fact_ids(item.facts) for item in self.facts(scenario.items)}
        against: set[str] = set(fit.against) if fit is not None else set()
        for directive in avoided:
            alone = Candidate(
                item_id=f"{directive.dimension}={directive.value}", metadata={str(directive.dimension): directive.value}
            )
            # A value that may not be learned has no fact, and nothing to honour.
            for name in fact_ids(self.facts([alone])[0].facts):
                marks = [
                    name in having[item_id] for item_id in order if name in having[item_id] or item_id not in against
                ]
                is_named = fit is not None and statement_id(Stance.AVOIDS, name) in fit.followed
                self.directed.append(marks == sorted(marks) and is_named)

    def _keep(self, scenario: Scenario, outcome: str, skill: PolicySkill) -> None:
        self.outcomes[outcome] += 1
        self.skills[scenario.person] = skill

    def _about(self, scenario: Scenario) -> dict[str, Any]:
        user_id, domain = UserId(scenario.user_id), Domain(scenario.domain)
        return {"occurred_at": self._now, "user_id": user_id, "domain": domain}

    @property
    def _now(self) -> datetime:
        return BEGINNING + self._events * BETWEEN

    def _event_id(self, kind: str) -> str:
        self._events += 1
        return derived_id("feedback", kind, str(self._events))


class InPassingLearner:
    """Wraps the product: the person also mentions another's taste, in passing.

    `learned` counts lines and statements that came or changed by the `said` sentences.
    """

    SENTENCES = (
        "My daughter likes {value}.",
        "My wife doesn't want {value}.",
        "My boss prefers {value}.",
        "It's for a friend of mine who hates {value}.",
        "Mein Sohn mag {value}.",
        "Meine Mutter will kein {value}.",
    )

    def __init__(self, skills: SkillLearner) -> None:
        self._skills = skills
        self._met: set[str] = set()
        self.said = self.learned = 0
        self.learn = skills.learn

    async def answer(self, turn: Turn[Scenario]) -> Offer:
        """Mention another's taste, then let the product answer."""
        if turn.learns and turn.shown.key not in self._met:
            self._met.add(turn.shown.key)
            self._mention(turn.shown)
        return await self._skills.answer(turn)

    def _mention(self, scenario: Scenario) -> None:
        item = scenario.items[self.said % len(scenario.items)]
        values = [str(value) for value in item.metadata.values()]
        if not values:
            return
        text = self.SENTENCES[self.said % len(self.SENTENCES)].format(value=values[self.said % len(values)])
        before, after = self._skills.skill(scenario), self._skills.say(scenario, text)
        self.said += 1
        self.learned += sum(line not in before.attributes for line in after.attributes)
        self.learned += sum(each not in before.stated for each in after.stated)
