"""One person played through everything that a worker does for them, by the real steps, without Kafka."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

from operators import contrast as join
from operators.attributes import from_fact
from operators.contrast import ContrastEffects, RingLimits
from operators.evolve import CountsReasoner, Proposal
from operators.evolve.llm import build_question as evolve_question
from operators.global_skill import Population, global_skill
from operators.graph.items import GraphLimits
from operators.language.output_policy import OutputGate
from operators.language.privacy import Privacy
from operators.learning.fold import initial_skill
from operators.rank import RankTask
from operators.rank.question import render_prompt
from operators.slim.llm import slim_question
from operators.statinit import facts_of, generic
from operators.steps import EvolveEffects, EvolveState, EvolveStep, SkillStart
from operators.steps import prior as history
from operators.steps.rank import RankState, RankStep
from schemas import Action, Candidate, Fact, Item, ItemFacts, Memory, PolicySkill, SkillCommand, encode
from schemas.base import Position
from schemas.events import Contrast, Injected, Interaction, Ranking, RankRequest, Selection
from schemas.skills import AttributeSource, SlimSkill, Tier
from schemas.topics import TOPICS
from streams.analytics.records import KafkaRecord, Put
from streams.analytics.rows import read
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY
from streams.policies import DEFAULT_PRIVACY as PRIVACY

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SLIM_TOKENS = 60
"""Twice the default: what a value says decides whether it comes through, not how long it is in a rare script."""
PROMPT_TOKENS = 3_000
NOTHING = Injected()
CROWD = 6
"""So many users share what one has, where it is to become the domain's template."""
OTHERS = (
    Candidate(item_id="noir", title="Night Train", metadata={"genre": ["noir", "crime"]}),
    Candidate(item_id="comedy", title="Two Left Feet", metadata={"genre": ["comedy"]}),
    Candidate(item_id="war", title="The Long March", metadata={"genre": ["war"]}),
)


@dataclass(frozen=True)
class Filters:
    """What stands between the outside and skills, prompts and rows."""

    privacy: Privacy = DEFAULT_PRIVACY
    gate: OutputGate = OUTPUT_GATE


FILTERS = Filters()


@dataclass
class Trace:
    """What is left behind, and what a model would have been asked.

    Attributes:
        privacy: what rows may keep.
        slims: the slim skills that apps get, by how they came about.
        prompts: by their names.
        kept: everything that stays somewhere: skills, diffs, rows, tables of the worker.
        refused: how many changes were refused as private.
        learned: values of the lines that the skill has at the end.
        items: items as the worker reads them.
        asked: the request as it is passed on.
        analysis: what is kept of a model's words.
        row: the item's title and description in DuckDB.
        wish: whether a request was read as a wish not to learn.
    """

    privacy: Privacy = DEFAULT_PRIVACY
    slims: dict[str, SlimSkill] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    refused: int = 0
    learned: set[str] = field(default_factory=set)
    items: list[ItemFacts] = field(default_factory=list)
    asked: str = ""
    analysis: str = ""
    row: tuple[str, str] = ("", "")
    wish: bool = False

    def keep(self, *values: Any) -> None:
        """Something stays."""
        self.kept += [json.loads(encode(value)) for value in values if value is not None]

    def keep_rows(self, *events: Any) -> None:
        """The rows of an event stay; an item's raw metadata are the catalogue's."""
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
        """All that stays or goes out."""
        slims = [slim.text for slim in self.slims.values()]
        return json.dumps([self.kept, slims, *self.prompts.values()], ensure_ascii=False, default=str)


