"""What a person said is forgotten like what they took: statements, words, sessions, and what lies on topics."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from operators.audit import chain_breaks
from operators.learning.fold import fold
from operators.stated import item_attribute
from schemas import Correction, Directive, Feedback, PolicySkill, Stance, compound_key, line_of
from tests.builders import a_candidate, a_time
from tests.fake_log import FakeDeployment, FakeLog
from tests.unit.worker.test_worker_exactly_once import choice, put
from tests.unit.worker.test_worker_forgetting import ANN, LINE, SCOPES, hers, request, scopes, state, traces
from tests.unit.worker.test_worker_heard import nothing_taken, several_taken

KEY = compound_key(ANN, "films")
ITEM = a_candidate("zyxquill-tape", genres=["Drama"])
AN_ITEM = {"domain": "films", "line": line_of(ANN, "films", item_attribute("zyxquill-tape"))}


def said(name: str = "said", at: datetime | None = None) -> Correction:
    """She wants no waltzes, in words that name them; and something else that she says in one breath."""
    waltzes = Directive(stance=Stance.AVOIDS, dimension="music", value="zyxquillwaltzes")
    drama = Directive(stance=Stance.PREFERS, dimension="genre", value="Drama")
    return Correction(
        event_id=name,
        occurred_at=at or a_time() + timedelta(seconds=300),
        user_id=ANN,
        domain="films",
        text="no zyxquillwaltzes please, drama",
        directives=(waltzes, drama),
        session_id="s1",
    )


def hidden(name: str = "hidden", at: datetime | None = None) -> Feedback:
    """She hides a tape."""
    when = at or a_time() + timedelta(seconds=301)
    whose = {"user_id": ANN, "domain": "films"}
    return Feedback(event_id=name, occurred_at=when, item=ITEM, signal="hidden", session_id="s1", **whose)


@pytest_asyncio.fixture
async def known(deployment: FakeDeployment) -> AsyncIterator[FakeDeployment]:
    """Ann and others take films; she took two of a list and nothing of another, and says what nobody else says."""
    log = deployment.log
    put(log, [choice(number) for number in range(12)])
    put(log, [several_taken(50), nothing_taken(51)])
    worker = deployment.worker()
    await worker.quiet()
    log.put_all([said(), hidden()])
    await worker.quiet()
    await worker.stop()
    yield deployment


def quoted(log: FakeLog, words: bytes = b"zyxquill") -> set[str]:
    """The topics of skills that hold her words."""
    bases = ("skills", "skill-diffs", "slim-skills")
    return {base for base in bases for value in log.compacted(base).values() if words in value}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("commits", [True, False], ids=["committed", "nothing committed"])
async def test_a_worker_may_die_at_every_step_of_forgetting(known: FakeDeployment, scope: str, commits: bool) -> None:
    before = known.log
    before.put(request(**SCOPES[scope]))
    known.log = before.copy()
    await known.worker().quiet()
    undisturbed = known.log
    [told] = scopes(undisturbed)
    assert (told.done, told.versions) == (True, 7)

    known.log = before
    async for _ in known.successors(deaths=10, commits=commits):
        assert scopes(known.log) == [told]
        assert state(known.log) == state(undisturbed)
        assert chain_breaks(hers(known.log)) == []
        assert scope != "person" or traces(known.log) == []


async def test_a_line_takes_what_was_stated_of_it_along_and_all_words(known: FakeDeployment) -> None:
    worker = known.worker()
    assert {"skills", "skill-diffs"} <= quoted(known.log)
    before = known.log.newest(PolicySkill)[KEY]

    known.log.put_all([request(**SCOPES["line"]), request(**AN_ITEM).model_copy(update={"event_id": "and the tape"})])
    await worker.quiet()

    log, skill = hers(known.log), known.log.newest(PolicySkill)[KEY]
    # As evidence an item's id stays, as that of what was taken does: what the tape was hidden for is gone.
    values = b"".join(value for value in known.log.compacted("skill-diffs").values())
    assert b"zyxquillwaltzes" not in values
    assert b"avoids:item" not in values
    assert fold(log)[ANN, "films"] == skill
    assert {each.statement_id for each in before.stated} - {each.statement_id for each in skill.stated} == {
        f"avoids:{LINE}",
        f"avoids:{item_attribute('zyxquill-tape')}",
    }
    assert {each.words for each in skill.stated} == {""}
    assert [[each.kind.value for each in diff.stated] for diff in log[-2:]] == [["forgotten"], ["forgotten"]]


BY_NAME = {"line": LINE, "statement": f"avoids:{LINE}"}


@pytest.mark.parametrize("name", BY_NAME.values(), ids=BY_NAME.keys())
async def test_a_line_is_not_stated_again_by_words_from_before(known: FakeDeployment, name: str) -> None:
    """Whether the line is named or what was said of it."""
    worker = known.worker()
    known.log.put(request(domain="films", line=line_of(ANN, "films", name)))
    await worker.quiet()
    assert quoted(known.log, b"zyxquillwaltzes") == set()

    known.log.put(said("late"))
    await worker.quiet()

    assert "waltzes" not in str(known.log.newest(PolicySkill)[KEY])
    known.log.put(said("again", datetime.now(UTC)))
    await worker.quiet()
    assert f"avoids:{LINE}" in {each.statement_id for each in known.log.newest(PolicySkill)[KEY].stated}


async def test_what_was_said_before_is_not_heard_again(known: FakeDeployment) -> None:
    worker = known.worker()
    known.log.put(request())
    await worker.quiet()
    so_far = len(known.log.diffs)

    known.log.put_all([said(), hidden(), said("late"), hidden("late"), *nothing_taken(51), *nothing_taken(60)])
    await worker.quiet()

    assert len(known.log.diffs) == so_far
    assert traces(known.log) == []
