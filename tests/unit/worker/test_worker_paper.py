"""The mode `paper` is one thing: the worker and the evaluation make the same skill of the same events."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from evaluation.plans import Choice, Plan
from evaluation.simulation import Turn
from evaluation.skill_arms import PAPER, STREAM_RULES, SkillArm
from operators.learning.fold import fold
from operators.options import EvolveMode
from operators.statinit import facts_of, parser_for
from schemas import Candidate, GlobalSkill, Interaction, PolicySkill, Ranking, Selection, Tier, compound_key, encode
from streams.importers.dataset import Visit
from tests.builders import a_time, film
from tests.fake_log import FakeDeployment, FakeLog, settings_in

ANN, DOMAIN = "ann", "films"
FILMS = {f"film-{number}": Candidate(**film(number)) for number in range(24)}
# Visits before the first choice; then the taken film of each list, or of a visit without a list.
PAST = (0, 6, 12, 3, 7, 18)
TAKEN = (("list", 0), ("list", 6), ("visit", 9), ("list", 13), ("list", 1), ("list", 1), ("list", 0), ("list", 19))


def visit(number: int, place: int) -> Visit:
    return Visit(f"film-{number}", a_time() + timedelta(seconds=place))


def choices() -> list[Choice]:
    made = []
    for place, (kind, number) in enumerate(TAKEN, len(PAST)):
        others = [f"film-{(number + 1 + 5 * step) % 24}" for step in range(1, 5)]
        listed = tuple(sorted({f"film-{number}", *others}))
        made.append(Choice(f"r{place}", visit(number, place), listed, shown=kind == "list"))
    return made


def plan() -> Plan:
    empty = GlobalSkill(event_id="g", occurred_at=a_time(), domain=DOMAIN, users=0)
    facts = {name: facts_of(item, parser_for(DOMAIN, {})) for name, item in FILMS.items()}
    past = tuple(visit(number, place) for place, number in enumerate(PAST))
    return Plan("made-up", DOMAIN, None, len(PAST), FILMS, facts, {ANN: past}, {ANN: tuple(choices())}, {ANN: empty})


def interaction(taken: Visit, place: int) -> Interaction:
    item = FILMS[taken.item_id]
    return Interaction(event_id=f"visit-{place}", occurred_at=taken.at, user_id=ANN, domain=DOMAIN, item=item)


def put_list(log: FakeLog, choice: Choice, order: Sequence[str]) -> None:
    at, shown = choice.taken.at, tuple(FILMS[name] for name in order)
    name = choice.request_id
    log.put(
        Ranking(event_id=f"of-{name}", occurred_at=at, user_id=ANN, domain=DOMAIN, ranking_id=name, candidates=shown)
    )
    log.put(
        Selection(event_id=f"taken-{name}", occurred_at=at, user_id=ANN, ranking_id=name, item_id=choice.taken.item_id)
    )


async def test_worker_and_evaluation_give_the_same_skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment = FakeDeployment(settings_in(tmp_path, evolve_mode=EvolveMode.PAPER), monkeypatch)
    log, worker, arm = deployment.log, deployment.worker(), SkillArm(STREAM_RULES[PAPER], plan())
    log.put_all([interaction(visit(number, place), place) for place, number in enumerate(PAST)])
    await worker.quiet()

    for place, choice in enumerate(choices(), len(PAST)):
        turn = Turn(ANN, choice)
        answer = await arm.answer(turn)
        if choice.shown:
            put_list(log, choice, answer.order)
        else:
            log.put(interaction(choice.taken, place))
        await worker.quiet()
        await arm.learn(turn, answer, choice.taken)

        found, wanted = log.newest(PolicySkill)[compound_key(ANN, DOMAIN)], arm.skills[ANN]
        assert found.attributes == wanted.attributes
        assert (found.version, found.contrasts, found.strategy) == (wanted.version, wanted.contrasts, wanted.strategy)

    assert found.contrasts == sum(kind == "list" for kind, _ in TAKEN)
    assert {line.tier for line in found.attributes} == {Tier.LOW, Tier.MEDIUM, Tier.HIGH}
    assert encode(fold(log.diffs)[ANN, DOMAIN]) == encode(found)
    assert not any(line.taken or line.expected or line.proof for line in found.attributes)
    await deployment.close()
