"""Services that all agents share: settings, limits, privacy, and followed topics."""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from operators.contrast import SLOTS, RingLimits
from operators.evolve.quotes import quoted_values, with_mentioned
from operators.graph.items import GraphLimits
from operators.language.privacy import read_item
from operators.statinit import excerpt_of, parser_for, vocabulary_for
from operators.steps.prior import SkillStart
from schemas import Candidate, Fact, ItemFacts, PolicySkill, compound_key
from schemas.items import MAX_EXCERPT
from streams.caching import LruCache
from streams.language import joined_vocabulary
from streams.policies import privacy_of
from streams.pseudonyms import ranking_key, secret_of
from streams.settings import Settings
from streams.steps import limits_of
from streams.worker import metrics
from streams.worker.catalogue import Catalogue
from streams.worker.items import ItemGraph
from streams.worker.reasoning.domains import global_skills, learned_weights
from streams.worker.runtime.producer import Producer
from streams.worker.runtime.recovery import WorkerApp
from streams.worker.tables import Tables

logger = logging.getLogger("sager.worker")

PARSED_ITEMS = 20_000


class Deps:
    """Settings, limits and shared services; `graph` is None if it is off."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.privacy = privacy_of(settings)
        self._with_excerpts, self._enriches = settings.reasoner == "llm", settings.enrich == "llm"
        self.merge_limits = limits_of(settings)
        self.ring_limits = RingLimits(
            rankings=settings.open_rankings // SLOTS, waiting=settings.waiting_selections // SLOTS
        )
        self.graph_limits = GraphLimits(
            floor=settings.support_floor, fan_out=settings.fan_out, secret=secret_of(settings)
        )
        self.graph = self.graph_limits if settings.propagate else None
        self.ranking_key = ranking_key(settings)
        self.start = SkillStart(
            self.merge_limits,
            privacy=self.privacy,
            from_history=settings.statinit,
            from_template=settings.cold_start,
            mode=settings.evolve_mode,
        )
        self.global_skills, self.learned_weights = global_skills(settings), learned_weights(settings)
        self.items, self.catalogue = ItemGraph(settings, self.graph_limits), Catalogue(settings)
        self._parsed: LruCache[tuple[str, str], tuple[Candidate, tuple[Fact, ...], ItemFacts]] = LruCache(PARSED_ITEMS)

    def listed_facts(self, domain: str, candidate: Candidate) -> ItemFacts:
        """Return the facts of an item in a list; an id alone has the catalogue's."""
        return self.facts_of(domain, self._listed(domain, candidate))

    def _listed(self, domain: str, candidate: Candidate) -> Candidate:
        return (self.catalogue.get(domain, candidate.item_id) if candidate.is_id_alone else None) or candidate

    def facts_for(self, skill: PolicySkill | None, domain: str, candidate: Candidate) -> ItemFacts:
        """Return a listed item's facts, with the skill's quoted values that its text mentions."""
        item = self.listed_facts(domain, candidate)
        if skill is None or item.unreadable or not any(line.quote for line in skill.attributes):
            return item
        excerpt = item.excerpt  # redacted with the item
        if not excerpt:
            excerpt = self.privacy.redact_work(excerpt_of(self._listed(domain, candidate)), MAX_EXCERPT).text
        return with_mentioned(item, excerpt, quoted_values(skill))

    def facts_of(self, domain: str, candidate: Candidate) -> ItemFacts:
        """Return the learnable facts of an item by the domain's parser, cached.

        They include those that a model quoted from the catalogue's item of this id.
        """
        key = (domain, candidate.item_id)
        quoted = self.catalogue.shared_quotations(*key) if self._enriches else ()
        known = self._parsed.get(key)
        # `==` of pydantic models takes twice the time, and a choice compares ten items.
        if known is not None and known[1] == quoted and vars(known[0]) == vars(candidate):
            return known[2]
        facts = self.read(domain, candidate, quoted, with_excerpt=self._with_excerpts)
        self._parsed.put(key, (candidate, quoted, facts))
        return facts

    def read(
        self, domain: str, candidate: Candidate, quoted: tuple[Fact, ...] = (), *, with_excerpt: bool
    ) -> ItemFacts:
        """Parse an item without its private details."""
        parser, numbers = parser_for(domain, self.settings.parsers), self.settings.numbers.get(domain, {})
        read = read_item(candidate, domain, parser, self.privacy, numbers, quoted, with_excerpt=with_excerpt)
        _count_private(read.found)
        if read.failure:
            logger.warning("an item of %s cannot be read (%s): nothing is learned from it", domain, read.failure)
        return read.facts

    def redact_instruction(self, instruction: str, domain: str) -> str:
        """Return an instruction without private data, for storage and models."""
        redacted = self.privacy.redact(instruction, domain)
        _count_private(redacted.found)
        return redacted.text

    def vocabulary(self, tables: Tables, user_id: str, domain: str) -> tuple[Fact, ...]:
        """Return the facts that a user's words about a domain can name.

        They come from the user's lists, the parser's closed vocabulary and the global skill.
        """
        closed = vocabulary_for(domain, self.settings.parsers)
        population = self.global_skills.get(domain)
        return joined_vocabulary((*_shown_to(tables, user_id, domain), *closed), population.vocabulary)


class Worker(NamedTuple):
    """The Faust app, and the state, producer and services of its agents."""

    app: WorkerApp
    tables: Tables
    producer: Producer
    deps: Deps


def _shown_to(tables: Tables, user_id: str, domain: str) -> tuple[Fact, ...]:
    """Return the facts of items a user saw or took, newest first."""
    rings = (tables.open_rankings.read(compound_key(user_id, slot)) for slot in range(SLOTS))
    waiting = (each for ring in rings if ring is not None for each in ring.rankings if each.domain == domain)
    shown = (fact for ranking in waiting for item in ranking.candidates for fact in item.facts)
    memory = tables.memories.read(compound_key(user_id, domain))
    taken = () if memory is None else (fact for each in memory.taken for fact in each.facts)
    seen = () if memory is None else reversed(memory.seen)
    return tuple(dict.fromkeys((*shown, *seen, *taken)))


def _count_private(found: Mapping[str, int]) -> None:
    for kind, times in found.items():
        metrics.PRIVATE.labels(kind).inc(times)
