"""What was said in conversations is forgotten when somebody asks for it, in words or by a command, and stays so."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from operators.cards.fold import fold_cards
from operators.erasure import card_line_digest
from schemas import TOPICS, DeadLetter, ForgetRequest, PolicySkill, Receipt, Utterance, encode, line_digest
from schemas.cards import Card, CardAction, CardChangeKind, CardCommand, CardDiff, PendingConversations
from tests.builders import a_time
from tests.fake_log import FakeDeployment, FakeLog
from tests.unit.worker.test_worker_listen import (
    ANN,
    NOON_MS,
    RUNS,
    a_command,
    card_of,
    lines,
    listener,
    look,
    said,
    talk,
    waiting,
)

WORD = b"zyxquill"
LINE = "prefers:stated:zyxquill-waltzes"
OF_FILMS = "prefers:films:genre:horror"


def traces(log: FakeLog, word: bytes = WORD) -> list[str]:
    compact = [topic.base for topic in TOPICS.values() if topic.compact]
    return [base for base in compact for key, value in log.compacted(base).items() if word in (key + value).lower()]


def hers(log: FakeLog) -> list[CardDiff]:
    return sorted(log.newest(CardDiff).values(), key=lambda diff: diff.version)


def assert_folds(log: FakeLog) -> None:
    assert [diff.version for diff in hers(log)] == list(range(1, card_of(log).version + 1))
    assert encode(fold_cards(hers(log))[ANN]) == log.compacted("cards")[ANN.encode()]
    assert log.of(DeadLetter.TOPIC) == []


@pytest_asyncio.fixture
async def known(deployment: FakeDeployment) -> AsyncIterator[FakeDeployment]:
    """She has said something that nobody else says, twice, and other things."""
    log, worker = deployment.log, deployment.worker()
    films = [said(0, "I love Horror.", "f", domain="films"), said(1, conversation="f", ends=True)]
    log.put_all([*talk("c1", "I love zyxquill waltzes.", "I love morning runs."), *films])
    await worker.quiet()
    log.put_all(talk("c2", "I love zyxquill waltzes."))
    await worker.quiet()
    await worker.stop()
    yield deployment


def remove(line_id: str = LINE) -> CardCommand:
    return a_command(CardAction.REMOVE, "removes", line_id=line_id)


def request(**scope: Any) -> ForgetRequest:
    return ForgetRequest(event_id="please", occurred_at=a_time(60), user_id=ANN, actor="advocate", **scope)


FORGETS: dict[str, Sequence[Utterance | CardCommand | ForgetRequest]] = {
    "in words": talk("c9", "Forget that I love zyxquill waltzes."),
    "in words that are not to be remembered": talk("c9", "Don't remember that I love zyxquill waltzes."),
    "by a command": [remove()],
}


@pytest.mark.parametrize("how", FORGETS)
@pytest.mark.parametrize("commits", [True, False], ids=["committed", "nothing committed"])
async def test_a_death_at_any_step_of_erasing_a_line_changes_nothing(
    known: FakeDeployment, how: str, commits: bool
) -> None:
    known.log.put(said(0, "I really love the zyxquill waltz.", "waits"))
    earlier = known.worker()
    await earlier.quiet()
    await earlier.stop()
    known.log.put_all(FORGETS[how])

    async for successor in known.successors(deaths=4, commits=commits):
        await listener(successor).end_silences(0)

        assert lines(known.log) == {RUNS, OF_FILMS}
        assert traces(known.log) == []
        assert waiting(known.log) == []
        assert [c.kind for c in hers(known.log)[-1].changes] in ([CardChangeKind.FORGOTTEN], [CardChangeKind.REMOVED])
        assert card_line_digest(ANN, LINE) in next(iter(known.log.newest(Receipt).values())).lines
        assert_folds(known.log)


@pytest.mark.parametrize("how", FORGETS)
@pytest.mark.parametrize(
    "words",
    [
        "I really love the zyxquill waltz.",
        "I love slow zyxquill waltzes.",
        "I can't stand zyxquill waltzes.",
        "I love waltzes of zyxquill.",
    ],
)
async def test_waiting_or_late_turns_do_not_restore_an_erased_line(known: FakeDeployment, how: str, words: str) -> None:
    worker = known.worker()
    known.log.put(said(0, f"I love figs. {words}", "waits"))
    await worker.quiet()
    known.log.put_all(FORGETS[how])
    await worker.quiet()

    assert waiting(known.log) == [["I love figs."]]
    assert traces(known.log) == []

    known.log.put_all([said(1, conversation="waits", ends=True), *talk("late", words)])
    await worker.quiet()
    assert lines(known.log) == {RUNS, OF_FILMS, "prefers:stated:figs"}
    assert traces(known.log) == []


@pytest.mark.parametrize("how", FORGETS)
async def test_a_clock_that_is_ahead_does_not_bring_it_back(known: FakeDeployment, how: str) -> None:
    worker = known.worker()
    ahead, now = datetime.now(UTC) + timedelta(minutes=4), datetime.now(UTC)
    late = [turn.model_copy(update={"occurred_at": ahead}) for turn in talk("late", "I love zyxquill waltzes.")]
    stamps = [record.timestamp_ms for record in known.log.put_all(late[:1])]
    await worker.quiet()
    known.log.put_all(each.model_copy(update={"occurred_at": now}) for each in FORGETS[how])
    await worker.quiet()

    again = late[0].model_copy(update={"event_id": "by another way"})
    known.log.put(again, timestamp_ms=stamps[0])
    known.log.put(late[1])
    await worker.quiet()

    assert lines(known.log) == {RUNS, OF_FILMS}
    assert traces(known.log) == []


async def test_a_line_that_has_left_the_past_leaves_the_log(
    known: FakeDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("operators.cards.fold.MAX_PAST_LINES", 1)
    worker = known.worker()
    for name, words in (("c3", "zyxquill waltzes"), ("c4", "morning runs")):
        known.log.put_all(talk(name, "Hello.", f"I don't love {words} any more."))
        await worker.quiet()
    assert set(traces(known.log)) == {"card-diffs"}

    known.log.put_all(FORGETS["in words"])
    await worker.quiet()

    assert traces(known.log) == []
    assert_folds(known.log)


async def test_a_statement_after_an_erasure_is_learned(known: FakeDeployment) -> None:
    worker = known.worker()
    known.log.put_all(FORGETS["in words"])
    await worker.quiet()

    later = datetime.now(UTC) + timedelta(seconds=1)
    again = [turn.model_copy(update={"occurred_at": later}) for turn in talk("c4", "I love zyxquill waltzes.")]
    known.log.put_all(again)
    await worker.quiet()

    assert LINE in lines(known.log)
    assert_folds(known.log)


async def test_forget_that_reaches_the_skill_too(known: FakeDeployment) -> None:
    worker = known.worker()
    at = datetime.now(UTC)
    turns = [
        said(0, "Forget that I love Horror.", "f2", domain="films", occurred_at=at),
        said(1, conversation="f2", ends=True, occurred_at=at),
    ]
    known.log.put_all(turns)
    await worker.quiet()

    assert lines(known.log) == {LINE, RUNS}
    [skill] = known.log.newest(PolicySkill).values()
    assert skill.stated == ()
    assert traces(known.log, b"horror") == []
    assert_folds(known.log)


async def test_forgetting_a_line_of_a_skill_reaches_the_card(known: FakeDeployment) -> None:
    worker = known.worker()
    known.log.put(request(domain="films", line=line_digest(ANN, "films", "preference:genre:horror")))
    await worker.quiet()

    assert lines(known.log) == {LINE, RUNS}
    assert traces(known.log, b"horror") == []
    assert_folds(known.log)

    films = [said(0, "I love Horror.", "f3", domain="films"), said(1, conversation="f3", ends=True)]
    known.log.put_all(films)
    await worker.quiet()
    assert lines(known.log) == {LINE, RUNS}, "it was said before"


async def test_erasing_a_domain_erases_its_waiting_turns(known: FakeDeployment) -> None:
    worker = known.worker()
    known.log.put_all([said(0, "I love Horror.", "c5", domain="films"), said(1, "I hate rain.", "c5")])
    await worker.quiet()
    known.log.put(request(domain="films"))
    await worker.quiet()

    assert waiting(known.log) == [["I hate rain."]]
    assert lines(known.log) == {LINE, RUNS}
    assert traces(known.log, b"horror") == []
    assert_folds(known.log)


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "nothing committed"])
async def test_a_death_at_any_step_of_erasing_a_user_changes_nothing(known: FakeDeployment, commits: bool) -> None:
    known.log.put_all([said(0, "I love zyxquill waltzes.", "c6"), request()])

    async for successor in known.successors(deaths=6, commits=commits):
        await look(successor)

        assert traces(known.log, b'"ann"') == []
        assert traces(known.log) == []
        assert known.log.compacted("cards") == {}
        assert known.log.compacted("conversations") == {}


async def test_an_erased_user_starts_with_an_empty_card(known: FakeDeployment) -> None:
    worker = known.worker()
    known.log.put(request())
    await worker.quiet()

    # Sent late, or once more, and once more with another time.
    later = datetime.now(UTC) + timedelta(seconds=1)
    known.log.put_all(talk("c1", "I love zyxquill waltzes.", "I love morning runs."))
    stamp = int(later.timestamp() * 1_000)
    for turn in talk("c1", "I love zyxquill waltzes."):
        known.log.put(turn.model_copy(update={"occurred_at": later}), timestamp_ms=stamp)
    await worker.quiet()
    assert known.log.newest(Card) == {}
    assert known.log.newest(PendingConversations) == {}

    for turn in talk("new", "I love morning runs."):
        known.log.put(turn.model_copy(update={"occurred_at": later}), timestamp_ms=stamp)
    await worker.until(lambda: bool(known.log.newest(Card)), "a new card")
    await worker.quiet()
    assert lines(known.log) == {RUNS}
    assert [diff.version for diff in hers(known.log)] == [1]


async def test_an_erasure_during_a_model_call(known: FakeDeployment) -> None:
    """The answer to what was forgotten meanwhile is not used."""
    worker = known.worker()
    agent = listener(worker)
    understands = agent._extract_statements
    asked = []

    async def slow(turns: Any, *rest: Any) -> Any:
        asked.append(turns)
        known.log.put(request())
        await worker.until(lambda: not known.log.compacted("cards"), "the end of a card")
        return await understands(turns, *rest)

    agent._extract_statements = slow
    known.log.put(said(0, "I love zyxquill waltzes.", "c7"), timestamp_ms=NOON_MS)
    await worker.quiet()
    await agent.end_silences(NOON_MS + 400_000)
    await worker.quiet()

    assert len(asked) == 1
    assert traces(known.log) == []
    assert known.log.newest(Card) == {}


async def test_a_line_is_erased_during_a_model_call(known: FakeDeployment) -> None:
    """The answer to words that are gone is not used, and of those that are left it is asked again."""
    worker = known.worker()
    agent = listener(worker)
    understands = agent._extract_statements
    asked: list[list[str]] = []

    async def slow(turns: Any, *rest: Any) -> Any:
        heard = await understands(turns, *rest)
        asked.append([turn.text for turn in turns])
        if len(asked) == 1:
            known.log.put(remove())
            await worker.until(lambda: LINE not in lines(known.log), "the end of a line")
        return heard

    agent._extract_statements = slow
    known.log.put(said(0, "I love figs. I love zyxquill waltzes.", "c8"), timestamp_ms=NOON_MS)
    await worker.quiet()
    await agent.end_silences(NOON_MS + 400_000)
    await worker.quiet()

    assert asked == [["I love figs. I love zyxquill waltzes."], ["I love figs."]]
    assert lines(known.log) == {RUNS, OF_FILMS, "prefers:stated:figs"}
    assert traces(known.log) == []
