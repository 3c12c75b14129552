"""Waiting turns of conversations, with their due times in memory."""

import asyncio
from typing import Any

from operators.steps.listen import ListenStep
from schemas import PendingConversations, Utterance
from streams.kafka.clients import partition_of
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.tables import StateTable

# Users scanned per turn of the event loop.
USERS_PER_TURN = 2_000


class Conversations:
    """The table `conversations` in one worker."""

    def __init__(self, app: Any, table: StateTable[PendingConversations], settings: Settings, step: ListenStep) -> None:
        self._app, self._table, self._settings, self._step = app, table, settings, step
        self._due: dict[str, int] = {}
        self._turns: dict[str, int] = {}
        self._generation: int | None = None

    def read(self, user_id: str) -> PendingConversations | None:
        """Return a user's waiting turns."""
        return self._table.read(user_id.encode())

    async def write(self, event: Any, listening: PendingConversations) -> None:
        """Set a user's waiting turns once the changelog has them."""
        await self._table.write(event, listening.user_id.encode(), listening)
        self._note(listening)

    async def forget(self, event: Any, user_id: str) -> None:
        """Remove a user's waiting turns."""
        await self._table.delete(event, user_id.encode())
        self._drop(user_id)

    async def due(self, now_ms: int) -> list[tuple[str, int]]:
        """Return users with due conversations, and their partitions."""
        await self._scan()
        found = []
        topic = self._settings.topic(Utterance.TOPIC)
        ours = {tp.partition for tp in self._app.consumer.assignment() if tp.topic == topic}
        behind = {each for each in ours if self._app.reader.has_more(topic, each)}
        for user_id in [user_id for user_id, due_ms in self._due.items() if due_ms <= now_ms]:
            partition = partition_of(user_id, self._settings.partitions)
            # A waiting record may continue the conversation.
            extra_ms = self._step.silence_ms if partition in behind else 0
            if partition in ours and self._due.get(user_id, now_ms) + extra_ms <= now_ms:
                found.append((user_id, partition))
        return found

    async def _scan(self) -> None:
        generation = self._app.consumer_generation_id
        if generation == self._generation:
            return
        self._due.clear()
        self._turns.clear()
        for number, key in enumerate(tuple(self._table.table.data), 1):
            listening = self.read(key.decode())
            if listening is not None:
                self._note(listening)
            if number % USERS_PER_TURN == 0:
                await asyncio.sleep(0)
        self._generation = generation
        metrics.WAITING_TURNS.set(sum(self._turns.values()))

    def _note(self, listening: PendingConversations) -> None:
        due_ms = self._step.due_ms(listening)
        if due_ms is None:
            self._drop(listening.user_id)
            return
        self._due[listening.user_id] = due_ms
        before = self._turns.get(listening.user_id, 0)
        now = self._turns[listening.user_id] = sum(len(chunk.turns) for chunk in listening.chunks)
        metrics.WAITING_TURNS.inc(now - before)

    def _drop(self, user_id: str) -> None:
        self._due.pop(user_id, None)
        metrics.WAITING_TURNS.dec(self._turns.pop(user_id, 0))
