"""What people say in conversations reaches their card, once, in any order, whatever happens to the worker."""

import asyncio
import itertools
import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.cards.fold import fold_cards
from operators.language.chunks import CONTEXT_CHARS
from operators.language.ports import RedactedText
from operators.language.privacy import Privacy
from schemas import DeadLetter, Feedback, Speaker, Utterance, decode, encode
from schemas.cards import Card, CardAction, CardCommand, CardDiff, CardLineInput, PendingConversations, Turn
from streams.kafka.clients import partition_of
from streams.worker.agents.listen import ListenAgent
from streams.worker.reasoning.reasoner import ReasonerFailed
from tests.builders import a_candidate, a_time
from tests.fake_log import PARTITIONS, FakeDeployment, FakeLog, FakeWorker, settings_in
from tests.unit.worker.test_worker_feedback import held

ANN = "ann"
NOON_MS = round(a_time(600).timestamp() * 1_000)
RUNS, TEA = "prefers:stated:morning-runs", "prefers:stated:green-tea"


def said(turn: int, text: str = "", conversation: str = "c1", **more: Any) -> Utterance:
    known = {"event_id": f"{conversation}-{turn}", "user_id": ANN, "conversation_id": conversation}
    return Utterance(**{**known, "occurred_at": a_time() + timedelta(seconds=turn), "turn": turn, "text": text, **more})


def talk(conversation: str = "c1", *texts: str) -> list[Utterance]:
    turns = [said(turn, text, conversation) for turn, text in enumerate(texts)]
    return [*turns, said(len(texts), conversation=conversation, ends=True)]


def card_of(log: FakeLog, user_id: str = ANN) -> Card:
    return log.newest(Card)[user_id.encode()]


def lines(log: FakeLog) -> set[str]:
    return {line.line_id for line in card_of(log).lines}


def waiting(log: FakeLog) -> list[list[str]]:
    listening = log.newest(PendingConversations).get(ANN.encode())
    return [] if listening is None else [[turn.text for turn in chunk.turns] for chunk in listening.chunks]


def listener(worker: FakeWorker) -> ListenAgent:
    """What looks for silence."""
    tasks = [getattr(task.__wrapped__, "__self__", None) for task in worker.parts.app._app_tasks]
    [agent] = [found for found in tasks if isinstance(found, ListenAgent)]
    return agent


async def look(worker: FakeWorker, seconds: float = 301) -> None:
    looking = asyncio.create_task(listener(worker).end_silences(NOON_MS + round(seconds * 1_000)))
    await worker.until(lambda: looking.done() or worker.is_dead, "what was silent")


def assert_whole(log: FakeLog) -> None:
    """Every version is in the log once, and the log folds to the card, byte for byte."""
    versions = [diff.version for diff in log.values(CardDiff)]
    assert versions == list(range(1, len(versions) + 1))
    assert encode(fold_cards(log.values(CardDiff))[ANN]) == log.compacted("cards")[ANN.encode()]
    assert waiting(log) == []
    assert log.of(DeadLetter.TOPIC) == []


async def test_a_conversation_is_processed_once_when_it_ends(deployment: FakeDeployment) -> None:
    log = deployment.log
    log.put_all(talk("c1", "I love morning runs.", "I love green tea."))

    await deployment.worker().quiet()

    [diff] = log.values(CardDiff)
    assert (diff.version, diff.conversation_id, diff.user_id) == (1, "c1", ANN)
    assert lines(log) == {RUNS, TEA}
    assert_whole(log)


async def test_a_chunk_is_not_processed_before_it_is_due(deployment: FakeDeployment) -> None:
    log = deployment.log
    for turn in (0, 1):
        log.put(said(turn, "I love morning runs."), timestamp_ms=NOON_MS + turn)
    worker = deployment.worker()
    await worker.quiet()
    assert log.values(CardDiff) == []

    await look(worker, 299)
    assert waiting(log) == [["I love morning runs.", "I love morning runs."]]

    await look(worker, 301)
    assert lines(log) == {RUNS}
    assert_whole(log)


