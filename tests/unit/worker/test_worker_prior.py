"""What is taken without a list, after the first choice: it reaches the skill, once, whatever happens to the worker."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from operators.audit import chain_breaks
from operators.learning.fold import fold
from schemas import ONE, Action, Candidate, Interaction, PolicySkill, Profile, SkillDiff, Tier, compound_key, encode
from tests.builders import a_command, a_time, an_attribute, film
from tests.fake_log import FakeDeployment, FakeLog, settings_in
from tests.unit.worker.test_worker_exactly_once import choice, put

KEY = compound_key("ann", "films")


def visit(number: int, of: int = 3, after: int = 100) -> Interaction:
    return Interaction(
        event_id=f"visit-{number}",
        occurred_at=a_time() + timedelta(seconds=after + number),
        user_id="ann",
        domain="films",
        item=Candidate(**film(of)),
    )


def visits_of(log: FakeLog) -> list[SkillDiff]:
    return [diff for diff in log.diffs if not diff.is_contrast]


async def test_visits_before_the_first_choice_are_in_the_seed_and_later_ones_in_diffs(
    deployment: FakeDeployment,
) -> None:
    log, worker = deployment.log, deployment.worker()
    log.put_all([visit(1), visit(2)])
    await worker.quiet()
    put(log, [choice(0, "ann")])
    await worker.quiet()
    assert visits_of(log) == []
    [first] = log.diffs
    assert first.seed is not None
    assert max(taken for taken, *_ in first.seed_hypotheses.values()) > ONE, "both visits"
    assert [position.topic for position in first.seeded_from] == ["t.interactions"]

    log.put_all([visit(3), visit(4, of=4)])
    await worker.quiet()

    assert [diff.event_id for diff in visits_of(log)] == ["visit-3", "visit-4"]
    skill = log.newest(PolicySkill)[KEY]
    assert encode(fold(log.diffs)["ann", "films"]) == encode(skill)
    assert (skill.version, skill.contrasts) == (3, 1)
    assert log.newest(Profile)[KEY].interactions == 4


async def test_a_skill_that_is_warmed_up_counts_no_visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment = FakeDeployment(settings_in(tmp_path, warmup_rounds=1), monkeypatch)
    log, worker = deployment.log, deployment.worker()
    put(log, [choice(0, "ann")])
    await worker.quiet()

    log.put(visit(1))
    await worker.quiet()

    assert visits_of(log) == []
    await deployment.close()


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "nothing committed"])
async def test_no_death_after_any_effect_loses_or_repeats_anything(deployment: FakeDeployment, commits: bool) -> None:
    """Visits and choices are in two topics, for two agents: each is counted once, each version is there once."""
    deployment.log.put_all([visit(0, after=0), *choice(0, "ann"), *choice(4, "ann"), visit(1), visit(2, of=4)])

    async for successor in deployment.successors(deaths=15, commits=commits):
        log = successor.log
        log_of = sorted(log.newest(SkillDiff).values(), key=lambda diff: diff.version)
        assert max(Counter((diff.user_id, diff.version) for diff in log.diffs).values()) == 1
        assert chain_breaks(log_of) == []
        skill = log.newest(PolicySkill)[KEY]
        assert encode(fold(log_of)["ann", "films"]) == encode(skill)
        assert log.newest(Profile)[KEY].interactions == 3
        seeded = log_of[0].seeded_from
        in_seed = seeded[0].offset + 1 if seeded else 0
        told = [diff.event_id for diff in log_of]
        assert len(told) == len(set(told)) == 2 + 3 - in_seed, "a visit is in the seed or in a diff, and never in both"


async def test_interactions_that_an_import_brings_along_are_not_counted_twice(deployment: FakeDeployment) -> None:
    """The lines that were imported have counted them already; later ones are new."""
    log, worker = deployment.log, deployment.worker()
    lines = (an_attribute("genre: noir", Tier.HIGH, support=4),)
    log.put(a_command(Action.IMPORT, user_id="ann", domain="films", lines=lines, occurred_at=a_time(60)))
    await worker.quiet()

    log.put_all([visit(1, after=-3_600), visit(2, after=7_200)])
    await worker.quiet()

    assert [diff.event_id for diff in visits_of(log)][1:] == ["visit-2"]
    assert log.newest(Profile)[KEY].interactions == 2
    assert encode(fold(log.diffs)["ann", "films"]) == encode(log.newest(PolicySkill)[KEY])
