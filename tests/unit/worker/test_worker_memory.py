"""The worker shows a model the card from before a chunk, and its verdicts reach card and log."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from schemas.cards import CardChangeKind, CardDiff
from streams.worker.reasoning.llm import close_clients
from tests.fake_log import FakeDeployment, settings_in
from tests.openai_server import Act, OpenAiServer, threaded
from tests.unit.worker.test_worker_listen import assert_whole, lines, talk

SEAT, AISLE = "prefers:stated:window-seats", "prefers:stated:the-aisle"
UPDATES = Act(says={"1": "now likes: the aisle", "m1": "updated"})


@pytest_asyncio.fixture(params=[True, False], ids=["memory", "without"])
async def told(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[FakeDeployment, OpenAiServer, bool]]:
    with threaded(OpenAiServer()) as server:
        model = {"reasoner": "llm", "llm_base_url": server.base_url, "llm_model": "fake", "llm_attempts": 1}
        settings = settings_in(tmp_path, listen_memory=request.param, **model)
        deployment = FakeDeployment(settings, monkeypatch)
        yield deployment, server, request.param
        await deployment.close()
        await close_clients()


async def test_a_model_links_an_update_in_other_words_to_its_line(
    told: tuple[FakeDeployment, OpenAiServer, bool],
) -> None:
    deployment, server, has_memory = told
    log, worker = deployment.log, deployment.worker()
    server.then(Act(says={"1": "likes: window seats"}), UPDATES)

    log.put_all(talk("c1", "Window seats make my day."))
    await worker.quiet()
    later = timedelta(days=1)
    for turn in talk("c2", "It has to be the aisle for me."):
        log.put(turn.model_copy(update={"occurred_at": turn.occurred_at + later}))
    await worker.quiet()

    assert len(server.bodies) == 2
    assert ["<card>\nm1. likes Window seats\n</card>" in prompt for prompt in server.prompts] == [False, has_memory]
    assert lines(log) == ({AISLE} if has_memory else {SEAT, AISLE})
    ended = [change.line_id for change in log.values(CardDiff)[-1].changes if change.kind is CardChangeKind.OVERTAKEN]
    assert ended == ([SEAT] if has_memory else [])
    assert_whole(log)
