"""A model quotes an item's text; the worker counts the value in the texts of later lists."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from operators.learning.fold import fold
from schemas import Candidate, Contrast, PolicySkill, Ranking, RankRequest, Selection, SkillDiff
from schemas.skills import ONE
from streams.worker.deps import Deps
from streams.worker.reasoning.llm import close_clients
from tests.builders import a_skill, an_attribute
from tests.fake_log import FakeDeployment, settings_in
from tests.openai_server import Act, OpenAiServer, threaded

VALUE = "preference:style:slow-burn"
TEXTS = ("A slow-burn romance by the sea.", "A loud heist.", "Slow burn westerns and cows.")
QUOTED = [{"value": "slow-burn", "dimension": "style"}]


def items(number: int) -> tuple[Candidate, ...]:
    """Return new items with always the same texts."""
    return tuple(
        Candidate(item_id=f"i{number}{place}", title=f"No. {number}{place}", description=text, metadata={"genre": "x"})
        for place, text in enumerate(TEXTS)
    )


def choose(deployment: FakeDeployment, number: int, place: int) -> None:
    shown, at = items(number), datetime.now(UTC)
    names = {"ranking_id": f"r{number}", "user_id": "ann", "occurred_at": at}
    deployment.log.put(Ranking(event_id=f"e{number}", domain="films", candidates=shown, **names))
    deployment.log.put(Selection(event_id=f"s{number}", item_id=shown[place].item_id, **names))


def having(contrast: Contrast) -> Sequence[str]:
    return [item.item_id for item in (contrast.chosen, *contrast.unchosen) if ("style", "slow-burn") in item.facts]


async def test_a_quoted_value_counts_in_later_lists_and_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with threaded(OpenAiServer()) as server:
        server.then(Act(says={"quoted": QUOTED}))
        url = server.base_url
        settings = settings_in(tmp_path, reasoner="llm", llm_base_url=url, llm_model="fake", llm_attempts=1)
        deployment = FakeDeployment(settings, monkeypatch)
        worker = deployment.worker()
        for number, place in enumerate((0, 2, 1, 0, 2)):
            choose(deployment, number, place)
            await worker.quiet()
        request = {"event_id": "q", "request_id": "q", "user_id": "ann", "domain": "films", "candidates": items(9)}
        deployment.log.put(RankRequest(**request, occurred_at=datetime.now(UTC)))
        await worker.quiet()
        await worker.stop()
        await close_clients()

    log = deployment.log
    first, *later = log.values(Contrast)
    assert having(first) == []
    assert [sorted(having(each)) for each in later] == [[f"i{n}0", f"i{n}2"] for n in range(1, 5)]
    diffs = log.values(SkillDiff)
    lines = [{line.attribute_id: line for line in fold(diffs[:n]).popitem()[1].attributes}[VALUE] for n in (1, 2, 3)]
    assert [line.quote for line in lines] == ["A slow-burn romance by the sea"] * 3
    # Taken, taken again, left.
    assert lines[0].taken == ONE < lines[1].taken > lines[2].taken
    assert lines[0].expected < lines[1].expected
    assert log.values(PolicySkill)[-1].attributes == fold(diffs).popitem()[1].attributes
    # Two of three offered items had it, and four of five taken ones: it ranks both before the loud heist.
    ranked = [item.item_id for item in log.values(Ranking)[-1].candidates]
    assert ranked[2] == "i91"


async def test_a_ranking_has_the_models_reasons_without_personal_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = [{"key": key, "why": f"{key}: mail jane.doe@example.com"} for key in "ABC"]
    with threaded(OpenAiServer(Act(says={"ranking": order}))) as server:
        model = {"llm_base_url": server.base_url, "llm_model": "fake", "llm_attempts": 1, "rank_orders": 1}
        settings = settings_in(tmp_path, ranker="listwise", rank_reasons=True, **model)
        deployment = FakeDeployment(settings, monkeypatch)
        worker = deployment.worker()
        request = {"event_id": "q", "request_id": "q", "user_id": "ann", "domain": "films", "candidates": items(9)}
        deployment.log.put(RankRequest(**request, occurred_at=datetime.now(UTC)))
        await worker.quiet()
        await worker.stop()
        await close_clients()

    [ranking] = deployment.log.values(Ranking)
    reasons = ranking.injected.reasons
    assert reasons.keys() == {item.item_id for item in items(9)}
    assert all("mail" in why and "jane" not in why for why in reasons.values())


def test_an_unreadable_item_has_no_quoted_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It teaches nothing, also where its text mentions a value."""
    (tmp_path / "failing_parser.py").write_text("def read(candidate):\n    raise ValueError\n")
    installed = tmp_path / "failing-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: failing\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[sager.domains]\nunreadables = failing_parser:read\n")
    monkeypatch.syspath_prepend(tmp_path)
    skill = a_skill(an_attribute("style: slow-burn").model_copy(update={"quote": "A slow-burn romance"}))

    for domain, mentioned in (("films", [("style", "slow-burn")]), ("unreadables", [])):
        found = Deps(settings_in(tmp_path)).facts_for(skill, domain, items(1)[0])
        assert found.unreadable is (domain == "unreadables")
        assert [fact for fact in found.facts if fact.value == "slow-burn"] == mentioned
