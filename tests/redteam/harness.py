"""A simulated user: their events run through the worker's real steps, without Kafka."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

from operators.attributes import from_fact
from operators.contrast import join_ranking, join_selection
from operators.evolve.llm import build_question as evolve_question
from operators.evolve.proposals import CountsReasoner, Proposal
from operators.global_skill import Population, global_skill
from operators.graph.items import GraphLimits
from operators.language.corrections import understand
from operators.language.output_policy import OutputGate
from operators.language.privacy import Privacy
from operators.learning.fold import initial_skill
from operators.rank.listwise import RankTask, render_prompt
from operators.slim.llm import slim_question
from operators.statinit import facts_of, generic
from operators.steps.evolve import EvolveEffects, EvolveState, EvolveStep
from operators.steps.prior import PriorState, PriorStep, SkillStart
from operators.steps.rank import RankState, RankStep
from schemas import TOPICS, Action, Correction, Memory, PolicySkill, Position, SkillCommand, SkillDiff, encode
from schemas.events import Contrast, Feedback, Injected, Interaction, Ranking, RankRequest, Selection
from schemas.items import Candidate, Fact, Item, ItemFacts
from schemas.skills import AttributeSource, SlimSkill, Tier
from streams.analytics.records import KafkaRecord, Put
from streams.analytics.rows import read
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# Twice the default, so that a value in a rare script is not left out for its length alone.
SLIM_TOKENS = 60
PROMPT_TOKENS = 3_000
NOTHING = Injected()
# Users with the same past, enough for a template of the domain.
CROWD = 6
OTHERS = (
    Candidate(item_id="noir", title="Night Train", metadata={"genre": ["noir", "crime"]}),
    Candidate(item_id="comedy", title="Two Left Feet", metadata={"genre": ["comedy"]}),
    Candidate(item_id="war", title="The Long March", metadata={"genre": ["war"]}),
)


@dataclass(frozen=True)
class Filters:
    """The filters between a user's events and skills, prompts and rows."""

    privacy: Privacy = PRIVACY
    gate: OutputGate = OUTPUT_GATE


FILTERS = Filters()


@dataclass
class Trace:
    """The text that a run leaves in records, rows and prompts.

    Attributes:
        privacy: the filter of rows.
        slims: slim skills by the way in which they were learned.
        prompts: prompts by name.
        kept: stored data: skills, diffs, rows, tables of the worker.
        refused: reasons of refused changes.
        learned: values of the final skill's lines.
        items: the parsed candidates.
        instruction: the redacted request.
        analysis: the stored part of a model's text.
        row: the item's title and description in DuckDB.
        opted_out: True if a request was read as a wish not to be learned from.
        outcome: the outcome of the last choice, correction or signal.
        diffs: the skill's log.
    """

    privacy: Privacy = PRIVACY
    slims: dict[str, SlimSkill] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    learned: set[str] = field(default_factory=set)
    items: list[ItemFacts] = field(default_factory=list)
    instruction: str = ""
    analysis: str = ""
    row: tuple[str, str] = ("", "")
    opted_out: bool = False
    outcome: str = ""
    diffs: list[SkillDiff] = field(default_factory=list)

    def keep(self, *values: Any) -> None:
        self.kept += [json.loads(encode(value)) for value in values if value is not None]

    def keep_rows(self, *events: Any) -> None:
        """Keep an event's rows, without an item's raw metadata, which are the catalogue's."""
        for event in events:
            topic = TOPICS[event.TOPIC]
            record = KafkaRecord(topic=topic, partition=0, offset=0, timestamp_ms=0, key=b"u", value=encode(event))
            put = read(record, self.privacy)
            assert isinstance(put, Put)
            rows = [row for _, rows in put.tables() for row in rows]
            self.kept += [{name: value for name, value in row.items() if name != "metadata"} for row in rows]
            if isinstance(event, Item):
                self.row = (put.row["title"], put.row["description"])

    def text(self) -> str:
        """Return everything that is stored or sent."""
        slims = [slim.text for slim in self.slims.values()]
        return json.dumps([self.kept, slims, *self.prompts.values()], ensure_ascii=False, default=str)


