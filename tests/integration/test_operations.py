"""What an operator does: replay of dead letters, rebuild from the log, examination. On a real broker."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from pydantic import SecretStr

from operators.contrast import slot_of
from operators.graph.items import neighbour_of
from operators.learning.fold import fold
from operators.seals import seal_diff, seal_log
from schemas import DeadLetter, PolicySkill, Position, Selection, SkillDiff, SlimSkill, compound_key, decode, encode
from schemas.state import ItemMemory, Taker
from schemas.topics import diff_key
from streams.exceptions import StreamsError
from streams.kafka.clients import partition_of
from streams.kafka.consumer_group import members
from streams.operations.dead_letters import REPLAY_OF, Blocker, LetterFilter, plan, replay
from streams.operations.doctor import DoctorFinding, Status, examine
from streams.operations.rebuild import rebuild
from streams.settings import Settings
from tests.builders import NOW, a_contrast, a_proposal, a_skill, a_time, evolve, slate
from tests.conftest import APACHE
from tests.harness import Harness
from tests.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker, pytest.mark.thorough]

EVERYTHING = LetterFilter(since_ms=1)


def same_slot(count: int) -> list[str]:
    first = slot_of("r0")
    return [name for number in range(200) if slot_of(name := f"r{number}") == first][:count]


def choose(harness: Harness, users: int, rounds: int = 1, start: int = 0, *, loyal: bool = False) -> int:
    for number in range(start, start + rounds):
        for user in range(users):
            # One list and one item again and again: such a line proves itself.
            shown = slate(31 * user + (0 if loyal else number))
            ranking = harness.events.ranking(f"user-{user}", "films", shown, ranking_id=f"r{number}")
            harness.events.selection(ranking, shown[0 if loyal else number % 5]["item_id"])
    harness.events.flush()
    return users * rounds


def put(harness: Harness, base: str, value: bytes | None, key: bytes | None, partition: int = 0, **more: Any) -> int:
    offsets: list[int] = []
    harness.raw.produce(
        harness.settings.topic(base), value, key, partition,
        on_delivery=lambda error, message: offsets.append(-1 if error else message.offset()), **more,
    )  # fmt: skip
    harness.raw.flush(20)
    assert offsets[0] >= 0
    return offsets[0]


def refuse(harness: Harness, base: str, value: bytes | None, **more: Any) -> DeadLetter:
    """Produce a record, and its dead letter, as a stage would."""
    key = b"ann"
    offset = put(harness, base, value, key)
    source = Position(topic=harness.settings.topic(base), partition=0, offset=offset, timestamp_ms=0)
    fields = {"event_id": f"letter-{base}-{offset}", "occurred_at": NOW, "stage": "test", "reason": "invalid"}
    letter = DeadLetter(**{**fields, "source": source, "key": key, "value": value, **more})
    put(harness, DeadLetter.TOPIC, encode(letter), key)
    return letter


def records(harness: Harness, base: str) -> list[Any]:
    return harness.quiet().records.get(base, [])


def headers(messages: Iterable[Any]) -> list[str]:
    return [value.decode() for m in messages for name, value in m.headers() or [] if name == REPLAY_OF]


class TestReplay:
    def test_a_refused_selection_is_applied_once_however_often_it_is_replayed(self, harness: Harness) -> None:
        """Pushed out before its ranking came; replayed, once more replayed, and at last produced by hand."""
        harness.worker(waiting_selections=8)  # one per slot
        early, late = same_slot(2)
        shown = slate(1)

        def select(name: str) -> None:
            fields = {"event_id": f"s-{name}", "occurred_at": NOW, "user_id": "ann", "ranking_id": name}
            harness.send(Selection(**fields, item_id=shown[0]["item_id"]))
            harness.events.flush()

        select(early)
        select(late)
        outputs = harness.count(DeadLetter, 1)
        refused = [(found.stage, found.reason, found.detail) for found in outputs.dead_letters]
        assert refused == [("contrast", "no-ranking", f"ranking {early}, item {shown[0]['item_id']}")]
        [letter] = outputs.dead_letters
        for name in (early, late):
            harness.events.ranking("ann", "films", shown, ranking_id=name)
        harness.events.flush()
        harness.count(SkillDiff, 1)

        assert replay(harness.settings, plan(harness.settings, EVERYTHING)) == 1
        outputs = harness.count(SkillDiff, 2)
        again = plan(harness.settings, EVERYTHING)
        assert (again.ready, again.blocked) == ({}, {letter.event_id: Blocker.DONE})
        assert replay(harness.settings, again) == 0
        harness.raw.produce(letter.source.topic, letter.value, letter.key, letter.source.partition)
        harness.raw.flush(20)
        outputs = harness.quiet()

        assert headers(outputs.records[Selection.TOPIC]) == [letter.event_id]
        assert len(outputs.diffs) == 2
        assert [found.event_id for found in outputs.dead_letters] == [letter.event_id]
        assert [m.value() for m in outputs.records[Selection.TOPIC]].count(letter.value) == 3
        harness.assert_all_stores_agree(duckdb=False)

    def test_a_replay_that_was_cut_off_is_completed_without_sending_twice(self, harness: Harness) -> None:
        """Ended after the records of the first and before the note on its dead letter, or before anything."""
        sent, unsent = (refuse(harness, Selection.TOPIC, value) for value in (b"one", b"two"))
        put(harness, Selection.TOPIC, b"one", b"ann", headers=[(REPLAY_OF, sent.event_id.encode())])

        planned = plan(harness.settings, EVERYTHING)
        assert (list(planned.ready), planned.blocked) == ([unsent.event_id], {sent.event_id: Blocker.DONE})
        replay(harness.settings, planned)

        assert sorted(headers(records(harness, Selection.TOPIC))) == sorted([sent.event_id, unsent.event_id])
        done = plan(harness.settings, EVERYTHING)
        assert (done.ready, done.unmarked, done.blocked.keys()) == ({}, [], {sent.event_id, unsent.event_id})


def without_workers(settings: Settings) -> Settings:
    """The same deployment, once its group is empty; the embedded broker does not tell, so there with another group."""
    if not APACHE:
        return settings.model_copy(update={"app_id": f"{settings.app_id}-nobody"})
    give_up = time.monotonic() + WAIT_SECONDS
    while members(settings):
        assert time.monotonic() < give_up
        time.sleep(0.5)
    return settings


class TestRebuild:
    def test_it_equals_what_the_workers_wrote_and_mends_what_differs(self, harness: Harness) -> None:
        worker = harness.worker()
        choices = choose(harness, users=6, rounds=12, loyal=True)
        harness.count(SkillDiff, choices)

        with pytest.raises(StreamsError, match="of the group"):
            rebuild(harness.settings, apply=True)
        assert rebuild(harness.settings).is_fine  # looking is allowed meanwhile
        harness.stop(worker)
        nobody = without_workers(harness.settings)
        good = harness.quiet()
        wanted = {key: encode(skill) for key, skill in harness.skills().items()}
        first = rebuild(harness.settings)
        assert (first.diffs, first.skills, first.is_fine) == (choices, 6, True)

        differs, missing, extra = (compound_key(user, "films") for user in ("user-0", "user-1", "nobody"))
        older = next(m for m in good.records[PolicySkill.TOPIC] if m.key() == differs)
        self.overwrite(harness, PolicySkill.TOPIC, "user-0", differs, older.value())
        self.overwrite(harness, PolicySkill.TOPIC, "user-1", missing, None)
        self.overwrite(harness, PolicySkill.TOPIC, "nobody", extra, encode(a_skill(user_id="nobody", domain="films")))
        ahead = SlimSkill(event_id="x", occurred_at=NOW, user_id="user-2", domain="films", skill_version=99,
                          text="likes: nothing", tokens=3)  # fmt: skip
        self.overwrite(harness, SlimSkill.TOPIC, "user-2", compound_key("user-2", "films"), encode(ahead))

        bad = rebuild(harness.settings)
        assert (bad.different, bad.left_alone, bad.is_fine) == (6, 1, False), "and a tombstone"
        assert [each["user_id"] for each in bad.examples] == ["nobody"]

        assert rebuild(nobody, apply=True).different == 6
        after = rebuild(harness.settings)
        assert (after.different, after.left_alone) == (0, 1)
        newest = harness.quiet().newest(PolicySkill)
        assert {key: value for key, value in newest.items() if key != extra} == wanted
        slims = [each for each in harness.outputs.values(SlimSkill) if each.user_id == "user-2"]
        assert slims[-1].skill_version == 12

        takers = [Taker(neighbour_of(name, b"earlier"), 1, a_time(), 1, 1) for name in ("user-0", "user-1")]
        told, key = ItemMemory(domain="films", item_id="i", takers=tuple(takers)), compound_key("i", "films")
        self.overwrite(harness, ItemMemory.TOPIC, "i", key, encode(told))
        other = nobody.model_copy(update={"pseudonym_key": SecretStr("another" * 5)})
        assert rebuild(other, apply=True).rotated > 1
        left = {key: value for key, value in harness.quiet().newest(ItemMemory).items() if value}
        assert key not in left, "nobody is left of it"
        assert not [taker for value in left.values() for taker in decode(ItemMemory, value).takers]
        assert rebuild(other, apply=True).rotated == 0

    def test_what_is_wrong_with_the_log_is_told_per_user_and_stops_nobody(self, harness: Harness) -> None:
        def history(user: str) -> list[SkillDiff]:
            skill, diffs = a_skill(version=0, user_id=user), []
            for genre in ("noir", "saga", "epic"):
                contrast = a_contrast([f"genre: {genre}"], user_id=user)
                skill, diff = evolve(skill, a_proposal(discovered=[f"genre: {genre}"]), contrast)
                diffs.append(diff)
            return diffs

        fine, gap, twice, late = (history(user) for user in ("fine", "gap", "twice", "late"))
        secret = harness.settings.chain_key_bytes
        fine, gap, twice, late = (seal_log(diffs, secret) for diffs in (fine, gap, twice, late))
        other = seal_diff(twice[1].model_copy(update={"analysis": "a second opinion"}), twice[0].chain, secret)
        for diff in [*fine, gap[0], gap[2], *twice, other, *late, late[0]]:
            key = diff_key(diff.user_id, diff.domain, diff.version)
            self.overwrite(harness, SkillDiff.TOPIC, diff.user_id, key, encode(diff))
        self.overwrite(harness, SkillDiff.TOPIC, "fine", diff_key("fine", fine[0].domain, 9), b"\xff")

        report = rebuild(harness.settings, apply=True)

        assert report.left_alone == 3
        told = {each["user_id"]: each["left alone"] for each in report.examples}
        assert told["gap"] == "version 3: it names version 2 as its base; the log has 1"
        assert told["twice"].startswith("version 3: its content does not match its seal")
        assert "cannot be read" in told["fine"]
        wanted = fold([*fine, *late])
        assert harness.quiet().newest(PolicySkill) == {compound_key(*key): encode(s) for key, s in wanted.items()}

    @staticmethod
    def overwrite(harness: Harness, base: str, user: str, key: bytes, value: bytes | None) -> None:
        put(harness, base, value, key, partition_of(user, harness.settings.partitions))


def examined(settings: Settings) -> dict[str, list[DoctorFinding]]:
    found: dict[str, list[DoctorFinding]] = {}
    for each in examine(settings):
        found.setdefault(each.check, []).append(each)
    return found


def until(harness: Harness, check: str, right: Callable[[DoctorFinding], bool]) -> DoctorFinding:
    give_up = time.monotonic() + WAIT_SECONDS
    while not right(found := examined(harness.settings)[check][0]):
        assert time.monotonic() < give_up, f"{found}\n{harness.logs()}"
        time.sleep(0.5)
    return found


class TestDoctor:
    def test_a_deployment_that_works_has_no_error_and_one_that_stands_still_has(self, harness: Harness) -> None:
        worker, _ = harness.worker(), harness.materializer()
        choices = choose(harness, users=3)
        harness.count(SkillDiff, choices)
        harness.duckdb("SELECT count(*) FROM skill_diffs", lambda rows: bool(rows) and rows[0][0] == choices)

        found = until(harness, "workers", lambda each: "waiting: nothing" in each.found)
        assert found.status is Status.OK
        assert found.found.startswith("1 in" if APACHE else "members unknown in")
        now = examined(harness.settings)
        # Of what keeps others out, this one has nothing but the mode of its files.
        told = {name: {each.status for each in found} for name, found in now.items()}
        lax = told.pop("chain key") | told.pop("HTTP tokens") | told.pop("ACLs")
        assert set.union(*told.values()) == {Status.OK}, now
        assert lax == {Status.WARNING if APACHE else Status.OK}, now
        assert "layout" in now["DuckDB"][0].found

        harness.stop(worker)
        choose(harness, users=3, start=1)
        stuck = until(harness, "workers", lambda each: each.status is Status.ERROR or not APACHE)
        assert ("start `sager worker`" in stuck.todo) is APACHE
        assert f"of {harness.settings.topic('selections')}" in stuck.found

    def test_without_a_broker_it_is_one_error_and_the_rest_is_examined(self, settings: Settings) -> None:
        found = examined(settings.model_copy(update={"bootstrap": "127.0.0.1:1"}))

        assert [each.status for each in found["broker"]] == [Status.ERROR]
        assert all(found[check][0].status is Status.SKIPPED for check in ("topics", "workers", "ACLs"))
        assert found["DuckDB"][0].status is Status.WARNING
