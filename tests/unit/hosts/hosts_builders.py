"""Requests to hosts, and a model that remembers what it was asked. All data is made up."""

from typing import Any

from evaluation.hosts import HostRequest
from operators.rank import LlmRanking, Task
from schemas import ItemFacts, ReasonedBy
from tests.builders import item_facts

NOIR = item_facts("noir", "genre: noir", "mood: dark reads", title="The Long Alley")
SAGA = item_facts("saga", "genre: saga", "mood: warm reads", title="Four Daughters")
SPACE = item_facts("space", "genre: science fiction", "era: 1990s", title="Low Orbit")
FARCE = item_facts("farce", "genre: farce", "era: 1960s", title="Two Umbrellas")
ITEMS = (NOIR, SAGA, SPACE, FARCE)


def a_request(*candidates: ItemFacts, **more: Any) -> HostRequest:
    return HostRequest("ann", candidates or ITEMS, **more)


class Remembers:
    """A model's stand-in: keeps the task, answers with the candidates backwards."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    async def rank(self, task: Task) -> LlmRanking:
        self.tasks.append(task)
        return LlmRanking(tuple(item.item_id for item in reversed(task.items)), ReasonedBy(reasoner="llm"))
