"""LLM_Ext after a choice: a model selects the slim skill's lines, and the log alone rebuilds them."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from operators.learning.fold import fold
from operators.options import EvolveMode
from schemas import Candidate, Interaction, PolicySkill, Ranking, Selection, SkillDiff, SlimSkill, encode
from streams.worker.reasoning.llm import close_clients
from tests.builders import a_time, id_of
from tests.fake_log import FakeDeployment, FakeWorker, settings_in
from tests.openai_server import Act, Do, OpenAiServer, threaded

Ann = tuple[FakeWorker, OpenAiServer]
DRAMA, HORROR = id_of("genre: drama"), id_of("genre: horror")


def item(name: str, *genres: str) -> Candidate:
    return Candidate(item_id=name, title=name, metadata={"genre": list(genres)})


async def take(worker: FakeWorker, number: int, *genres: str) -> tuple[SkillDiff, str]:
    """Take an item of a list; return the newest diff and slim text, whose skill is the fold of the log."""
    log, name = worker.log, f"r{number}"
    shown = [item(f"{name}-{other}", other) for other in ("western", "comedy", "opera")]
    event = {"occurred_at": a_time() + timedelta(days=number), "user_id": "ann", "ranking_id": name}
    log.put(Ranking(event_id=f"e{name}", domain="films", candidates=(*shown, item(name, *genres)), **event))
    log.put(Selection(event_id=f"s{name}", item_id=name, **event))
    await worker.quiet()
    assert encode(fold(log.diffs)["ann", "films"]) == encode(log.values(PolicySkill)[-1])
    return log.diffs[-1], log.values(SlimSkill)[-1].text


@pytest_asyncio.fixture(params=list(EvolveMode))
async def ann(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ann]:
    with threaded(OpenAiServer()) as server:  # whose connections are no work of the worker
        model = {"llm_base_url": server.base_url, "llm_model": "fake", "llm_attempts": 1, "extract_by": "llm"}
        deployment = FakeDeployment(settings_in(tmp_path, evolve_mode=request.param, **model), monkeypatch)
        worker = deployment.worker()
        for n in range(12):
            event = {"event_id": f"v{n}", "occurred_at": a_time(n), "user_id": "ann", "domain": "films"}
            deployment.log.put(Interaction(**event, item=item(f"old{n}", "drama", "horror")))
        await worker.quiet()
        yield worker, server
        await deployment.close()
        await close_clients()


async def test_a_selection_stays_until_other_lines_are_eligible(ann: Ann) -> None:
    worker, server = ann
    server.always = Act(says={"likes": ["horror"], "style": "none"})
    first, text = await take(worker, 1, "drama", "horror")
    assert (first.slim_lines, text, first.reasoned_by.calls) == ((HORROR,), "likes: horror", 0)
    assert first.slim_by is not None
    assert (first.slim_by.model, first.slim_by.prompt, first.slim_by.calls) == ("fake", "slim.v1", 1)
    second, _ = await take(worker, 2, "drama", "horror")
    assert (second.slim_lines, second.slim_by, len(server.bodies)) == (None, None, 1)

    server.always = Act(says={"likes": ["action", "horror"] * 40, "style": "none"})
    numbers = iter(range(3, 12))
    while (await take(worker, next(numbers), "action"))[0].slim_by is None:
        pass
    assert (len(server.bodies), worker.log.values(SlimSkill)[-1].text) == (2, "likes: action, horror")


@pytest.mark.parametrize("act", [Act(Do.FAIL), Act(Do.LIE), Act(says={"likes": ["western"]})], ids=lambda act: act.do)
async def test_rules_select_where_the_model_fails(ann: Ann, act: Act) -> None:
    worker, server = ann
    server.always = act
    diff, _ = await take(worker, 1, "drama", "horror")
    assert diff.slim_by is not None
    assert (diff.slim_by.reasoner, diff.slim_by.calls, bool(diff.slim_by.fallback)) == ("rules", 0, True)
    assert set(diff.slim_lines or ()) == {DRAMA, HORROR}