class Person:
    """A user of one domain, who begins with three known tastes.

    Args:
        domain: where they choose.
        filters: what may be learned, shown and kept, and what may be let out.
    """

    rules = CountsReasoner()
    _parsed: ClassVar[dict[tuple[bool, str, str], tuple[Candidate, ItemFacts]]] = {}

    def __init__(self, domain: str, filters: Filters = FILTERS) -> None:
        privacy, gate = filters.privacy, filters.gate
        self.domain, self.filters, self.privacy, self.trace, self._count = domain, filters, privacy, Trace(privacy), 0
        self.evolve = EvolveStep(privacy=privacy, slim_tokens=SLIM_TOKENS, graph=GraphLimits(), gate=gate)
        self.rank = RankStep(slim_tokens=SLIM_TOKENS, gate=gate, privacy=PRIVACY)
        self._told: dict[str, Any] = {"max_tokens": PROMPT_TOKENS, "gate": gate}
        self.start = SkillStart(privacy=privacy)
        self.user = {"user_id": "u", "domain": domain, "occurred_at": NOW}
        self.memory: Memory | None = None
        self._learning: tuple[Contrast, PolicySkill] | None = None
        self.profile: Any = None
        facts = (("genre", "noir", Tier.HIGH), ("genre", "drama", Tier.MEDIUM), ("genre", "comedy", Tier.LOW))
        seed = tuple(from_fact(Fact(dimension=d, value=v), tier, AttributeSource.PRIOR) for d, v, tier in facts)
        self.skill = initial_skill("u", domain, seed, self.command(Action.FREEZE))

    def command(self, action: Action, **more: Any) -> SkillCommand:
        """A command of theirs."""
        return SkillCommand(event_id=f"c{self._next()}", actor="ann", action=action, **more, **self.user)

    def parse(self, candidate: Candidate) -> ItemFacts:
        """An item as the worker reads it, once. The generic parser takes metadata as they come."""
        key = (self.privacy.redactor is not None, self.domain, candidate.item_id)
        known = self._parsed.get(key)
        if known is None or known[0] != candidate:
            read, _ = self.privacy.item(facts_of(candidate, generic.parse), self.domain)
            known = self._parsed[key] = (candidate, read)
        return known[1]

    def chooses(self, item: Candidate, asked: str = "", injected: Injected = NOTHING, *, rows: bool = True) -> None:
        """They ask, are shown this item among others, and take it; the rules learn from it."""
        trace, number = self.trace, self._next()
        candidates = (*OTHERS[:2], item, *OTHERS[2:])
        names = {"event_id": f"r{number}", "ranking_id": f"r{number}"}
        request = RankRequest(
            event_id=f"q{number}", request_id=f"r{number}", instruction=asked, candidates=candidates, **self.user
        )
        ranking = Ranking(instruction=asked, candidates=candidates, injected=injected, **names, **self.user)
        redacted = self.privacy.redact(asked, self.domain).text
        wish = self.privacy.opt_out(asked)
        kept = ranking.model_copy(
            update={"instruction": redacted, "injected": DEFAULT_PRIVACY.injected(injected, self.domain)}
        )
        at = self._position("rankings", number)
        opened = join.on_ranking(join.ContrastState(), kept, self.parse, at, RingLimits(), wish)
        assert isinstance(opened, ContrastEffects)
        taken = Selection(
            event_id=f"s{number}",
            occurred_at=NOW,
            user_id=request.user_id,
            ranking_id=f"r{number}",
            item_id=item.item_id,
        )
        step = join.on_selection(
            join.ContrastState(opened.state), taken, self._position("selections", number), RingLimits()
        )
        assert isinstance(step, ContrastEffects)
        trace.asked, trace.wish = redacted, wish is not None
        trace.items = [self.parse(candidate) for candidate in candidates]
        if rows:
            trace.keep(opened.state, step.state)
            trace.keep_rows(request, ranking)
        if step.contrast is not None:
            self.learns(step.contrast, rows=rows)

    def learns(self, contrast: Contrast, proposal: Proposal | None = None, *, rows: bool = True) -> None:
        """A choice goes into the skill: by the rules, or as a model proposes."""
        trace = self.trace
        at = self._position("contrasts", self._next())
        begun = self.evolve.prepare(EvolveState(self.skill, memory=self.memory), contrast, at, NOW)
        assert begun.contrast is not None
        if begun.remembered is not None:
            self.memory = begun.remembered.memory
        self._learning = begun.contrast, self.skill
        answer = proposal or self.rules.propose(begun.contrast, self.skill)
        effects = self.evolve.finish(EvolveState(self.skill, memory=self.memory), begun.contrast, answer, at)
        if rows:
            trace.keep(contrast)
            trace.keep_rows(contrast)
        self._take(effects, rows=rows)

    def says(self, command: SkillCommand) -> None:
        """A command changes the skill."""
        self.trace.keep_rows(command)
        at = self._position("skill-commands", self._next())
        self._take(self.evolve.command(EvolveState(self.skill), command, at), rows=True)

    def has_a_past(self, items: Sequence[Candidate]) -> None:
        """Items taken long ago are counted."""
        for item in items:
            number = self._next()
            event = Interaction(event_id=f"i{number}", item=item, **self.user)
            state = history.PriorState(self.profile, self.memory)
            step = history.PriorStep(graph=GraphLimits()).step(
                state, event, self.parse(item), self._position("interactions", number), NOW
            )
            self.profile = step.profile
            if step.remembered is not None:
                self.memory = step.remembered.memory

    def begins(self, profile: Any, template: Any = ()) -> None:
        """Their skill begins anew, from a profile or from the domain's template."""
        self.skill = self.start.skill(self.user["user_id"], self.domain, self.command(Action.FREEZE), profile, template)

    def is_asked_about(self, items: Sequence[Candidate], asked: str = "") -> None:
        """What a model is asked: to judge the last choice, to rank, to extract the slim skill."""
        prompts = self.trace.prompts
        if self._learning is not None:
            judged = evolve_question(*self._learning, **self._told)
            prompts["evolve"] = judged.prompt if judged else ""
        retrieved = self.rank.retrieve(RankState(self.skill, self.memory), self.domain, NOW)
        parsed = [self.parse(item) for item in (*OTHERS, *items)]
        redacted = self.privacy.redact(asked, self.domain).text
        short = self.rank.extract(self.skill, redacted).record
        task = RankTask(parsed, redacted, retrieved.facets, slim_skill=short.text, seed="r")
        prompts["rank"] = render_prompt("rank-listwise.v1", task, parsed, **self._told)
        extraction = slim_question(self.skill, redacted, 30, **self._told)
        prompts["slim"] = extraction.prompt if extraction else ""

    def becomes_the_template(self) -> None:
        """So many others have the same past that it is the domain's template for everybody new."""
        population = Population(self.domain)
        for _ in range(CROWD):
            population.add(self.profile)
        self.begins(None, global_skill(population, "g", NOW).attributes)
        self.hands_out("template")

    def hands_out(self, how: str) -> None:
        """Keep a slim skill with every line that one may hold, selected or not."""
        short = self.evolve.slim(self.skill.model_copy(update={"slim_lines": ()}))
        assert short is not None
        self.trace.slims[how] = short
        self.trace.learned |= {line.value for line in self.skill.attributes}

    def _take(self, effects: EvolveEffects, *, rows: bool) -> None:
        self.skill, diff = effects.skill, effects.diff
        assert diff is not None
        self.trace.refused += sum(refused.why.value == "private" for refused in diff.refused)
        self.trace.analysis = diff.analysis
        if rows:
            self.trace.keep(diff, self.skill)
            self.trace.keep_rows(diff, self.skill, *([effects.version.slim] if effects.version.slim else []))

    def _position(self, topic: str, offset: int) -> Position:
        return Position(topic=topic, partition=0, offset=offset, timestamp_ms=int(NOW.timestamp() * 1_000))

    def _next(self) -> int:
        self._count += 1
        return self._count


def copies(item: Candidate, times: int) -> tuple[Candidate, ...]:
    """So many items that say the same of themselves."""
    return tuple(item.model_copy(update={"item_id": f"{item.item_id}-{n}"}) for n in range(times))
