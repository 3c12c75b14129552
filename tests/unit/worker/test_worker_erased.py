"""What was forgotten is not learned again, whatever clocks say: of events, of Kafka's records, of requests."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.clocks import TOLERANCE
from schemas.codec import DeadLetter
from schemas.commands import SkillCommand, Stated
from schemas.corrections import Correction, Directive
from schemas.diffs import PolicySkill
from schemas.events import Feedback, Interaction, Ranking, RankRequest, Selection
from schemas.forgetting import ForgetRequest, Receipt
from schemas.memory import Memory
from schemas.state import OpenRankings, Profile
from schemas.statements import Stance
from tests.builders import a_candidate, a_command, a_rank_request, an_interaction
from tests.fake_log import FakeDeployment, FakeLog, FakeWorker, settings_in
from tests.unit.worker.test_worker_exactly_once import choice

ANN = "ann"
FOR_EVER = datetime(9999, 12, 31, tzinfo=UTC)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CLAIMS: dict[str, timedelta] = {
    "years ago": timedelta(days=-4_000),
    "an hour ago": timedelta(hours=-1),
    "now": timedelta(0),
    "in two minutes": 2 * MINUTE,
    "in half an hour": 30 * MINUTE,
    "in a thousand years": timedelta(days=365_000),
}
KINDS = ("interaction", "choice", "command", "rank request", "signal", "words", "nothing taken")
OF_A_LIST = ("choice", "nothing taken")
Event = Interaction | Ranking | Selection | SkillCommand | RankRequest | Feedback | Correction


def events_of(kind: str, number: int, at: datetime) -> Sequence[Event]:
    """What an app sends of one thing that Ann does, all of it with this time."""
    ranking, selection = choice(number, ANN)
    whose: dict[str, Any] = {"user_id": ANN, "domain": "films"}
    item = a_candidate(f"film-{number % 4}", genres=["Drama", "Noir"])
    unwanted = Directive(stance=Stance.AVOIDS, dimension="genre", value=f"genre {number}")
    line = Stated(dimension="mood", value=f"mood {number}")
    sent = {"event_id": f"{kind}{number}", "occurred_at": at, **whose}
    made: dict[str, Sequence[Event]] = {
        "interaction": [an_interaction(item, **sent)],
        "choice": [ranking, selection],
        "nothing taken": [ranking, selection.model_copy(update={"item_id": None, "none_taken": True})],
        "signal": [Feedback(item=item, signal="hidden" if number % 2 else "liked", **sent)],
        "words": [Correction(says=(unwanted,), **sent)],
        "rank request": [a_rank_request(**sent)],
        "command": [a_command(line=line, action="add", **sent)],
    }
    return [each.model_copy(update={"occurred_at": at}) for each in made[kind]]


def request(at: datetime, name: str = "please", **scope: Any) -> ForgetRequest:
    return ForgetRequest(event_id=name, occurred_at=at, user_id=ANN, actor="advocate", **scope)


def learned(log: FakeLog) -> list[str]:
    """What is known of Ann by what was learned from her events; a ranking that was only shown is none."""
    found: list[Any] = [*log.newest(PolicySkill).values(), *log.newest(Profile).values(), *log.newest(Memory).values()]
    answered = [ring for ring in log.newest(OpenRankings).values() if ring.answered or ring.waiting]
    return [type(each).__name__ for each in (*found, *answered) if each.user_id == ANN]


def stamp(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000)


async def send(log: FakeLog, worker: FakeWorker, events: Sequence[Event], forged: timedelta | None = None) -> None:
    """Produce events; with a forged timestamp, as a producer may choose it."""
    for event in events:
        log.put(event, timestamp_ms=None if forged is None else stamp(datetime.now(UTC) + forged))
    await worker.quiet()


SENT = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from([*CLAIMS]), st.none() | st.sampled_from([2, 30])),
    min_size=1,
    max_size=6,
)


@settings(max_examples=12, deadline=None)
@given(SENT, st.sampled_from([*CLAIMS]), st.randoms(use_true_random=False), st.booleans())
def test_in_any_order_and_with_any_times_nothing_of_before_is_learned_again(
    sent: list[tuple[str, str, int | None]], asked: str, chance: Any, as_new: bool
) -> None:
    """Events as they were; and, of those that were learned from, the same ids with another time."""

    async def check(deployment: FakeDeployment) -> None:
        log, worker, began = deployment.log, deployment.worker(), datetime.now(UTC)
        made = [
            (events_of(kind, number, began + CLAIMS[claim]), None if ahead is None else ahead * MINUTE)
            for number, (kind, claim, ahead) in enumerate(sent)
        ]
        for events, forged in made:
            await send(log, worker, chance.sample(events, len(events)), forged)
        log.put(request(began + CLAIMS[asked]))
        await worker.quiet()
        assert learned(log) == []
        letters = len(log.of(DeadLetter.TOPIC))

        for events, forged in chance.sample(made, len(made)):
            await send(log, worker, events, forged)
            is_late = max(events[0].occurred_at - began, forged or timedelta(0)) < TOLERANCE
            if as_new and is_late:
                await send(log, worker, [each.model_copy(update={"occurred_at": datetime.now(UTC)}) for each in events])
        assert learned(log) == []
        assert len(log.of(DeadLetter.TOPIC)) == letters, "nothing of it is kept as a dead letter either"

        await send(log, worker, events_of("choice", 100, datetime.now(UTC)))
        [new] = [skill for skill in log.newest(PolicySkill).values() if skill.user_id == ANN]
        assert new.version == 1

    over_a_log(check)


def over_a_log(check: Any) -> None:
    async def run() -> None:
        with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            deployment = FakeDeployment(settings_in(Path(folder)), patch)
            try:
                await check(deployment)
            finally:
                await deployment.close()

    asyncio.run(run())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("claim", ["in half an hour", "in a thousand years"])
async def test_what_comes_from_the_future_is_a_dead_letter(deployment: FakeDeployment, kind: str, claim: str) -> None:
    log, worker = deployment.log, deployment.worker()
    events = events_of(kind, 1, datetime.now(UTC) + CLAIMS[claim])
    await send(log, worker, events)

    assert {letter.reason for letter in log.values(DeadLetter)} == {"from-the-future"}
    assert len(log.values(DeadLetter)) == len(events)
    assert learned(log) == []
    assert len(log.of("rankings")) == (kind in OF_A_LIST), "nothing was ranked"


@pytest.mark.parametrize("kind", KINDS)
async def test_an_event_whose_record_is_ahead_of_the_workers_clock_is_learned(
    deployment: FakeDeployment, kind: str
) -> None:
    """The clock that is wrong may be the worker's; Kafka's time decides."""
    log, worker = deployment.log, deployment.worker()
    await send(log, worker, events_of(kind, 2, datetime.now(UTC)), 30 * MINUTE)

    assert log.values(DeadLetter) == []
    assert learned(log) or kind == "rank request"


@pytest.mark.parametrize("clock", [LONG_AGO, datetime.now(UTC) - timedelta(hours=1), FOR_EVER])
@pytest.mark.parametrize("is_records_too", [False, True], ids=["event", "event and record"])
async def test_a_new_request_counts_whatever_its_clock_says(
    deployment: FakeDeployment, clock: datetime, is_records_too: bool
) -> None:
    """And it is about everything until now, no longer: one of the year 9999 silences nobody."""
    log, worker = deployment.log, deployment.worker()
    stamped = stamp(clock) if is_records_too else None
    for number in range(2):
        await send(log, worker, events_of("choice", number, datetime.now(UTC)))
        assert learned(log)
        before = max(diff.source.moment for diff in log.diffs if diff.source)
        log.put(request(clock, f"please-{number}"), timestamp_ms=stamped)
        await worker.quiet()
        assert learned(log) == []
        [receipt] = log.newest(Receipt).values()
        assert receipt.person is not None
        assert before <= receipt.person.until <= datetime.now(UTC)
        assert receipt.occurred_at <= receipt.person.until
    await send(log, worker, events_of("choice", 7, datetime.now(UTC)))
    assert learned(log)


async def test_a_request_is_a_repeat_if_all_of_it_is(deployment: FakeDeployment) -> None:
    log, worker, now = deployment.log, deployment.worker(), datetime.now(UTC)

    async def after(asked: ForgetRequest) -> bool:
        """Whether it is carried out: a choice that was made since is not there any more."""
        await send(log, worker, events_of("choice", len(log.order), datetime.now(UTC)))
        assert learned(log)
        log.put(asked)
        await worker.quiet()
        return not learned(log)

    first, another = request(now), request(now, "another")
    assert await after(first)
    assert not await after(first), "the same, delivered again"
    assert await after(another)
    assert not await after(first), "the same, after another"
    assert await after(first.model_copy(update={"occurred_at": now + MINUTE})), "another one of the same id"
    assert await after(first.model_copy(update={"actor": "somebody else"}))


async def test_ids_that_are_held_no_more_are_covered_by_the_newest_time_that_was_claimed(
    deployment: FakeDeployment,
) -> None:
    log, worker, now = deployment.log, deployment.worker(), datetime.now(UTC)
    ahead = now + 3 * MINUTE
    many = [event for number in range(40) for event in events_of("interaction", number, ahead)]
    await send(log, worker, many)
    log.put(request(now))
    await worker.quiet()
    [receipt] = log.newest(Receipt).values()
    assert receipt.person is not None
    assert ahead <= receipt.person.until <= datetime.now(UTC) + TOLERANCE

    await send(log, worker, many)
    await send(log, worker, many, 2 * MINUTE)

    assert learned(log) == []


async def test_a_domain_that_is_forgotten_keeps_its_events_out_and_no_others(deployment: FakeDeployment) -> None:
    log, worker, now = deployment.log, deployment.worker(), datetime.now(UTC)
    films = events_of("choice", 1, now)
    ranking, selection = events_of("choice", 2, now)
    books = [ranking.model_copy(update={"domain": "books"}), selection]
    await send(log, worker, films)
    log.put(request(now, domain="films"))
    await worker.quiet()

    await send(log, worker, [each.model_copy(update={"occurred_at": datetime.now(UTC)}) for each in films])
    await send(log, worker, [each.model_copy(update={"occurred_at": datetime.now(UTC)}) for each in books])

    assert {skill.domain for skill in log.newest(PolicySkill).values()} == {"books"}


async def test_a_receipt_names_no_event(deployment: FakeDeployment) -> None:
    log, worker, now = deployment.log, deployment.worker(), datetime.now(UTC)
    events = [event for number, kind in enumerate(KINDS) for event in events_of(kind, number, now)]
    await send(log, worker, events)
    log.put(request(now))
    await worker.quiet()

    [receipt] = log.newest(Receipt).values()
    assert len(receipt.known) >= len(KINDS)
    told = receipt.model_dump_json()
    ids = {event.event_id for event in events} | {getattr(event, "ranking_id", "") for event in events} - {""}
    assert not [name for name in (*ids, ANN) if f'"{name}"' in told]
