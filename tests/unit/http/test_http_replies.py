"""Rankings and corrections over HTTP: a request to Kafka, the answer of a worker, and what happens without one."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from operators.language.corrections import understand
from operators.learning.commands import resolve_command
from operators.seals import seal_record
from operators.steps.evolve import EvolveState, EvolveStep
from operators.steps.rank import answer as ranked
from schemas import ClarifyingQuestion, Correction, Event, Fit, Injected, Option, RankedBy, RankRequest, encode
from schemas.commands import SkillCommand
from streams.http import tokens
from streams.http.limits import WAITING_CALLS
from streams.http.replies import EventSender, ReplyWaiter
from streams.kafka.clients import partition_of
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.settings import Settings
from tests.builders import a_skill, item_facts
from tests.unit.http.http_world import Reply, Served, Tokens, settings_of

A = {"item_id": "arrival", "title": "Arrival", "metadata": {"genres": ["Sci-Fi"]}}
B = {"item_id": "up", "title": "Up", "metadata": {"genres": ["Animation"]}}
RANK = {"user_id": "ann", "domain": "films", "candidates": [A, B]}
CORRECT = "/v1/users/ann/domains/films/corrections"


class Worker(EventSender):
    """In place of the sender: a worker that answers at once, if it is there."""

    def __init__(self, settings: Settings, answers: ReplyWaiter) -> None:
        super().__init__(settings)
        self._answers = answers
        self.sent: list[Event] = []
        self.is_there = True

    async def send(self, events: Any) -> None:
        for event in events:
            await asyncio.to_thread(self._take, event)

    def _take(self, event: Event) -> None:
        self.sent.append(event)
        if self.is_there:
            for answer in self.answers_to(event):
                self._answers.offer(answer.TOPIC, partition_of("ann", Settings().partitions), encode(answer))

    def answers_to(self, event: Event) -> list[Event]:
        if isinstance(event, RankRequest):
            options = tuple(Option(attribute_id=f"preference:genre:{name}", value=name) for name in ("noir", "sci-fi"))
            asked = ClarifyingQuestion(question_id="q1", dimension="genre", text="Which?", options=options)
            fit = Fit(nothing=0.1, suits=True, question=asked if event.clarify else None)
            made = seal_record(ranked(event, ("up", "arrival"), Injected(slim_skill="likes: animation", fit=fit)))
            another = made.model_copy(update={"ranking_id": "another's"})
            apps = made.model_copy(update={"ranked_by": RankedBy.APP, "candidates": event.candidates})
            forged = made.model_copy(update={"candidates": event.candidates, "seal": None})
            return [another, apps, forged, made]
        skill = a_skill(user_id="ann", domain="films", version=1)
        if isinstance(event, SkillCommand):
            return [resolve_command(skill, event, privacy=PRIVACY, gate=OUTPUT_GATE)]
        assert isinstance(event, Correction)
        items = [item_facts("arrival", "genre: sci-fi"), item_facts("up", "genre: animation")]
        effects = EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE).correct(
            EvolveState(skill), event, items, understand(event, items, skill, privacy=PRIVACY, reader=RULES)
        )
        return [effects.diff] if effects.diff is not None else []


class World:
    def __init__(self, served: Served, tokens: Tokens, worker: Worker) -> None:
        self.served, self.tokens, self.worker = served, tokens, worker
        self.app = tokens.make("produce", "read-slim", user="*")
        self.of_ann = tokens.make("produce", "read-slim", user="ann")
        self.advocate = tokens.make("change-user", user="*")
        self.reads = tokens.make("change-user", "read-user", user="ann")

    def post(self, path: str, token: str, body: Any) -> Reply:
        self.worker.sent.clear()
        return self.served.request(path, token, "POST", json.dumps(body).encode())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    tokens = Tokens(tmp_path_factory.mktemp("answers"))
    settings = settings_of(tokens, http_wait_seconds=0.3)
    with Served(settings) as served:
        served.api.cache.is_ready = True
        worker = served.api.sender = Worker(settings, served.api.replies)
        yield World(served, tokens, worker)


def test_a_rank_request_returns_the_ranking_with_its_question(world: World) -> None:
    reply = world.post("/v1/rank", world.app, {**RANK, "clarify": True, "instruction": "something calm"})

    assert reply.status == 200
    assert [each["item_id"] for each in reply.body["candidates"]] == ["up", "arrival"]
    assert reply.body["ranked_by"] == "sager"
    assert "seal" not in reply.body, "a client could test guesses of a short key against it"
    assert reply.body["injected"]["slim_skill"] == "likes: animation"
    assert reply.body["injected"]["fit"]["question"]["question_id"] == "q1"
    [request] = world.worker.sent
    assert isinstance(request, RankRequest)
    assert (request.request_id, request.instruction) == (reply.body["ranking_id"], "something calm")


def test_a_missing_ranking_gets_504_with_the_request_id(world: World) -> None:
    world.worker.is_there = False
    try:
        reply = world.post("/v1/rank", world.app, {**RANK, "request_id": "mine"})
    finally:
        world.worker.is_there = True

    assert (reply.status, reply.body["request_id"]) == (504, "mine")
    assert reply.headers["content-type"] == "application/problem+json"
    assert world.served.api.replies._awaited == {}, "who has given up waits no more"


def test_a_refused_command_names_the_reason(world: World) -> None:
    pin = {"domain": "films", "action": "pin", "attribute_id": "preference:genre:noir"}

    reply = world.post("/v1/users/ann/commands", world.advocate, pin)

    assert (reply.status, reply.body["detail"]) == (409, "the command was refused: unknown-attribute")


def test_waiting_calls_of_one_token_leave_room_for_others(world: World) -> None:
    waiting = world.served.api._waiting
    with ExitStack() as held:
        for _ in range(WAITING_CALLS // 2):
            held.enter_context(waiting.hold(tokens.token_hash(world.app)))
        refused = world.post("/v1/rank", world.app, RANK)

        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert world.post("/v1/rank", world.of_ann, RANK).status == 200
    assert world.post("/v1/rank", world.app, RANK).status == 200


def test_a_persons_token_ranks_for_that_person_only(world: World) -> None:
    produces = world.tokens.make("produce", user="*")

    assert world.post("/v1/rank", world.of_ann, RANK).status == 200
    assert world.post("/v1/rank", world.of_ann, {**RANK, "user_id": "bob"}).status == 403
    assert world.post("/v1/rank", produces, RANK).status == 403
    assert world.worker.sent == []


@pytest.mark.parametrize(
    "wrong", [{"candidates": []}, {"candidates": [A] * 101}, {"domain": "A B"}, {"actor": "me"}, {"clarify": 1}]
)
def test_an_invalid_rank_request_is_refused(world: World, wrong: dict[str, Any]) -> None:
    reply = world.post("/v1/rank", world.app, {**RANK, **wrong})

    assert (reply.status, world.worker.sent) == (422, [])
    assert reply.body["errors"][0]["field"] in (*wrong, "?")


def test_words_that_ask_not_to_be_remembered_are_not_sent(world: World) -> None:
    reply = world.post(CORRECT, world.advocate, {"text": "do not remember this: horror"})

    assert (reply.status, reply.body["why"], reply.body["carried_out"]) == (200, "not-remembered", False)
    assert world.worker.sent == []


def test_a_correction_without_a_reply_gets_202(world: World) -> None:
    world.worker.is_there = False
    try:
        reply = world.post(CORRECT, world.advocate, {"text": "no horror"})
    finally:
        world.worker.is_there = True

    assert (reply.status, reply.body["event_id"]) == (202, world.worker.sent[0].event_id)
    assert (reply.body["carried_out"], reply.body["version"]) == (False, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, ""),
        ({"acceptable": ["arrival"]}, ""),
        ({"text": "a", "user_id": "bob"}, "?"),
        ({"text": "a", "language": "!"}, "language"),
    ],
)
def test_an_empty_correction_is_refused(world: World, body: dict[str, Any], field: str) -> None:
    reply = world.post(CORRECT, world.advocate, body)

    assert (reply.status, reply.body["errors"][0]["field"], world.worker.sent) == (422, field, [])
    assert world.post("/v1/users/bob/domains/films/corrections", world.reads, {"text": "a"}).status == 403
