"""Shares of the work that waits for a worker: one token, or one person, leaves room for others."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY
from streams.http.commands import Changes
from streams.http.work import Share, Threads

from streams.http.api import CHANGING, CHANGING_WAITING, OF_A_PERSON, OF_A_TOKEN
from streams.http.problems import Problem
from streams.settings import Settings
from tests.patience import until
from tests.unit.http.http_world import Served, Tokens, published

PLACES = CHANGING + CHANGING_WAITING
FREEZE = json.dumps({"action": "freeze", "domain": "films"}).encode()


def taken(wishes):
    """How many of each one's wishes got a place, where nothing ever ends; and the statuses of the others."""
    got, statuses, stop = {}, [], threading.Event()

    async def run():
        threads = Threads("test", PLACES, 0)
        tasks = []
        for token, person in wishes:
            shares = (Share("token-share", token, OF_A_TOKEN), Share("person-share", person, OF_A_PERSON))
            task = asyncio.ensure_future(threads.run(stop.wait, *shares))
            await asyncio.sleep(0)
            if task.done():
                assert isinstance(task.exception(), Problem)
                statuses.append(task.exception().status)
            else:
                got[(token, person)] = got.get((token, person), 0) + 1
                tasks.append(task)
        stop.set()
        await asyncio.gather(*tasks)
        # All places are free again.
        assert await threads.run(lambda: True, *shares)
        assert threads._places._room == PLACES
        assert not threads._places._held
        threads.close()

    asyncio.run(run())
    return got, statuses


def test_one_token_takes_half_and_one_person_a_fifth():
    assert taken([("backend", f"user-{n}") for n in range(40)])[1] == [429] * 32
    assert taken([("ann's app", "ann")] * 40) == ({("ann's app", "ann"): 3}, [429] * 37)
    assert sum(taken([(f"token {n}", "ann") for n in range(40)])[0].values()) == 3, "many tokens are one person"


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), max_size=60))
def test_whoever_comes_after_up_to_four_greedy_tokens_finds_room(wishes):
    got, _ = taken([*((f"token {t}", f"person {p}") for t, p in wishes), ("new token", "new person")])

    assert got[("new token", "new person")] == 1


def refusals():
    return REGISTRY.get_sample_value("sager_http_rate_limited_total", {"by": "person-share"}) or 0.0


@pytest.fixture
def file(tmp_path):
    return Tokens(tmp_path)


def test_one_persons_commands_leave_room_for_another_while_no_worker_runs(file, tmp_path, monkeypatch):
    """Over HTTP: all that is replaced is Kafka, which never answers."""
    stop, waiting = threading.Event(), []

    def wait(self, command):
        waiting.append(command.user_id)
        stop.wait()

    monkeypatch.setattr(Changes, "carry_out", wait)
    anns, bobs = file.make("change-user", user="ann"), file.make("change-user", user="bob")
    backend = file.make("change-user", user="*")
    limits = Settings(duckdb=published(), http_tokens=file.path, data_dir=tmp_path, http_rate=1e3, http_burst=1_000)
    before = refusals()
    with Served(limits) as api, ThreadPoolExecutor(60) as clients:
        try:
            for_ann = [clients.submit(api.ask, "/v1/users/ann/commands", anns, "POST", FREEZE) for _ in range(30)]
            until(lambda: sum(each.done() for each in for_ann) == 27, "all but three to be refused")
            # By her own token or the backend's: it is one person's share.
            assert api.ask("/v1/users/ann/commands", backend, "POST", FREEZE).status == 429
            for_bob = clients.submit(api.ask, "/v1/users/bob/commands", bobs, "POST", FREEZE)
            until(lambda: "bob" in waiting, "bob's command to be sent")
            for_others = [
                clients.submit(api.ask, f"/v1/users/user-{n}/commands", backend, "POST", FREEZE) for n in range(20)
            ]
            until(lambda: sum(each.done() for each in for_others) == 14, "the backend's share to be used up")
            for_carl = clients.submit(
                api.ask, "/v1/users/carl/commands", file.make("change-user", user="carl"), "POST", FREEZE
            )
            until(lambda: "carl" in waiting, "carl's command to be sent")
        finally:
            stop.set()
        refused = [each.result() for each in for_ann if each.result().status != 202]

    assert len(refused) == 27
    for reply in refused:
        assert (reply.status, reply.body["title"], reply.headers["retry-after"]) == (429, "Too Many Requests", "1")
        assert reply.headers["content-type"] == "application/problem+json"
    assert (for_bob.result().status, for_carl.result().status) == (202, 202)
    assert refusals() == before + 28
