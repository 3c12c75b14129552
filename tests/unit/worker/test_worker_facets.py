"""Hosts that rank by themselves: their users' choices come with what the community says, where somebody reads it."""

from datetime import timedelta
from pathlib import Path

import pytest

from operators.options import EvolveMode
from schemas import Candidate, Contrast, Interaction, RankedBy, Ranking, Selection
from streams.settings import ReasonerName
from streams.worker.agents.contrast import reads_facets
from tests.builders import a_time
from tests.fake_log import FakeLog, FakeWorker, settings_in
from tests.worlds import film

DOMAIN = "films"
PEERS = ("ann", "bob", "kim", "lea")


def visit(user: str, number: int) -> Interaction:
    return Interaction(
        event_id=f"i-{user}-{number}",
        occurred_at=a_time(),
        user_id=user,
        domain=DOMAIN,
        item=Candidate(**film(number)),
    )


def shown(by: RankedBy = RankedBy.APP) -> Ranking:
    return Ranking(
        event_id="shown",
        occurred_at=a_time() + timedelta(minutes=1),
        user_id="ann",
        domain=DOMAIN,
        ranking_id="r1",
        ranked_by=by,
        candidates=tuple(Candidate(**film(20 + number)) for number in range(6)),
    )


def taken(place: int) -> Selection:
    ranking = shown()
    return Selection(
        event_id="taken",
        occurred_at=ranking.occurred_at + timedelta(minutes=1),
        user_id="ann",
        ranking_id=ranking.ranking_id,
        item_id=ranking.candidates[place].item_id,
    )


async def learned(folder: Path, **more: object) -> Contrast:
    """Four people take the same films, then Ann takes one from a list that her app has ordered."""
    log = FakeLog(settings_in(folder, **more))
    worker = FakeWorker(log)
    log.put_all(visit(user, number) for number in range(4) for user in PEERS)
    await worker.quiet()
    log.put_all(visit(user, 9) for user in PEERS[1:])
    await worker.quiet()
    log.put_all((shown(), taken(2)))
    await worker.quiet()
    await worker.kill()
    [contrast] = log.values(Contrast)
    return contrast


async def test_a_choice_from_the_apps_own_order_comes_with_what_the_community_says(tmp_path: Path) -> None:
    contrast = await learned(tmp_path, evolve_mode=EvolveMode.INCREMENTAL)

    assert contrast.facets
    assert all(facet.attribute_id for facet in contrast.facets)
    told = [name for facet in contrast.facets for name in facet.supporting_neighbors]
    assert not any(name.startswith("user:") for name in told)


@pytest.mark.parametrize(
    ("reasoner", "mode", "retrieve", "read"),
    [
        (ReasonerName.LLM, EvolveMode.COUNTS, True, True),
        (ReasonerName.LLM, EvolveMode.COUNTS, False, False),
        (ReasonerName.RULES, EvolveMode.INCREMENTAL, True, True),
        (ReasonerName.RULES, EvolveMode.COUNTS, True, False),
    ],
)
def test_facets_are_for_models_and_for_rules(
    tmp_path: Path, reasoner: ReasonerName, mode: EvolveMode, retrieve: bool, read: bool
) -> None:
    settings = settings_in(tmp_path, reasoner=reasoner, evolve_mode=mode, retrieve=retrieve)
    assert reads_facets(settings) is read
