"""Forgetting, killed at every step: the successor ends it, and what remains is what an undisturbed run leaves."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from operators.admission import TOLERANCE
from operators.attributes import fact_id
from operators.audit import chain_breaks
from operators.graph.items import neighbour_of
from operators.learning.fold import fold
from operators.redaction import placeholder
from operators.stated import item_attribute
from schemas import (
    TOPICS,
    Correction,
    DeadLetter,
    Directive,
    Stance,
    Tier,
    compound_key,
    encode,
    line_digest,
    subject_digest,
)
from schemas.commands import Action, ErasedScope, ForgetRequest, Receipt, SkillCommand, SkillLineInput
from schemas.diffs import PolicySkill, RefusalReason, SkillDiff
from schemas.events import Feedback, Interaction, Ranking, RankRequest, Selection
from schemas.state import ItemMemory, Memory, OpenRankings, Profile
from streams.pseudonyms import secret_of
from tests.builders import a_candidate, a_command, a_name, a_rank_request, a_time, an_interaction
from tests.fake_log import FakeDeployment, FakeLog, FakeWorker, settings_in
from tests.unit.worker.test_worker_exactly_once import choice, put
from tests.unit.worker.test_worker_feedback import nothing_taken, several_taken

ANN = "ann"
LINE = "preference:music:zyxquillwaltzes"
SCOPES: dict[str, dict[str, Any]] = {
    "person": {},
    "domain": {"domain": "films"},
    "line": {"domain": "films", "line": line_digest(ANN, "films", LINE)},
}
STATE = ("skills", "skill-diffs", "slim-skills", "profiles", "memories", "open-rankings")


@pytest_asyncio.fixture
async def known(deployment: FakeDeployment) -> AsyncIterator[FakeDeployment]:
    """Ann and three others take the same films; she has a past, an open ranking, and says what nobody else says."""
    log = deployment.log
    log.put_all(an_interaction(a_candidate(f"film-{n}", genres=["Drama"]), user_id=ANN, domain="films") for n in (1, 2))
    put(log, [choice(number) for number in range(12)])
    log.put(choice(99, ANN)[0])
    worker = deployment.worker()
    await worker.quiet()
    said = SkillLineInput(dimension="music", value="zyxquillwaltzes", tier=Tier.HIGH)
    log.put(command(Action.ADD, line=said))
    await worker.quiet()
    await worker.stop()
    yield deployment


def command(action: Action, **about: Any) -> SkillCommand:
    fields = {"event_id": a_name("command"), "occurred_at": a_time(), "user_id": ANN, "domain": "films"}
    return SkillCommand(**fields, action=action, actor="advocate", **about)


def request(**scope: Any) -> ForgetRequest:
    return ForgetRequest(event_id="please", occurred_at=a_time(60), user_id=ANN, actor="advocate", **scope)


def scopes(log: FakeLog) -> list[ErasedScope]:
    """What her receipt says now, but for the moment until when."""
    [receipt] = log.newest(Receipt).values()
    assert receipt.subject == subject_digest(ANN)
    return [scope.model_copy(update={"until": a_time()}) for scope in receipt.scopes]


def state(log: FakeLog) -> dict[str, Any]:
    """What is left of everybody, without how often it was told or written anew: a successor does that once more."""
    left: dict[str, Any] = {base: log.compacted(base) for base in STATE}
    memories = log.newest(Memory).items()
    left["memories"] = {key: memory.model_copy(update={"version": 0}) for key, memory in memories}
    left["skills"] = {key: times_aside(skill) for key, skill in log.newest(PolicySkill).items()}
    left["skill-diffs"] = {key: times_aside(diff) for key, diff in log.newest(SkillDiff).items()}
    items = log.newest(ItemMemory).values()
    left["takers"] = {item.item_id: {taker.neighbour for taker in item.takers} for item in items}
    return left


def times_aside(record: PolicySkill | SkillDiff) -> PolicySkill | SkillDiff:
    """Without how often its log was written anew, and the seal, which includes that."""
    bare = record.model_copy(update={"rewritten": 0, "chain": None})
    if isinstance(bare, PolicySkill) and bare.last_diff is not None:
        return bare.model_copy(update={"last_diff": times_aside(bare.last_diff)})
    return bare


def hers(log: FakeLog) -> list[SkillDiff]:
    found = [diff for diff in log.newest(SkillDiff).values() if diff.user_id == ANN]
    return sorted(found, key=lambda diff: diff.version)


COMMITS = pytest.mark.parametrize("commits", [True, False], ids=["committed", "nothing committed"])


@pytest.mark.parametrize("scope", SCOPES)
@COMMITS
async def test_a_death_at_any_step_of_an_erasure_changes_nothing(
    known: FakeDeployment, scope: str, commits: bool
) -> None:
    await assert_deaths_change_nothing(known, scope, commits, versions=5)


async def assert_deaths_change_nothing(running: FakeDeployment, scope: str, commits: bool, versions: int) -> None:
    """The successor's receipt has the number of versions before the erasure, not of those that it found."""
    before = running.log
    before.put(request(**SCOPES[scope]))
    running.log = before.copy()
    await running.worker().quiet()
    undisturbed = running.log
    [told] = scopes(undisturbed)
    assert (told.done, told.versions) == (True, versions)

    running.log = before
    async for _ in running.successors(deaths=10, commits=commits):
        assert scopes(running.log) == [told]
        assert state(running.log) == state(undisturbed)
        assert chain_breaks(hers(running.log)) == []
        assert scope != "person" or traces(running.log) == []


