"""The world of `benchmarks.stages`: all states of a deployment, driven in the order in which a worker does."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks.stages_meter import Asker, Meter
from operators.contrast import Outcome, RingLimits, Step, slot_of
from operators.evolve import RulesReasoner, nothing_new
from operators.evolve.llm import LlmReasoner
from operators.neighbourhood import Gathered, Neighbourhood, near
from operators.propagate import GraphLimits, neighbour_of
from operators.rank import Task
from operators.rank.llm import Form, LlmRanker
from operators.retrieve.llm import LlmFacets
from operators.slim.llm import LlmExtract
from operators.statinit import facts_of, parser_for
from operators.steps import Evolve, Start, State, propagate
from operators.steps import contrast as join
from operators.steps import rank as ranking
from operators.steps.prior import Prior
from operators.steps.prior import State as Counted
from operators.steps.remember import Remembered
from operators.tokens import count_tokens
from schemas import (
    Contrast,
    Injected,
    Interaction,
    ItemFacts,
    ItemMemory,
    Memory,
    Model,
    OpenRankings,
    PolicySkill,
    Position,
    Profile,
    Ranking,
    RankRequest,
    Selection,
)
from streams.demo.scenario import Choice, Past

BUDGET = 30
GRAPH, RINGS = GraphLimits(), RingLimits()


class World:
    """All states of a deployment, and the steps in the order in which a worker takes them."""

    def __init__(self, meter: Meter) -> None:
        client = Asker(meter)
        self._meter = meter
        self._profiles: dict[tuple[str, str], Profile] = {}
        self._skills: dict[tuple[str, str], PolicySkill] = {}
        self._memories: dict[tuple[str, str], Memory] = {}
        self._items: dict[tuple[str, str], ItemMemory] = {}
        self._rings: dict[tuple[str, int], OpenRankings] = {}
        self._prior, self._start, self._rank = Prior(graph=GRAPH), Start(), ranking.Rank(slim_tokens=BUDGET)
        self._step = Evolve(slim_tokens=BUDGET, chain_key=b"", graph=GRAPH)
        self._offset = 0
        self._rng = random.Random(1)
        self._reasoner = LlmReasoner(client, count_tokens=count_tokens)
        self._facets, self._extract = (
            LlmFacets(client, count_tokens=count_tokens),
            LlmExtract(client, count_tokens=count_tokens),
        )
        self._rankers = {
            "rank: first-token, 2 orders": LlmRanker(
                client, form=Form.FIRST_TOKEN, orders=2, count_tokens=count_tokens
            ),
            "rank: listwise": LlmRanker(client, form=Form.LISTWISE, count_tokens=count_tokens),
            "rank: pointwise": LlmRanker(client, form=Form.POINTWISE, count_tokens=count_tokens),
        }

    def past(self, past: Past) -> None:
        """One interaction from before: the prior counts it, and the graph hears of it."""
        run, key = self._meter.run, (past.user_id, past.domain)
        item = run("StatInit: parse an item", lambda: facts_of(past.item, parser_for(past.domain, {})))
        at = past.at
        event = Interaction(
            event_id=f"{key}{at}", occurred_at=at, user_id=past.user_id, domain=past.domain, item=past.item
        )
        self._meter.codec(event)
        known = Counted(self._profiles.get(key), self._memories.get(key))
        effects = run("prior: profile and memory", lambda: self._prior.step(known, event, item, self._position()))
        if effects.profile is not None:
            self._profiles[key] = effects.profile
        self._spread(key, effects.remembered, lambda _, do: do())

    def choice(self, choice: Choice) -> None:
        """One interaction of a user who chooses."""
        codec, key = self._meter.codec, (choice.user_id, choice.domain)
        self._meter.interactions += 1
        parse = partial(facts_of, parser=parser_for(choice.domain, {}))
        items = [parse(candidate) for candidate in choice.candidates]
        asked = self._instruction(items)
        common = {"occurred_at": choice.at, "user_id": choice.user_id, "domain": choice.domain}
        request = RankRequest(
            event_id=choice.choice_id,
            request_id=choice.choice_id,
            instruction=asked,
            candidates=choice.candidates,
            **common,
        )
        codec(request)
        skill = self._skill(key, request)
        shown = self._ranked(request, skill, items)
        codec(shown)
        selection = Selection(
            event_id=f"{choice.choice_id}-taken",
            occurred_at=choice.at,
            user_id=choice.user_id,
            ranking_id=shown.ranking_id,
            item_id=choice.target,
        )
        codec(selection)
        slot = (choice.user_id, slot_of(shown.ranking_id))
        opened = self._joined(slot, "contrast: ranking", partial(join.on_ranking, ranking=shown, facts_of=parse))
        if opened is None:
            return
        matched = self._joined(slot, "contrast: selection", partial(join.on_selection, selection=selection))
        if matched is not None and matched.contrast is not None:
            codec(matched.contrast)
            self._evolve(key, skill, matched.contrast)

    def _joined(self, slot: tuple[str, int], stage: str, take: Callable[..., Step | Outcome]) -> Step | None:
        """What a ranking or a selection makes of its rings."""
        rings = join.State(self._rings.get(slot))
        made = self._meter.run(stage, lambda: take(rings, source=self._position(), limits=RINGS))
        if isinstance(made, Outcome):
            return None
        self._meter.codec(made.state)
        self._rings[slot] = made.state
        return made

    def _ranked(self, request: RankRequest, skill: PolicySkill, items: Sequence[ItemFacts]) -> Ranking:
        run, ask, key, asked = self._meter.run, self._meter.ask, (request.user_id, request.domain), request.instruction
        memory = self._memories.get(key)
        state = ranking.State(skill, memory, run("retrieve: items tell", lambda: self._told(memory)))
        found = run("retrieve", lambda: self._rank.retrieve(state, request.domain, request.occurred_at))
        if memory is not None:
            ask("LLM_Mem: facets", lambda: self._facets.synthesize(memory, found.neighbours))
        short = run("slim by rule", lambda: self._rank.extract(skill, asked)).record
        ask("LLM_Ext: slim", lambda: self._extract.extract(skill, asked, BUDGET))
        order = run(
            "rank: deterministic",
            lambda: self._rank.order(items, self._rank.lines(skill), asked, found, request.request_id),
        )
        task = Task(items, asked, found.facets, found.companions, short.text, seed=request.request_id)
        for name, ranker in self._rankers.items():
            ask(name, partial(ranker.rank, task))
        injected = Injected(skill_version=skill.version, slim_skill=short.text, facets=found.facets)
        return ranking.answer(request, order, injected)

    def _spread(
        self,
        key: tuple[str, str],
        remembered: Remembered | None,
        run: Callable[[str, Callable[[], Any]], Any],
    ) -> None:
        if remembered is None:
            return
        metered = run == self._meter.run
        self._memories[key] = remembered.memory
        self._codecs(metered, remembered.memory)
        if remembered.touch is None:
            return
        touch = remembered.touch
        told = run(
            "propagate: items hear",
            partial(propagate.step, lambda item_id, domain: self._items.get((domain, item_id)), touch),
        )
        self._codecs(metered, touch)
        for item in told.items:
            self._items[item.domain, item.item_id] = item
            self._codecs(metered, item)

    def _told(self, memory: Memory | None) -> Neighbourhood:
        """What the items in a memory tell its user; a worker keeps what is counted of an item until it changes."""
        if memory is None:
            return Neighbourhood()
        items = (self._items.get((memory.domain, taken.item_id)) for taken in memory.taken)
        known = (Gathered(item, GRAPH) for item in items if item is not None)
        return near(known, neighbour_of(memory.user_id, GRAPH.secret))

    def _evolve(self, key: tuple[str, str], skill: PolicySkill, contrast: Contrast) -> None:
        run, source = self._meter.run, self._position()
        state = State(skill, memory=self._memories.get(key))
        begun = run("evolve: begin", lambda: self._step.begin(state, contrast, source))
        self._spread(key, begun.remembered, run)
        known = begun.contrast
        if known is None or begun.outcome is not None:
            return
        if not run("gate", lambda: nothing_new(known, skill)):
            self._meter.ask("evolve: LLM", lambda: self._reasoner.reason(known, skill))
        proposal = run("evolve: rules", lambda: RulesReasoner().propose(known, skill))
        effects = run("evolve: finish", lambda: self._step.finish(state, known, proposal, source))
        self._skills[key] = effects.skill
        for event in (effects.diff, effects.skill, self._step.slim(effects.skill)):
            if event is not None:
                self._meter.codec(event)

    def _skill(self, key: tuple[str, str], request: RankRequest) -> PolicySkill:
        if key in self._skills:
            return self._skills[key]
        profile = self._profiles.get(key)
        skill = self._meter.run("StatInit: seed a skill", lambda: self._start.skill(*key, request, profile))
        if profile is not None:
            self._meter.codec(profile)
        return skill

    def _instruction(self, items: Sequence[ItemFacts]) -> str:
        """Every other request asks for something that a candidate has."""
        facts = self._rng.choice(items).facts
        return f"something {self._rng.choice(facts).value}" if facts and self._rng.random() < 0.5 else ""

    def _codecs(self, metered: bool, event: Model) -> None:
        if metered:
            self._meter.codec(event)

    def _position(self) -> Position:
        self._offset += 1
        return Position(topic="t", partition=0, offset=self._offset, timestamp_ms=0)
