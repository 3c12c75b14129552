"""Steps of the agent `rank` without a model (paper 2.2 to 2.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from operators.attributes import RankedLine, ranked_lines
from operators.fit.model import fit_list
from operators.graph.facets import Retrieved, retrieve
from operators.graph.neighbours import Neighbourhood
from operators.language.output_policy import OutputGate
from operators.language.privacy import Privacy
from operators.language.words import keywords, relevant_to
from operators.learning.choice_model import ListFeatures
from operators.learning.none_taken import with_none
from operators.rank.deterministic import NO_CONSTRAINTS, Constraints, facet_weights, instruction_match, rank
from operators.slim.rules import Shares, slim
from operators.slim.statements import with_session
from operators.stated import (
    is_doubtful,
    lasting_statements,
    live_session,
    live_statements,
    remaining_share,
    without_avoided,
)
from operators.weights import DEFAULT_WEIGHTS, RankWeights
from schemas import Candidate, Facet, Features, Fit, ItemFacts, Memory, PolicySkill, SlimSkill, derived_id
from schemas.diffs import NumberSums
from schemas.events import Injected, RankedBy, Ranking, RankRequest


@dataclass(frozen=True)
class RankState:
    """The state of a user in a domain, with their neighbours."""

    skill: PolicySkill
    memory: Memory | None = None
    neighbourhood: Neighbourhood | None = None
    shares: Shares = None
    popularity: Mapping[str, int] | None = None


@dataclass(frozen=True)
class ListStatements:
    """The person's statements about one list, and its candidates' fit."""

    fit: Fit | None = None
    said: Constraints = NO_CONSTRAINTS

    def fit_in_order(self, items: Sequence[ItemFacts], order: Sequence[str]) -> Fit | None:
        """Return the fit in the ranking's order."""
        if self.fit is None:
            return None
        chances: dict[str, float] = dict(zip((item.item_id for item in items), self.fit.chances, strict=True))
        return self.fit.model_copy(update={"chances": tuple(chances[name] for name in order)})

    def constrain(self, items: Sequence[ItemFacts], order: Sequence[str], instruction: str) -> tuple[str, ...]:
        """Sort a model's order by the constraints' tiers."""
        asked = keywords(instruction)
        wanted = {str(item.item_id): instruction_match(item, asked) for item in items}
        return self.said.apply(order, wanted.__getitem__)


NO_STATEMENTS = ListStatements()


# At 1, lists of MovieLens drawn by popularity lose .0125 of Hit@1; at 0.5 no measured list loses significantly.
SESSION_WEIGHT = 0.5


@dataclass(frozen=True)
class WeighedOrder:
    """An order of items, with the features of each in that order.

    `features` is None where the words of the request or of the person decide: then a choice teaches no weights.
    """

    order: tuple[str, ...]
    features: Features | None = None