async def test_an_erasure_leaves_only_a_receipt(known: FakeDeployment) -> None:
    worker = known.worker()
    assert traces(known.log), "there is something to forget"

    known.log.put(request())
    await worker.quiet()

    assert traces(known.log) == []
    left = {base: len(known.log.compacted(base)) for base in ("skills", "memories", "profiles")}
    assert left == {"skills": 3, "memories": 3, "profiles": 0}, "the others keep what they have"


def traces(log: FakeLog) -> list[str]:
    """Where something of hers is left, of what is not bound to a retention."""
    compact = [topic.base for topic in TOPICS.values() if topic.compact]
    return [
        base
        for base in compact
        for key, value in log.compacted(base).items()
        for trace in (b'"ann"', b"zyxquill", pseudonym(log))
        if trace in key + value
    ]


def pseudonym(log: FakeLog) -> bytes:
    return neighbour_of(ANN, secret_of(log.settings)).encode()


async def test_a_line_that_is_forgotten_is_in_no_fact_of_her_past(known: FakeDeployment) -> None:
    key = compound_key(ANN, "films")
    profile = known.log.newest(Profile)[key]
    fact = profile.recent[0][0]

    def held() -> list[str]:
        seen = {base: known.log.compacted(base)[key] for base in ("profiles", "memories")}
        rings = [encode(ring) for ring in known.log.newest(OpenRankings).values() if ring.user_id == ANN]
        seen["open-rankings"] = b"".join(rings)
        return [base for base, value in seen.items() if to_json(fact) in value]

    assert held() == ["profiles", "memories", "open-rankings"]
    known.log.put(request(domain="films", line=line_digest(ANN, "films", fact_id(fact))))
    await known.worker().quiet()
    assert held() == []


async def test_an_erased_hypothesis_is_in_no_store(known: FakeDeployment) -> None:
    key = compound_key(ANN, "films")
    name = next(iter(known.log.newest(PolicySkill)[key].hypotheses))
    worker = known.worker()
    known.log.put(request(domain="films", line=line_digest(ANN, "films", name)))
    await worker.quiet()

    skill, log = known.log.newest(PolicySkill)[key], hers(known.log)
    assert skill.hypotheses.keys().isdisjoint({name, placeholder(line_digest(ANN, "films", name))})
    assert skill.hypotheses
    assert fold(log)[ANN, "films"] == skill
    assert not [base for base in STATE if name.encode() in known.log.compacted(base).get(key, b"")]
    assert not [diff for diff in log if name in encode(diff).decode()]


@pytest.mark.parametrize("action", [Action.ROLL_BACK, Action.IMPORT])
@pytest.mark.parametrize("of", ["the log as it is", "a snapshot from before"])
async def test_an_old_version_does_not_restore_an_erased_line(known: FakeDeployment, action: Action, of: str) -> None:
    before = hers(known.log)
    worker = known.worker()
    known.log.put(request(**SCOPES["line"]))
    await worker.quiet()
    then = fold(before if of == "a snapshot from before" else hers(known.log)[: len(before)])[ANN, "films"]
    names = {line.attribute_id for line in then.attributes}
    assert names & {LINE, placeholder(SCOPES["line"]["line"])}, "it has the line, or what stands for it"

    known.log.put(command(action, to_version=then.version, lines=then.attributes).model_copy(update=at_once()))
    await worker.quiet()

    now = known.log.newest(PolicySkill)[compound_key(ANN, "films")]
    assert {line.attribute_id for line in now.attributes} == names - {LINE, placeholder(SCOPES["line"]["line"])}
    stated = SkillLineInput(dimension="music", value="zyxquillwaltzes", tier=Tier.HIGH)
    known.log.put(command(Action.ADD, line=stated).model_copy(update=at_once()))
    await worker.quiet()
    again = known.log.newest(PolicySkill)[compound_key(ANN, "films")]
    assert LINE in {line.attribute_id for line in again.attributes}, "she may say it again"


