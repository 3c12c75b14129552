"""Agent `enrich`: adds quoted facts to the items of the catalogue, one model call per text.

It follows the topic `items` and writes a record of an app again, with the facts, on the partition where it was. Apps
write the topic too, so a record of theirs may come between reading and writing. The catalogue does not count such a
late record of a worker, and the agent restores the app's.
"""

import asyncio
import math
from functools import partial

from operators.steps.enrich import EnrichQuestion, LlmEnricher, text_digest
from schemas import Fact, Item
from schemas.enriched import enriched_record, same_app_record
from streams.worker import metrics
from streams.worker.catalogue import POLL_SECONDS, CatalogueEntry, valid_item
from streams.worker.deps import Worker
from streams.worker.reasoning.reasoner import ReasonerFailed, Reasoning
from streams.worker.runtime.batches import ConsumedRecord
from streams.worker.runtime.dispatch import KeyedExecutor, RecordDispatcher, RoutedEvent
from streams.worker.runtime.membership import Interrupted

STAGE = "enrich"
# The share of the calls in flight that items may take: a new catalogue must not delay choices.
SHARE = 0.25


def define(worker: Worker, reasoning: Reasoning, enricher: LlmEnricher) -> None:
    """Define the agent."""
    agent = EnrichAgent(worker, reasoning, enricher)
    agent.define_agent(KeyedExecutor(agent, math.ceil(SHARE * worker.deps.settings.in_flight)).submit)


class EnrichAgent(RecordDispatcher):
    """Reads the text of each new record once; the records of one item in order."""

    def __init__(self, worker: Worker, reasoning: Reasoning, enricher: LlmEnricher) -> None:
        super().__init__(worker, STAGE, {})
        self.models = (Item,)  # without a handler: tombstones and unreadable records are routed too
        self._deps, self._reasoning, self._enricher = worker.deps, reasoning, enricher

    def route(self, event: ConsumedRecord) -> RoutedEvent:
        """Return the handler for a record, also a tombstone, and its key as the owner."""
        metrics.labelled(metrics.TAKEN, Item.TOPIC).inc()
        return RoutedEvent((event.key or b"").decode(errors="replace"), partial(self._process, event))

    async def _process(self, event: ConsumedRecord) -> None:
        while (entry := self._catalogue.entry(event.partition, event.offset, event.key or b"")) is None:
            if not self.reader.flows:  # a rebalance waits for this event
                raise Interrupted
            await asyncio.sleep(POLL_SECONDS)
        if (entry.partition, entry.offset) != (event.partition, event.offset):
            outcome = "replaced"  # the newer record comes too
        elif entry.record != event.value:
            outcome = "restored"
            await self._producer.send(event, Item.TOPIC, event.key, entry.record, event.partition)
        else:
            outcome = await self._enrich(event, entry)
        metrics.labelled(metrics.EVENTS, STAGE, outcome).inc()

    async def _enrich(self, event: ConsumedRecord, entry: CatalogueEntry) -> str:
        key, record = event.key or b"", event.value or b""
        item = valid_item(key, record)
        if item is None:
            return "skipped"
        read = self._deps.read(item.domain, item.item, with_excerpt=True)
        digest = text_digest(read)
        if item.quoted is not None and item.quoted.digest == digest:
            return "skipped"
        facts: tuple[Fact, ...] = ()
        known = entry.quotations(key)
        if known is not None and known.digest == digest:
            facts = known.facts
        # In a thread: finding the phrases takes milliseconds, and a new catalogue has many texts.
        elif question := await asyncio.to_thread(self._enricher.question, read, item.domain):
            answer = await self._ask(question)
            if answer is None:
                return "unavailable"
            facts = answer
        elif item.quoted is None:
            return "skipped"
        newest = self._catalogue.entry(event.partition, event.offset, key)
        if newest is None or newest.record is None or not same_app_record(newest.record, record):
            return "replaced"
        await self._producer.send(event, Item.TOPIC, key, enriched_record(record, digest, facts), event.partition)
        return "enriched"

    async def _ask(self, question: EnrichQuestion) -> tuple[Fact, ...] | None:
        """Return the model's facts; None without a usable answer."""
        try:
            return await self._reasoning.retry(partial(self._enricher.quote, question), lambda _: None, waits=True)
        except ReasonerFailed:
            # No dead letter: replayed, it would replace what the app has sent since.
            return None
