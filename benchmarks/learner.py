"""The worker's steps on a choice, without Kafka and graph."""

from collections.abc import MutableMapping
from functools import partial
from typing import NamedTuple, TypeVar

from operators.contrast import ContrastEffects, RingLimits, join_ranking, join_selection, slot_of
from operators.evolve.proposals import CountsReasoner
from operators.language.privacy import read_item
from operators.statinit import parser_for
from operators.steps.evolve import EvolveState, EvolveStep
from operators.steps.prior import SkillStart
from schemas import Candidate, ItemFacts, Model, OpenRankings, Position, SlimSkill, decode, encode
from schemas.diffs import PolicySkill, SkillDiff
from schemas.events import Contrast, Ranking, Selection
from schemas.topics import compound_key, diff_key
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

INPUTS = (Ranking.TOPIC, Selection.TOPIC)
OUTPUTS = (Contrast.TOPIC, SkillDiff.TOPIC, SlimSkill.TOPIC)
SLIM_TOKENS = 30

_Kept = TypeVar("_Kept", bound=Model)


class Output(NamedTuple):
    """A record to be produced."""

    base: str
    key: bytes
    value: bytes


class Learner:
    """Makes contrasts, diffs and slim skills of rankings and selections."""

    def __init__(self) -> None:
        self._evolve = EvolveStep(slim_tokens=SLIM_TOKENS, chain_key=b"", privacy=PRIVACY, gate=OUTPUT_GATE)
        self._start, self._rules, self._limits = SkillStart(privacy=PRIVACY), CountsReasoner(), RingLimits()
        self._parsed: dict[str, tuple[Candidate, ItemFacts]] = {}

    def on_record(
        self, base: str, value: bytes, position: Position, state: MutableMapping[tuple[str, bytes], Model]
    ) -> list[Output]:
        """Return the records that an input causes, and update `state`."""
        if base == Ranking.TOPIC:
            ranking = decode(Ranking, value)
            opt_out = PRIVACY.opt_out(ranking.instruction)
            instruction = PRIVACY.redact(ranking.instruction, ranking.domain).text
            injected = PRIVACY.injected(ranking.injected, ranking.domain)
            kept = ranking.model_copy(update={"instruction": instruction, "injected": injected})
            key = compound_key(ranking.user_id, slot_of(ranking.ranking_id))
            parse = partial(self._facts_of, ranking.domain)
            step = join_ranking(self._rings(state, key), kept, parse, position, self._limits, opt_out)
        else:
            selection = decode(Selection, value)
            key = compound_key(selection.user_id, slot_of(selection.ranking_id))
            step = join_selection(self._rings(state, key), selection, position, self._limits)
        return self._settle(key, step, state) if step.is_new else []

    def _settle(
        self, key: bytes, step: ContrastEffects, state: MutableMapping[tuple[str, bytes], Model]
    ) -> list[Output]:
        state["open-rankings", key] = step.state
        if step.contrast is None:
            return []
        contrast = step.contrast
        made = [Output(Contrast.TOPIC, contrast.user_id.encode(), encode(contrast))]
        return made + self._learn(contrast, state)

    def _learn(self, contrast: Contrast, state: MutableMapping[tuple[str, bytes], Model]) -> list[Output]:
        user_id, domain = contrast.user_id, contrast.domain
        key = compound_key(user_id, domain)
        skill = _of(PolicySkill, state.get(("skills", key))) or self._start.skill(user_id, domain, contrast, None)
        known = EvolveState(skill)
        begun = self._evolve.prepare(known, contrast)
        if begun.contrast is None or begun.outcome is not None:
            return []
        effects = self._evolve.finish(known, begun.contrast, self._rules.propose(begun.contrast, skill))
        state["skills", key] = effects.skill
        made, version = list[Output](), effects.version
        if version is not None and version.diff is not None:
            made.append(Output(SkillDiff.TOPIC, diff_key(user_id, domain, version.diff.version), encode(version.diff)))
        if version is not None and version.slim is not None:
            made.append(Output(SlimSkill.TOPIC, key, encode(version.slim)))
        return made

    def _rings(self, state: MutableMapping[tuple[str, bytes], Model], key: bytes) -> OpenRankings | None:
        return _of(OpenRankings, state.get(("open-rankings", key)))

    def _facts_of(self, domain: str, candidate: Candidate) -> ItemFacts:
        """The facts of an item, cached as in the worker."""
        known = self._parsed.get(candidate.item_id)
        if known is not None and known[0] == candidate:
            return known[1]
        facts = read_item(candidate, domain, parser_for(domain, {}), PRIVACY).facts
        self._parsed[candidate.item_id] = (candidate, facts)
        return facts


def _of(model: type[_Kept], value: Model | None) -> _Kept | None:
    return value if isinstance(value, model) else None