@dataclass(frozen=True)
class RankStep:
    """How rankings are made without a model.

    The full skill ranks: too many words dilute a model's attention (paper 2.3, Cognitive Injection Boundary), but not a
    sum's. With `task_slim` likes that the instruction asks for come first in the slim skill. The community
    counts if it `retrieves`. The choices of a session count `session_weight` times beside the long term, which has them
    already; this weight falls to 0 with the silence that ends the session.
    """

    uses_skill: bool = True
    slim_tokens: int = 30
    task_slim: bool = True
    retrieves: bool = True
    session_weight: float = SESSION_WEIGHT
    gate: OutputGate = field(kw_only=True)
    privacy: Privacy = field(kw_only=True)

    def retrieve(self, state: RankState, rules: str, now: datetime) -> Retrieved:
        """Return the community's context; `rules` names the pruning domain."""
        if not self.retrieves:
            return Retrieved()
        return retrieve(state.memory, state.neighbourhood, rules, now, popularity=state.popularity, gate=self.gate)

    def extract(self, skill: PolicySkill, instruction: str = "", shares: Shares = None) -> SlimSkill:
        """Return the slim skill for a task."""
        relevant = relevant_to(instruction if self.task_slim else "", skill)
        return slim(skill, self.slim_tokens, shares, relevant, gate=self.gate)

    def lines(self, skill: PolicySkill) -> Sequence[RankedLine]:
        """Return the lines of a skill that rank, outside of any session."""
        if not self.uses_skill:
            return ()
        return without_avoided(ranked_lines(skill), lasting_statements(skill.stated))

    def statements_for(
        self,
        skill: PolicySkill,
        items: Sequence[ItemFacts],
        now: datetime,
        session_id: str | None = None,
        *,
        asks: bool = False,
    ) -> ListStatements:
        """Return the statements about these candidates, and their fit."""
        statements = live_statements(skill, now, session_id)
        fit = fit_list(items, skill, statements, privacy=self.privacy, asks=asks)
        sure = [said for said in statements if not is_doubtful(skill, said)]
        return ListStatements(fit, Constraints.of(items, sure, fit))

    def session_lines(
        self, skill: PolicySkill, lines: Sequence[RankedLine], now: datetime, session_id: str | None
    ) -> Sequence[RankedLine]:
        """Return the lines that rank in this session, without avoided ones."""
        held = live_session(skill, session_id, now)
        weight = 0.0 if held is None else self.session_weight * remaining_share(held, now)
        if held is not None and weight and self.uses_skill:
            lines = with_session(tuple(lines), held.lines, skill.contrasts, weight)
        return without_avoided(lines, live_statements(skill, now, session_id))

    def features_of(
        self,
        items: Sequence[ItemFacts],
        lines: Sequence[RankedLine],
        retrieved: Retrieved,
        popularity: Mapping[str, int] | None = None,
        weights: RankWeights = DEFAULT_WEIGHTS,
        numbers: NumberSums | None = None,
    ) -> ListFeatures:
        """Return the features of each candidate; `numbers` is the skill's evidence on numbers."""
        sums = numbers if self.uses_skill else None
        if len(items) == 1:  # the community compares items, and here is one
            return ListFeatures.of(with_none(items[0], weights.usual), lines, weights=weights, sums=sums)
        many = popularity if self.retrieves else None
        facets = facet_weights(retrieved.facets)
        return ListFeatures.of(items, lines, facets, retrieved.companions, many, weights=weights, sums=sums)

    @staticmethod
    def order(
        items: Sequence[ItemFacts],
        spoken: ListFeatures,
        instruction: str,
        seed: str,
        weights: RankWeights = DEFAULT_WEIGHTS,
        heard: ListStatements = NO_STATEMENTS,
    ) -> WeighedOrder:
        """Return the order by a domain's weights, with its features."""
        if len(items) == 1:
            features = None if heard.said.decides or instruction else spoken.to_event(range(2), weights)
            return WeighedOrder((items[0].item_id,), features)
        ranked = rank(items, spoken, instruction, seed, weights, heard.said)
        order = tuple(item.item_id for item, _ in ranked)
        if heard.said.decides or len({score.instruction for _, score in ranked}) > 1:
            return WeighedOrder(order)
        place = {item.item_id: number for number, item in enumerate(items)}
        return WeighedOrder(order, spoken.to_event([place[name] for name in order], weights))


def answer(request: RankRequest, order: Sequence[str], injected: Injected) -> Ranking:
    """Return the ranking that answers a request, with a derived id."""
    by_id: dict[str, Candidate] = {candidate.item_id: candidate for candidate in request.candidates}
    return Ranking(
        event_id=derived_id("ranking", request.user_id, request.request_id),
        occurred_at=request.occurred_at,
        ranking_id=request.request_id,
        user_id=request.user_id,
        domain=request.domain,
        instruction=request.instruction,
        candidates=tuple(by_id[item_id] for item_id in order),
        session_id=request.session_id,
        ranked_by=RankedBy.SAGER,
        injected=injected.model_copy(update={"facets": tuple(map(_without_pseudonyms, injected.facets))}),
    )


def _without_pseudonyms(facet: Facet) -> Facet:
    # Apps read facets, and must not see other users.
    items = tuple(name for name in facet.supporting_neighbors if not name.startswith("user:"))
    return facet.model_copy(update={"supporting_neighbors": items})