async def test_a_turn_is_read_in_a_thread(deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long hostile one takes the privacy filter more than a second, which would block the event loop."""
    read_in: list[int] = []
    turn = Privacy.turn

    def noted(self: Privacy, text: str, domain: str | None = None, before: str = "") -> RedactedText:
        read_in.append(threading.get_ident())
        return turn(self, text, domain, before)

    monkeypatch.setattr(Privacy, "turn", noted)
    deployment.log.put(said(1, "HIV " * 4_000))

    await deployment.worker().quiet()

    assert [each == threading.get_ident() for each in read_in] == [False]


def a_command(action: CardAction, event_id: str = "command", **about: Any) -> CardCommand:
    return CardCommand(
        event_id=event_id, occurred_at=a_time(5), user_id=ANN, action=action, actor="ann herself", **about
    )


def all_of_it() -> list[Utterance | CardCommand | Feedback]:
    wine = CardLineInput(value="red wine")
    return [
        *talk("c1", "I love morning runs.", "How are you?", "I love green tea."),
        *talk("c2", "I hate rain."),
        a_command(CardAction.SET, line=wine),
        a_command(CardAction.PIN, "pins", line_id="prefers:stated:red-wine"),
        Feedback(
            event_id="liked",
            occurred_at=a_time(6),
            user_id=ANN,
            domain="films",
            item=a_candidate("film-1", genres=["Drama"]),
            signal="liked",
        ),
    ]


ALL = {RUNS, TEA, "avoids:stated:rain", "prefers:stated:red-wine"}


@settings(max_examples=15, deadline=None)
@given(st.permutations(all_of_it()[:6]), st.lists(st.sampled_from(all_of_it()), max_size=6), st.integers(0, 99))
def test_any_order_and_repeats_give_each_line_once(
    events: Sequence[Utterance], repeats: Sequence[Utterance], seed: int
) -> None:
    """Also where the end of a conversation comes before what was said in it."""

    async def check(folder: Path, patch: pytest.MonkeyPatch) -> None:
        deployment = FakeDeployment(settings_in(folder), patch)
        deployment.log.put_all([*events, *all_of_it()[6:], *repeats])
        worker = deployment.worker(seed, slow=3)
        await worker.quiet()
        await listener(worker).end_silences(10**14)
        await worker.quiet()
        assert lines(deployment.log) == ALL
        assert {line.times for line in card_of(deployment.log).lines} == {1}
        assert_whole(deployment.log)
        await deployment.close()

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        asyncio.run(check(Path(folder), patch))


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "nothing committed"])
async def test_no_death_after_any_effect_loses_or_repeats_anything(deployment: FakeDeployment, commits: bool) -> None:
    deployment.log.put_all(all_of_it())

    async for successor in deployment.successors(deaths=12, commits=commits):
        await listener(successor).end_silences(0)  # nothing is silent yet; what was closed is found again

        assert lines(deployment.log) == ALL
        assert_whole(deployment.log)


async def test_a_death_while_ending_a_silence_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for after in itertools.count():
        deployment = FakeDeployment(settings_in(tmp_path), monkeypatch)
        log = deployment.log
        log.put(said(0, "I love morning runs."), timestamp_ms=NOON_MS)
        log.put(said(0, "I love green tea.", "c2"), timestamp_ms=NOON_MS)
        first = deployment.worker(after)
        await first.quiet()
        first._dies_after = first.effects + after
        await look(first)
        has_died = first.is_dead
        await first.kill()

        await look(deployment.worker(after + 1))

        assert lines(log) == {RUNS, TEA}
        assert_whole(log)
        await deployment.close()
        if not has_died:
            break
    assert after > 4, "it died after every effect that there is"


async def test_a_silent_conversation_of_a_moved_partition_is_the_next_owners(deployment: FakeDeployment) -> None:
    log, one = deployment.log, deployment.worker()
    log.put(said(0, "I love morning runs."), timestamp_ms=NOON_MS)
    await one.quiet()
    gate = one.hold("cards")
    looking = asyncio.create_task(listener(one).end_silences(NOON_MS + 301_000))
    await one.until(lambda: gate.waiting > 0, "a card on its way")

    other = deployment.worker(1)
    one.revoke()
    gate.open(drops=True)
    await one.until(looking.done, "the one that is fenced")
    assert log.values(CardDiff) == []
    await look(one)
    assert log.values(CardDiff) == [], "it is not the one's any more"

    await look(other)
    assert lines(log) == {RUNS}
    assert_whole(log)


async def test_a_silent_conversation_that_waits_while_its_partition_moves_is_the_next_owners(
    deployment: FakeDeployment,
) -> None:
    log, one = deployment.log, deployment.worker()
    log.put(said(0, "I love morning runs."), timestamp_ms=NOON_MS)
    await one.quiet()
    slots = listener(one)._chunk_slots
    while not slots.locked():
        await slots.acquire()
    looking = asyncio.create_task(listener(one).end_silences(NOON_MS + 301_000))
    await one.settle()

    deployment.worker(1)
    one.revoke()
    slots.release()
    await one.until(looking.done, "the one that is fenced")

    assert log.values(CardDiff) == []


async def test_no_silence_ends_before_the_tables_are_recovered(deployment: FakeDeployment) -> None:
    """Recovery shows old values, and Faust's flow is on: what has ended would end again, and the rest never."""
    log, worker = deployment.log, deployment.worker()
    app, cards = worker.parts.app, worker.parts.tables.cards.table.data
    conversations = worker.parts.tables.conversations.table.data
    log.put(said(0, "I love morning runs."), timestamp_ms=NOON_MS)
    await worker.quiet()
    old = dict(conversations.items())
    await look(worker)
    log.put(said(0, "I love green tea.", "c2", user_id="bob"), timestamp_ms=NOON_MS)
    await worker.quiet()

    worker.assign()
    app.rebalancing = True
    newest = conversations.data.copy(), cards.data.copy()
    cards.clear()
    conversations.clear()
    for key, value in old.items():
        conversations[key] = value
    await look(worker)
    conversations.data, cards.data = newest
    app.rebalancing = False
    await look(worker)

    assert [(diff.user_id, diff.version) for diff in log.values(CardDiff)] == [(ANN, 1), ("bob", 1)]


async def test_personal_data_in_turns_is_removed_and_counted(
    deployment: FakeDeployment,
) -> None:
    log = deployment.log
    log.put_all(talk("c1", "Write to anna@example.org.", "I am diabetic.", "I love green tea."))

    await deployment.worker().quiet()

    assert held(log, b"anna@example.org") == {"utterances"}
    assert held(log, b"diabetic") == {"utterances"}
    [diff] = log.values(CardDiff)
    assert {each.kind: each.times for each in diff.not_kept}.keys() >= {"e-mail", "health"}


async def test_off_the_record_turns_are_not_stored(deployment: FakeDeployment) -> None:
    log = deployment.log
    log.put_all(talk("c1", "Please do not remember this: I love trashy novels."))

    await deployment.worker().quiet()

    assert held(log, b"trashy") == {"utterances"}
    assert log.values(CardDiff) == []


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("what?"), "internal-error"), (ReasonerFailed("no"), "reasoner-unavailable")]
)
async def test_a_chunk_without_an_answer_is_dead_lettered_and_can_be_replayed(
    deployment: FakeDeployment, error: Exception, reason: str
) -> None:
    log, worker = deployment.log, deployment.worker()
    agent = listener(worker)
    understands = agent._extract_statements

    async def fails(*_: Any) -> Any:
        raise error

    agent._extract_statements = fails
    log.put_all(talk("c1", "I love morning runs.", "Write to anna@example.org."))
    await worker.quiet()
    letters = log.values(DeadLetter)
    assert [letter.reason for letter in letters] == [reason] * 2
    assert all(b"anna@" not in (letter.value or b"") for letter in letters)
    assert waiting(log) == []

    agent._extract_statements = understands
    for letter in letters:
        log.put_bytes("utterances", letter.value or b"", ANN.encode(), partition_of(ANN, PARTITIONS))
    await worker.quiet()
    assert lines(log) == {RUNS}


