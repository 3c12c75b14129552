"""The world of `benchmarks.stages`: all states of a deployment, driven in the order in which a worker does."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks.stages_meter import Asker, Meter
from operators.contrast import on_ranking, on_selection, slot_of
from operators.evolve import RulesReasoner, nothing_new, validate
from operators.evolve.llm import LlmReasoner
from operators.merge import fit_seed, merge, resolve, start
from operators.propagate import hear, on_touch, touches, with_taken
from operators.rank import Task, rank
from operators.rank.llm import Form, LlmRanker
from operators.retrieve import retrieve
from operators.retrieve.llm import LlmFacets
from operators.slim import relevant_to, slim
from operators.slim.llm import LlmExtract
from operators.statinit import facts_of, observe, parser_for, statinit
from operators.tokens import count_tokens
from schemas import (
    Contrast,
    Injected,
    Interaction,
    ItemFacts,
    ItemMemory,
    Memory,
    Model,
    Neighbourhood,
    OpenRankings,
    PolicySkill,
    Position,
    Profile,
    RankedBy,
    Ranking,
    RankRequest,
    Selection,
)
from streams.demo.scenario import Choice, Past

BUDGET = 30


class World:
    """All states of a deployment, and the operators in the order in which a worker calls them."""

    def __init__(self, meter: Meter) -> None:
        client = Asker(meter)
        self._meter = meter
        self._profiles: dict[tuple[str, str], Profile] = {}
        self._skills: dict[tuple[str, str], PolicySkill] = {}
        self._memories: dict[tuple[str, str], Memory] = {}
        self._near: dict[tuple[str, str], Neighbourhood] = {}
        self._items: dict[tuple[str, str], ItemMemory] = {}
        self._rings: dict[tuple[str, int], OpenRankings] = {}
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
        profile = self._profiles.get(key)
        self._profiles[key] = run("StatInit: observe", lambda: observe(profile, event, item.facts, self._position()))
        memory = with_taken(self._memories.get(key), *key, item, at, event.event_id)
        self._memories[key] = memory
        self._spread(memory, item.item_id, lambda _, do: do())

    def choice(self, choice: Choice) -> None:
        """One interaction of a user who chooses."""
        run, codec, key = self._meter.run, self._meter.codec, (choice.user_id, choice.domain)
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
        ranking = self._ranked(request, skill, items)
        codec(ranking)
        selection = Selection(
            event_id=f"{choice.choice_id}-taken",
            occurred_at=choice.at,
            user_id=choice.user_id,
            ranking_id=ranking.ranking_id,
            item_id=choice.target,
        )
        codec(selection)
        slot = (choice.user_id, slot_of(ranking.ranking_id))
        ring = self._rings.get(slot) or OpenRankings(user_id=slot[0], slot=slot[1])
        opened = run("contrast: ranking", lambda: on_ranking(ring, ranking, parse, self._position()))
        codec(opened.state)
        step = run("contrast: selection", lambda: on_selection(opened.state, selection, self._position()))
        codec(step.state)
        self._rings[slot] = step.state
        if step.contrast is not None:
            codec(step.contrast)
            self._remember(key, step.contrast)
            self._evolve(key, skill, step.contrast)

    def _ranked(self, request: RankRequest, skill: PolicySkill, items: Sequence[ItemFacts]) -> Ranking:
        run, ask, key, asked = self._meter.run, self._meter.ask, (request.user_id, request.domain), request.instruction
        memory, near = self._memories.get(key), self._near.get(key)
        found = run("retrieve", lambda: retrieve(memory, near, request.domain, request.occurred_at))
        if memory is not None:
            ask("LLM_Mem: facets", lambda: self._facets.synthesize(memory, found.neighbours))
        short = run("slim by rule", lambda: slim(skill, count_tokens, BUDGET, None, relevant_to(asked, skill)))
        ask("LLM_Ext: slim", lambda: self._extract.extract(skill, asked, BUDGET))
        weights = {facet.attribute_id: facet.confidence for facet in found.facets if facet.attribute_id}
        ordered = run(
            "rank: deterministic",
            lambda: rank(items, skill.attributes, asked, weights, request.request_id, companions=found.companions),
        )
        task = Task(items, asked, found.facets, found.companions, short.text, request.request_id)
        for name, ranker in self._rankers.items():
            ask(name, partial(ranker.rank, task))
        by_id = {candidate.item_id: candidate for candidate in request.candidates}
        return Ranking(
            event_id=f"{request.request_id}-ranked",
            occurred_at=request.occurred_at,
            ranking_id=request.request_id,
            user_id=request.user_id,
            domain=request.domain,
            instruction=asked,
            candidates=tuple(by_id[item.item_id] for item, _ in ordered),
            ranked_by=RankedBy.SAGER,
            injected=Injected(skill_version=skill.version, slim_skill=short.text, facets=found.facets),
        )

    def _remember(self, key: tuple[str, str], contrast: Contrast) -> None:
        run = self._meter.run
        held, item, at = self._memories.get(key), contrast.chosen, contrast.occurred_at
        memory = run(
            "propagate: remember",
            lambda: with_taken(held, *key, item, at, contrast.event_id, self._position()),
        )
        self._memories[key] = memory
        self._meter.codec(memory)
        self._spread(memory, contrast.chosen.item_id, run)

    def _spread(self, memory: Memory, item_id: str, run: Callable[[str, Callable[[], Any]], Any]) -> None:
        metered = run == self._meter.run
        for touch in run("propagate: touches", lambda: touches(memory, item_id)):
            at = (touch.domain, touch.item_id)
            told = run("propagate: item hears", partial(on_touch, self._items.get(at), touch))
            self._codecs(metered, touch)
            if told is None:
                continue
            self._items[at] = told.item
            self._codecs(metered, told.item)
            for signal in told.signals:
                user = (signal.user_id, signal.domain)
                near = run("propagate: user hears", partial(hear, self._near.get(user), signal))
                self._codecs(metered, signal)
                if near is not None:
                    self._near[user] = near
                    self._codecs(metered, near)

    def _evolve(self, key: tuple[str, str], skill: PolicySkill, contrast: Contrast) -> None:
        run = self._meter.run
        if not run("gate", lambda: nothing_new(contrast, skill)):
            self._meter.ask("evolve: LLM", lambda: self._reasoner.reason(contrast, skill))
        proposal = run("evolve: rules", lambda: RulesReasoner().propose(contrast, skill))
        honest = run("validate", lambda: validate(proposal, skill, contrast))
        diff = run("merge: tier rule", lambda: resolve(skill, honest, contrast, self._position()))
        evolved = run("merge: fold", lambda: merge(skill, diff))
        short = run("slim at merge", lambda: slim(evolved, count_tokens, BUDGET))
        self._skills[key] = evolved
        for event in (diff, evolved, short):
            self._meter.codec(event)

    def _skill(self, key: tuple[str, str], request: RankRequest) -> PolicySkill:
        if key in self._skills:
            return self._skills[key]
        profile = self._profiles.get(key)
        seed = self._meter.run("StatInit: seed a skill", lambda: fit_seed(statinit(profile)))
        if profile is not None:
            self._meter.codec(profile)
        return start(*key, seed, request)

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
