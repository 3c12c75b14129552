"""The three hosts: a model ranks with each one's memory, and the slim skill is all that differs between two arms."""

import asyncio

import pytest

from evaluation.hosts import HOSTS, DynamicProfileHost, HostRequest, profile_of
from operators.rank import LlmRanking, Task
from schemas import ItemFacts, ReasonedBy
from tests.builders import id_of, item_facts

NOIR = item_facts("noir", "genre: noir", "mood: dark reads", title="The Long Alley")
SAGA = item_facts("saga", "genre: saga", "mood: warm reads", title="Four Daughters")
SPACE = item_facts("space", "genre: science fiction", "era: 1990s", title="Low Orbit")
FARCE = item_facts("farce", "genre: farce", "era: 1960s", title="Two Umbrellas")
ITEMS = (NOIR, SAGA, SPACE, FARCE)
GENRE_NOIR, GENRE_SAGA = id_of("genre: noir"), id_of("genre: saga")
every_host = pytest.mark.parametrize("name", ["dynamic-profile", "static-profile", "vanilla"])


def a_request(*candidates: ItemFacts, **more: object) -> HostRequest:
    return HostRequest("ann", candidates or ITEMS, **more)  # type: ignore[arg-type]


class Remembers:
    """A model's stand-in: keeps the task, answers with the candidates backwards."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    async def rank(self, task: Task) -> LlmRanking:
        self.tasks.append(task)
        return LlmRanking(tuple(item.item_id for item in reversed(task.items)), ReasonedBy(reasoner="llm"))


@every_host
def test_the_model_decides_by_request_memory_and_slim_skill(name: str) -> None:
    model = Remembers()
    for line in ("", "likes: noir"):
        request = a_request(instruction="a quiet one", history=(SAGA,), slim_skill=line, seed="r1")
        assert asyncio.run(HOSTS[name](model).rank(request)) == ("farce", "space", "saga", "noir")

    without, skilled = model.tasks
    assert (skilled.instruction, skilled.slim_skill, skilled.seed) == ("a quiet one", "likes: noir", "r1")
    assert (without.slim_skill, without.facets, without.lately) == ("", skilled.facets, skilled.lately)
    assert skilled.facets or skilled.lately
    assert not skilled.companions


def test_a_dynamic_profile_follows_a_change_of_taste_but_not_at_once() -> None:
    host, request = DynamicProfileHost(Remembers()), a_request(history=(SAGA, SAGA))
    assert host.profile(request) == profile_of((SAGA, SAGA))

    weights = []
    for _ in range(6):
        host.observe(request, "noir")
        profile = host.profile(request)
        weights.append((profile[GENRE_NOIR].weight, profile[GENRE_SAGA].weight))

    assert weights[0][0] < weights[0][1]
    assert weights[-1][0] > weights[-1][1]