@pytest.mark.parametrize("cannot", ["be understood", "be dead-lettered"])
async def test_a_chunk_that_cannot_be_replayed_blocks_no_other(
    deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch, cannot: str
) -> None:
    """It would fail again with every turn of hers, and whoever understands would be asked each time."""
    log, worker = deployment.log, deployment.worker()
    agent = listener(worker)
    understands = agent._extract_statements

    async def gives_up(*_: Any) -> Any:
        raise ReasonerFailed("no answer")

    def fails(*_: Any) -> Any:
        raise ValueError("who says what again?")

    agent._extract_statements = gives_up
    if cannot == "be dead-lettered":
        monkeypatch.setattr("operators.language.chunks.replayable_utterances", fails)
    blank = "You love wine." + " " * (CONTEXT_CHARS + 1)
    log.put_all([said(0, blank, role=Speaker.ASSISTANT), said(1, "I love green tea."), said(2, ends=True)])
    await worker.quiet()

    assert waiting(log) == []
    told = [decode(Utterance, letter.value).text for letter in log.values(DeadLetter)]
    assert told == (["You love wine.", "I love green tea."] if cannot == "be understood" else [])

    agent._extract_statements = understands
    log.put_all(talk("c2", "I love morning runs."))
    await worker.quiet()
    assert lines(log) == {RUNS}


async def test_user_text_is_in_no_error_log(deployment: FakeDeployment, caplog: pytest.LogCaptureFixture) -> None:
    """Errors are logged and are the detail of dead letters, where nobody looks for words that are to be forgotten."""
    log, worker = deployment.log, deployment.worker()

    async def understands(turns: Sequence[Turn], *_: Any) -> Any:
        return Turn.model_validate({**turns[0].model_dump(), "language": turns[0].text * 9})

    listener(worker)._extract_statements = understands
    log.put_all(talk("c1", "I love zyxquill."))
    await worker.quiet()

    [letter] = log.values(DeadLetter)
    assert "ValidationError" in letter.detail
    assert "zyxquill" not in letter.detail
    assert "zyxquill" not in caplog.text


async def test_a_chunk_causes_one_model_call_despite_new_turns(deployment: FakeDeployment) -> None:
    log, worker = deployment.log, deployment.worker()
    agent, asked, answer = listener(worker), list[int](), asyncio.Event()
    understands = agent._extract_statements

    async def slow(turns: Any, *rest: Any) -> Any:
        asked.append(len(turns))
        await answer.wait()
        return await understands(turns, *rest)

    agent._extract_statements = slow
    log.put(said(0, "I love morning runs."), timestamp_ms=NOON_MS)
    await worker.quiet()
    looking = asyncio.create_task(agent.end_silences(NOON_MS + 301_000))
    await worker.until(lambda: bool(asked))
    log.put(said(1, "I love green tea."), timestamp_ms=NOON_MS + 302_000)
    log.put(said(2, "I hate rain."), timestamp_ms=NOON_MS + 303_000)
    await worker.settle(200)
    assert asked == [1]

    answer.set()
    await worker.until(looking.done)
    await worker.quiet()
    assert lines(log) == {RUNS}
    assert waiting(log) == [["I love green tea.", "I hate rain."]]
