"""What people say of items and lists reaches the skill, once, in any order, whatever happens to the worker."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from operators.admission import abstention_id, contrast_id
from operators.audit import chain_breaks
from operators.learning.fold import fold
from operators.steps.evolve import EvolveStep
from schemas import Candidate, Correction, DeadLetter, Directive, PolicySkill, SkillDiff, SlimSkill, Stance, encode
from schemas.events import Abstention, Feedback, Ranking, Selection
from schemas.topics import compound_key
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import a_time, film
from tests.fake_log import FakeDeployment, FakeLog, settings_in
from tests.unit.worker.test_worker_exactly_once import FILMS, choice

ANN = "ann"
KEY = compound_key(ANN, "films")
Sent = Ranking | Selection | Feedback | Correction


def signal(kind: str, number: int = 2, of: int = 3, **more: Any) -> Feedback:
    return Feedback(
        event_id=f"{kind}-{number}",
        occurred_at=a_time() + timedelta(seconds=100 + number),
        user_id=ANN,
        domain="films",
        item=Candidate(**film(of)),
        signal=kind,
        **more,
    )


def said(number: int = 0, text: str = "", **more: Any) -> Correction:
    horror = Directive(stance=Stance.AVOIDS, dimension="genre", value="Horror")
    what = {} if text else {"directives": (horror,)}
    return Correction(
        event_id=f"said-{number}",
        occurred_at=a_time() + timedelta(seconds=200 + number),
        user_id=ANN,
        domain="films",
        text=text,
        items=tuple(Candidate(**film(each)) for each in range(FILMS)),
        **{**what, **more},
    )


def nothing_taken(number: int) -> tuple[Ranking, Selection]:
    ranking, selection = choice(number, ANN)
    return ranking, selection.model_copy(update={"item_id": None, "none_taken": True})


def several_taken(number: int) -> tuple[Ranking, Selection]:
    ranking, selection = choice(number, ANN)
    other = next(each.item_id for each in ranking.candidates if each.item_id != selection.item_id)
    return ranking, selection.model_copy(update={"others": (other,)})


def all_of_it() -> list[Sent]:
    in_session = {"session_id": "evening"}
    return [
        *(each.model_copy(update=in_session) for each in choice(0, ANN)),
        *several_taken(1),
        *nothing_taken(2),
        signal("liked", of=1, **in_session),
        signal("returned", of=2),
        said(**in_session),
        said(1, acceptable=("film-4",)),
    ]


TOLD = {
    *(contrast_id(ANN, f"r{number}") for number in (0, 1)),
    abstention_id(ANN, "r2"),
    *("liked-2", "returned-2", "said-0", "said-1"),
}


def assert_each_told_once(log: FakeLog) -> None:
    """Every effect is in the log once; the log is whole, and folds to the skill."""
    newest = sorted(log.newest(SkillDiff).values(), key=lambda diff: diff.version)
    assert max(Counter(diff.version for diff in log.diffs).values()) == 1
    assert Counter(diff.event_id for diff in newest) == Counter(TOLD)
    assert chain_breaks(newest) == []
    skill = log.newest(PolicySkill)[KEY]
    assert encode(fold(newest)[ANN, "films"]) == encode(skill)
    wanted, of_apps = (
        EvolveStep(slim_tokens=30, privacy=PRIVACY, gate=OUTPUT_GATE).slim(skill),
        log.newest(SlimSkill)[KEY],
    )
    assert wanted is not None
    assert told(of_apps) == told(wanted)
    assert len({each.event_id for each in log.values(Abstention)}) == 1
    assert log.of(DeadLetter.TOPIC) == []


def told(short: SlimSkill) -> tuple[object, ...]:
    return short.text, short.avoids, short.session_id, short.session_until, short.session_text


@settings(max_examples=15, deadline=None)
@given(st.permutations(all_of_it()), st.lists(st.sampled_from(all_of_it()), max_size=6), st.integers(0, 99))
def test_any_order_and_repeats_give_each_effect_once(
    events: Sequence[Sent], repeats: Sequence[Sent], seed: int
) -> None:
    async def check(folder: Path, patch: pytest.MonkeyPatch) -> None:
        deployment = FakeDeployment(settings_in(folder), patch)
        deployment.log.put_all([*events, *repeats])
        await deployment.worker(seed, slow=3).quiet()
        assert_each_told_once(deployment.log)
        await deployment.close()

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        asyncio.run(check(Path(folder), patch))


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "nothing committed"])
async def test_no_death_after_any_effect_loses_or_repeats_anything(deployment: FakeDeployment, commits: bool) -> None:
    deployment.log.put_all(all_of_it())

    async for successor in deployment.successors(deaths=30, commits=commits):
        assert_each_told_once(successor.log)


@pytest.mark.parametrize(
    ("text", "outcome", "told"),
    [
        ("please do not remember this: no horror", "not-remembered", 0),
        ("a gift for my mother, no horror", "for-another", 1),
    ],
)
async def test_words_that_are_not_to_be_remembered_or_for_another_teach_nothing(
    deployment: FakeDeployment, text: str, outcome: str, told: int
) -> None:
    """That somebody else was meant is told; of what nobody is to remember not even that."""
    before = counted("sager_corrections_total", domain="films", outcome=outcome)
    words = said(text=text).model_copy(update={"directives": said().directives})
    deployment.log.put(words)

    await deployment.worker().quiet()

    assert len(deployment.log.diffs) == told
    assert not any(diff.stated or diff.changes for diff in deployment.log.diffs)
    assert held(deployment.log, b"horror") == {"corrections"}, "where the app sent it, until its retention ends"
    assert counted("sager_corrections_total", domain="films", outcome=outcome) == before + 1


async def test_personal_data_in_corrections_is_not_stored(deployment: FakeDeployment) -> None:
    text = "no horror, and write to anna@example.org"
    deployment.log.put(said(text=text).model_copy(update={"directives": said().directives}))

    await deployment.worker().quiet()

    assert held(deployment.log, b"anna@example.org") == {"corrections"}


async def test_a_sensitive_statement_is_refused_and_stored_nowhere(deployment: FakeDeployment) -> None:
    private = Directive(stance=Stance.PREFERS, dimension="theme", value="diabetes")
    instead = Directive(stance=Stance.INSTEAD, dimension="theme", value="noir", over="diabetes")
    deployment.log.put_all([said(directives=(private,)), said(1, directives=(instead,))])

    await deployment.worker().quiet()

    told = [[refused.why.value for refused in diff.refused] for diff in deployment.log.diffs]
    assert told == [["private"], ["private"]]
    assert held(deployment.log, b"diabetes") == {"corrections"}


def held(log: FakeLog, text: bytes) -> set[str]:
    return {record.topic.removeprefix("t.") for record in log.order if text in (record.key or b"") + record.value}


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0