async def test_an_old_version_does_not_restore_an_erased_skill(known: FakeDeployment) -> None:
    then = fold(hers(known.log))[ANN, "films"]
    worker = known.worker()
    known.log.put(request())
    await worker.quiet()

    back = command(Action.ROLL_BACK, to_version=then.version, lines=then.attributes)
    known.log.put(back.model_copy(update=at_once()))
    await worker.quiet()

    [diff] = hers(known.log)
    assert (diff.changes, [each.why for each in diff.refused]) == ((), [RefusalReason.UNKNOWN])
    assert known.log.newest(PolicySkill)[compound_key(ANN, "films")].attributes == ()

    # The new skill has reached the old version's number, which an old snapshot still has.
    of_old = {"to_version": 1, "version_at": then.occurred_at, "lines": then.attributes}
    known.log.put(command(Action.ROLL_BACK, **of_old).model_copy(update=at_once()))
    await worker.quiet()
    assert [each.why for each in hers(known.log)[1].refused] == [RefusalReason.UNKNOWN]
    assert known.log.newest(PolicySkill)[compound_key(ANN, "films")].attributes == ()


def at_once() -> dict[str, Any]:
    return {"occurred_at": datetime.now(UTC), "event_id": a_name("command")}


async def test_a_log_with_a_gap_is_not_rewritten_and_the_request_is_kept(known: FakeDeployment) -> None:
    gap = next(record for record in known.log.of(SkillDiff.TOPIC) if (record.key or b"").startswith(b'["ann"'))
    known.log.append(gap.topic, gap.partition, gap.key, None)
    worker = known.worker()

    known.log.put(request(**SCOPES["line"]))
    await worker.quiet()

    [letter] = known.log.of("dead-letters")
    assert b"log-incomplete" in (letter.value or b"")
    [scope] = scopes(known.log)
    assert not scope.done


async def test_rankings_of_another_domain_stay(known: FakeDeployment) -> None:
    ranking, _ = choice(98, ANN)
    known.log.put(ranking.model_copy(update={"domain": "books"}))
    answered, selection = choice(97, ANN)
    known.log.put_all([answered.model_copy(update={"domain": "books"}), selection])
    worker = known.worker()
    await worker.quiet()

    known.log.put(request(domain="films"))
    await worker.quiet()

    rings = [ring for ring in known.log.newest(OpenRankings).values() if ring.user_id == ANN]
    assert {each.domain for ring in rings for each in ring.rankings} == {"books"}
    assert [each.ranking_id for ring in rings for each in ring.answered] == [answered.ranking_id]


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
    line = SkillLineInput(dimension="mood", value=f"mood {number}")
    sent = {"event_id": f"{kind}{number}", "occurred_at": at, **whose}
    made: dict[str, Sequence[Event]] = {
        "interaction": [an_interaction(item, **sent)],
        "choice": [ranking, selection],
        "nothing taken": [ranking, selection.model_copy(update={"item_id": None, "none_taken": True})],
        "signal": [Feedback(item=item, signal="hidden" if number % 2 else "liked", **sent)],
        "words": [Correction(directives=(unwanted,), **sent)],
        "rank request": [a_rank_request(**sent)],
        "command": [a_command(line=line, action="add", **sent)],
    }
    return [each.model_copy(update={"occurred_at": at}) for each in made[kind]]


def a_request(at: datetime, name: str = "please", **scope: Any) -> ForgetRequest:
    return ForgetRequest(event_id=name, occurred_at=at, user_id=ANN, actor="advocate", **scope)


def learned(log: FakeLog) -> list[str]:
    """What is known of Ann by what was learned from her events; a ranking that was only shown is none."""
    found: list[Any] = [*log.newest(PolicySkill).values(), *log.newest(Profile).values(), *log.newest(Memory).values()]
    answered = [ring for ring in log.newest(OpenRankings).values() if ring.answered or ring.waiting]
    return [type(each).__name__ for each in (*found, *answered) if each.user_id == ANN]


def stamp(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000)


async def send(log: FakeLog, worker: FakeWorker, events: Sequence[Event], forged: timedelta | None = None) -> None:
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
        log.put(a_request(began + CLAIMS[asked]))
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
async def test_events_from_the_future_are_dead_lettered(deployment: FakeDeployment, kind: str, claim: str) -> None:
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
async def test_a_new_request_is_applied_whatever_its_clock(
    deployment: FakeDeployment, clock: datetime, is_records_too: bool
) -> None:
    """And it is about everything until now, no longer: one of the year 9999 silences nobody."""
    log, worker = deployment.log, deployment.worker()
    stamped = stamp(clock) if is_records_too else None
    for number in range(2):
        await send(log, worker, events_of("choice", number, datetime.now(UTC)))
        assert learned(log)
        before = max(diff.source.moment for diff in log.diffs if diff.source)
        log.put(a_request(clock, f"please-{number}"), timestamp_ms=stamped)
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
        await send(log, worker, events_of("choice", len(log.order), datetime.now(UTC)))
        assert learned(log)
        log.put(asked)
        await worker.quiet()
        return not learned(log)

    first, another = a_request(now), a_request(now, "another")
    assert await after(first)
    assert not await after(first), "the same, delivered again"
    assert await after(another)
    assert not await after(first), "the same, after another"
    assert await after(first.model_copy(update={"occurred_at": now + MINUTE})), "another one of the same id"
    assert await after(first.model_copy(update={"actor": "somebody else"}))