class SimulatedUser:
    """A user of one domain who starts with three tastes.

    Args:
        domain: the domain of all events.
        filters: the privacy filter and the output gate.
    """

    rules = CountsReasoner()
    _parsed: ClassVar[dict[tuple[bool, str, str], tuple[Candidate, ItemFacts]]] = {}

    def __init__(self, domain: str, filters: Filters = FILTERS) -> None:
        privacy, gate = filters.privacy, filters.gate
        self.domain, self.filters, self.privacy, self.trace, self._count = domain, filters, privacy, Trace(privacy), 0
        self.evolve = EvolveStep(privacy=privacy, slim_tokens=SLIM_TOKENS, graph=GraphLimits(), gate=gate)
        self.rank = RankStep(slim_tokens=SLIM_TOKENS, gate=gate, privacy=PRIVACY)
        self._prompt_options: dict[str, Any] = {"max_tokens": PROMPT_TOKENS, "gate": gate}
        self.event = {"user_id": "u", "domain": domain, "occurred_at": NOW}
        self.memory: Memory | None = None
        self.profile: Any = None
        self._last_choice: tuple[Contrast, PolicySkill] | None = None
        facts = (("genre", "noir", Tier.HIGH), ("genre", "drama", Tier.MEDIUM), ("genre", "comedy", Tier.LOW))
        seed = tuple(from_fact(Fact(dimension=d, value=v), tier, AttributeSource.PRIOR) for d, v, tier in facts)
        self.skill = initial_skill("u", domain, seed, self.command(Action.FREEZE))

    @property
    def state(self) -> EvolveState:
        return EvolveState(self.skill, memory=self.memory)

    @property
    def tiers(self) -> dict[str, Tier]:
        return {line.attribute_id: line.tier for line in self.skill.attributes}

    def command(self, action: Action, **arguments: Any) -> SkillCommand:
        return SkillCommand(event_id=f"c{self._next()}", actor="ann", action=action, **arguments, **self.event)

    def parse(self, candidate: Candidate) -> ItemFacts:
        """Parse an item once. The generic parser passes metadata on without a filter of its own."""
        key = (self.privacy.redactor is not None, self.domain, candidate.item_id)
        known = self._parsed.get(key)
        if known is None or known[0] != candidate:
            facts, _ = self.privacy.item(facts_of(candidate, generic.parse), self.domain)
            known = self._parsed[key] = (candidate, facts)
        return known[1]

    def choose(
        self, item: Candidate, instruction: str = "", injected: Injected = NOTHING, *, rows: bool = True
    ) -> Contrast | None:
        """Request a ranking with this item among others, and choose it."""
        trace, number = self.trace, self._next()
        candidates = (*OTHERS[:2], item, *OTHERS[2:])
        shown = {"instruction": instruction, "candidates": candidates, **self.event}
        request = RankRequest(event_id=f"q{number}", request_id=f"r{number}", **shown)
        ranking = Ranking(event_id=f"r{number}", ranking_id=f"r{number}", injected=injected, **shown)
        trace.instruction = self.privacy.redact(instruction, self.domain).text
        opt_out = self.privacy.opt_out(instruction)
        injected = PRIVACY.injected(injected, self.domain)
        stored = ranking.model_copy(update={"instruction": trace.instruction, "injected": injected})
        opened = join_ranking(None, stored, self.parse, self._position("rankings", number), wish=opt_out)
        choice = {"event_id": f"s{number}", "user_id": "u", "occurred_at": NOW, "item_id": item.item_id}
        selection = Selection(ranking_id=f"r{number}", **choice)
        joined = join_selection(opened.state, selection, self._position("selections", number))
        trace.opted_out, trace.outcome = opt_out is not None, joined.outcome.value
        trace.items = [self.parse(candidate) for candidate in candidates]
        if rows:
            trace.keep(opened.state, joined.state)
            trace.keep_rows(request, ranking)
        return joined.contrast

    def prepare(self, contrast: Contrast, *, rows: bool = True) -> Contrast:
        """Remember a choice, and return it as a reasoner gets it."""
        prepared = self.evolve.prepare(self.state, contrast, self._position("contrasts", self._next()), NOW)
        assert prepared.contrast is not None
        if prepared.remembered is not None:
            self.memory = prepared.remembered.memory
        self._last_choice = prepared.contrast, self.skill
        if rows:
            self.trace.keep(contrast)
            self.trace.keep_rows(contrast)
        return prepared.contrast

    def learn(self, contrast: Contrast, proposal: Proposal | None = None, *, rows: bool = True) -> None:
        """Apply a model's proposal on a prepared choice, or that of the rules."""
        proposal = proposal or self.rules.propose(contrast, self.skill)
        at = self._position("contrasts", self._count)
        self._apply(self.evolve.finish(self.state, contrast, proposal, at), rows=rows)

    def send_command(self, command: SkillCommand) -> None:
        self.trace.keep_rows(command)
        self._apply(self.evolve.command(self.state, command, self._position("skill-commands", self._next())))

    def correct(self, correction: Correction) -> None:
        self.trace.keep_rows(correction)
        opt_out = self.privacy.opt_out(correction.text)
        if opt_out is not None:
            self.trace.outcome = opt_out.value
            return
        stored = correction.model_copy(update={"text": self.privacy.redact(correction.text, self.domain).text})
        items = [self.parse(each) for each in correction.items]
        meaning = understand(stored, items, self.skill, privacy=self.privacy, reader=RULES)
        effects = self.evolve.correct(self.state, stored, items, meaning, self._position("corrections", self._next()))
        self._apply(effects)
        self.trace.outcome = effects.outcome.value

    def signal(self, feedback: Feedback) -> None:
        self.trace.keep_rows(feedback)
        at = self._position("feedback", self._next())
        self._apply(self.evolve.apply_signal(self.state, feedback, self.parse(feedback.item), at))

    def add_history(self, items: Sequence[Candidate]) -> None:
        """Count items that were taken before the skill starts."""
        for item in items:
            number = self._next()
            event = Interaction(event_id=f"i{number}", item=item, **self.event)
            state, at = PriorState(self.profile, self.memory), self._position("interactions", number)
            effects = PriorStep(graph=GraphLimits()).step(state, event, self.parse(item), at, NOW)
            self.profile = effects.profile
            if effects.remembered is not None:
                self.memory = effects.remembered.memory

    def start_skill(self, profile: Any, template: Any = ()) -> None:
        """Start the skill from a profile or from the domain's template."""
        start = SkillStart(privacy=self.privacy)
        self.skill = start.skill("u", self.domain, self.command(Action.FREEZE), profile, template)

    def start_from_template(self) -> None:
        """Start the skill of a user whose domain has many users with the same past."""
        population = Population(self.domain)
        for _ in range(CROWD):
            population.add(self.profile)
        self.start_skill(None, global_skill(population, "g", NOW).attributes)
        self.extract_slim("template")

    def rank_task(self, items: Sequence[Candidate], instruction: str = "") -> RankTask:
        retrieved = self.rank.retrieve(RankState(self.skill, self.memory), self.domain, NOW)
        parsed = [self.parse(item) for item in (*OTHERS, *items)]
        redacted = self.privacy.redact(instruction, self.domain).text
        short = self.rank.extract(self.skill, redacted)
        return RankTask(parsed, redacted, retrieved.facets, slim_skill=short.text, seed="r")

    def build_prompts(self, items: Sequence[Candidate], instruction: str = "") -> None:
        """Build the prompts that judge the last choice, rank, and extract the slim skill."""
        prompts, task = self.trace.prompts, self.rank_task(items, instruction)
        if self._last_choice is not None:
            judged = evolve_question(*self._last_choice, **self._prompt_options)
            prompts["evolve"] = judged.prompt if judged else ""
        prompts["rank"] = render_prompt(task, task.items, **self._prompt_options)
        extraction = slim_question(self.skill, task.instruction, 30, **self._prompt_options)
        prompts["slim"] = extraction.prompt if extraction else ""

    def extract_slim(self, name: str) -> None:
        """Keep a slim skill with every line that one may hold, selected or not."""
        short = self.evolve.slim(self.skill.model_copy(update={"slim_lines": ()}))
        assert short is not None
        self.trace.slims[name] = short
        self.trace.learned |= {line.value for line in self.skill.attributes}

    def _apply(self, effects: EvolveEffects, *, rows: bool = True) -> None:
        self.skill, diff, trace = effects.skill, effects.diff, self.trace
        assert diff is not None
        trace.diffs.append(diff)
        trace.refused += [refused.why.value for refused in diff.refused]
        trace.analysis = diff.analysis
        if rows:
            trace.keep(diff, self.skill)
            trace.keep_rows(diff, self.skill, *([effects.version.slim] if effects.version.slim else []))

    def _position(self, topic: str, offset: int) -> Position:
        return Position(topic=topic, partition=0, offset=offset, timestamp_ms=int(NOW.timestamp() * 1_000))

    def _next(self) -> int:
        self._count += 1
        return self._count
