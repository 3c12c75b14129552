"""Whose a record is: theirs is not left out, and nobody else's comes along."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.erasure import with_known, with_scope
from operators.graph.items import forgotten_touch, neighbour_of
from schemas import TOPICS, ErasedScope, ForgetRequest, Receipt, encode, event_digest, subject_digest
from schemas.state import ItemMemory, ItemUpdate, Taker
from streams.analytics.erasure import ErasureFilter
from streams.rights.exporting import KEYED_BY_USER, DataSubject
from tests.builders import a_ranking, a_time, an_interaction

IDS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)
RANKINGS, RINGS = TOPICS["rankings"], TOPICS["open-rankings"]


@given(IDS, IDS, st.booleans())
def test_a_record_belongs_to_the_user_in_it(user: str, other: str, in_ascii: bool) -> None:
    said = json.dumps({"user_id": user, "ranking_id": other}, ensure_ascii=in_ascii).encode()

    for key in (user.encode(), other.encode(), None):
        assert DataSubject(user).owns(RANKINGS, key, said)
        assert DataSubject(other).owns(RANKINGS, key, said) is (user == other)


@given(IDS, IDS)
def test_a_record_without_a_user_belongs_to_its_key(user: str, other: str) -> None:
    assert DataSubject(user).owns(RANKINGS, user.encode(), b"no json")
    assert DataSubject(other).owns(RANKINGS, user.encode(), b"no json") is (user == other)
    assert DataSubject(user).owns(RINGS, json.dumps([user, 3]).encode(), None)


def test_a_user_id_may_look_like_a_compound_key() -> None:
    assert not DataSubject("ann").owns(RANKINGS, b'["ann","films"]', b"no json")
    assert DataSubject('["ann","films"]').owns(RANKINGS, b'["ann","films"]', b"no json")


@pytest.mark.parametrize(
    ("key", "value", "whose"),
    [
        (b"ann", b"no json", True),
        (None, b'{"user_id":"ann"}', True),
        (b'["ann",1]', b"broken", True),
        (None, b'{"user_id":"ann", broken', True),
        (b"ann", b'{"user_id":"bob"}', False),
        (b"anna", b'"annabel"', False),
        (None, None, False),
    ],
)
def test_a_dead_letter_belongs_to_the_users_it_names(key: bytes | None, value: bytes | None, whose: bool) -> None:
    assert DataSubject("ann").is_named_in(key, value) is whose


def test_a_touch_belongs_to_its_taker_and_item_memories_are_split() -> None:
    ann, bob = (neighbour_of(user, b"secret") for user in ("ann", "bob"))
    subject = DataSubject("ann", neighbour=ann)
    touch = ItemUpdate(domain="films", taker=bob, version=1, degree=1, newest=("ann",))
    takers = tuple(Taker(each, 1, a_time(), 1, 1) for each in (ann, bob))
    both, items = ItemMemory(domain="films", item_id="ann", takers=takers), TOPICS[ItemMemory.TOPIC]

    assert subject.personal_part(touch, encode(touch)) is None, "it is about another"
    assert not subject.owns(TOPICS[ItemUpdate.TOPIC], None, encode(touch))
    assert subject.owns(items, None, encode(both))
    assert subject.personal_part(both, encode(both))["takers"]["neighbour"] == [ann]
    assert not DataSubject("kim", neighbour=neighbour_of("kim", b"secret")).owns(items, None, encode(both))


def test_all_topics_with_a_user_are_keyed_by_user() -> None:
    assert {topic.key for topic in TOPICS.values() if "user_id" in topic.model.model_fields} <= set(KEYED_BY_USER)
    assert DataSubject("ann").owns(RANKINGS, b"ann", encode(a_ranking()))


@pytest.mark.parametrize("scope", [None, "films"], ids=["person", "domain"])
def test_erased_records_are_not_exported_before_their_retention_ends(scope):
    until, kept = datetime(2026, 1, 1, tzinfo=UTC), "music"
    request = ForgetRequest(event_id="r", occurred_at=until, user_id="ann", domain=scope, actor="advocate")
    empty = Receipt(event_id="r", occurred_at=until, subject=subject_digest("ann"))
    receipt = with_scope(empty, request, ErasedScope(event_id="r", until=until, actor="advocate", done=True))
    subject = DataSubject("ann", ErasureFilter([encode(with_known(receipt, [event_digest("ann", "again")])).decode()]))
    before, after = until - timedelta(hours=1), until + timedelta(hours=1)

    touch = forgotten_touch(neighbour_of("ann"), "films", "r")

    def gone(event, logged_at):
        return subject.is_erased(event, logged_at)

    def taken(at, **more):
        return an_interaction(**{"user_id": "ann", "domain": "films", "occurred_at": at, **more})

    assert gone(taken(before), after)
    assert gone(taken(after), before), "its clock is ahead"
    assert gone(taken(after, event_id="again"), after)
    assert not gone(taken(after), after)
    assert gone(taken(before, domain=kept), before) is (scope is None)
    assert gone(touch, before)
    assert not gone(touch, after)
    assert gone(None, before) is (scope is None), "unreadable, of whatever domain"
    assert not gone(None, after)
    assert not DataSubject("ann").is_erased(taken(before), before)
    assert not DataSubject("bob", subject.barrier).is_erased(None, before)