async def test_dropped_event_ids_are_covered_by_the_newest_claimed_time(
    deployment: FakeDeployment,
) -> None:
    log, worker, now = deployment.log, deployment.worker(), datetime.now(UTC)
    ahead = now + 3 * MINUTE
    many = [event for number in range(40) for event in events_of("interaction", number, ahead)]
    await send(log, worker, many)
    log.put(a_request(now))
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
    log.put(a_request(now, domain="films"))
    await worker.quiet()

    await send(log, worker, [each.model_copy(update={"occurred_at": datetime.now(UTC)}) for each in films])
    await send(log, worker, [each.model_copy(update={"occurred_at": datetime.now(UTC)}) for each in books])

    assert {skill.domain for skill in log.newest(PolicySkill).values()} == {"books"}


async def test_a_receipt_names_no_event(deployment: FakeDeployment) -> None:
    log, worker, now = deployment.log, deployment.worker(), datetime.now(UTC)
    events = [event for number, kind in enumerate(KINDS) for event in events_of(kind, number, now)]
    await send(log, worker, events)
    log.put(a_request(now))
    await worker.quiet()

    [receipt] = log.newest(Receipt).values()
    assert len(receipt.known) >= len(KINDS)
    told = receipt.model_dump_json()
    ids = {event.event_id for event in events} | {getattr(event, "ranking_id", "") for event in events} - {""}
    assert not [name for name in (*ids, ANN) if f'"{name}"' in told]


KEY = compound_key(ANN, "films")
ITEM = a_candidate("zyxquill-tape", genres=["Drama"])
AN_ITEM = {"domain": "films", "line": line_digest(ANN, "films", item_attribute("zyxquill-tape"))}


def said(name: str = "said", at: datetime | None = None) -> Correction:
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


def hidden() -> Feedback:
    when = a_time() + timedelta(seconds=301)
    whose = {"user_id": ANN, "domain": "films"}
    return Feedback(event_id="hidden", occurred_at=when, item=ITEM, signal="hidden", session_id="s1", **whose)


@pytest_asyncio.fixture
async def outspoken(deployment: FakeDeployment) -> AsyncIterator[FakeDeployment]:
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
    bases = ("skills", "skill-diffs", "slim-skills")
    return {base for base in bases for value in log.compacted(base).values() if words in value}


@pytest.mark.parametrize("scope", SCOPES)
@COMMITS
async def test_a_death_at_any_step_of_erasing_statements_changes_nothing(
    outspoken: FakeDeployment, scope: str, commits: bool
) -> None:
    await assert_deaths_change_nothing(outspoken, scope, commits, versions=7)


async def test_erasing_a_line_erases_its_statements_and_words(
    outspoken: FakeDeployment,
) -> None:
    worker = outspoken.worker()
    assert {"skills", "skill-diffs"} <= quoted(outspoken.log)
    before = outspoken.log.newest(PolicySkill)[KEY]

    outspoken.log.put_all(
        [request(**SCOPES["line"]), request(**AN_ITEM).model_copy(update={"event_id": "and the tape"})]
    )
    await worker.quiet()

    log, skill = hers(outspoken.log), outspoken.log.newest(PolicySkill)[KEY]
    # As evidence an item's id stays, as that of what was taken does: what the tape was hidden for is gone.
    values = b"".join(value for value in outspoken.log.compacted("skill-diffs").values())
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
async def test_a_line_is_not_stated_again_by_words_from_before(outspoken: FakeDeployment, name: str) -> None:
    """Whether the line is named or what was said of it."""
    worker = outspoken.worker()
    outspoken.log.put(request(domain="films", line=line_digest(ANN, "films", name)))
    await worker.quiet()
    assert quoted(outspoken.log, b"zyxquillwaltzes") == set()

    outspoken.log.put(said("late"))
    await worker.quiet()

    assert "waltzes" not in str(outspoken.log.newest(PolicySkill)[KEY])
    outspoken.log.put(said("again", datetime.now(UTC)))
    await worker.quiet()
    assert f"avoids:{LINE}" in {each.statement_id for each in outspoken.log.newest(PolicySkill)[KEY].stated}
