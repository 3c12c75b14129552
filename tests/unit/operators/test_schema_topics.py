"""The topic registry: names, keys and what the broker is told."""

from datetime import timedelta

import pytest

from schemas import TOPICS, Contrast, GlobalSkill, Item, PolicySkill, UnknownTopic, compound_key, topic_of
from schemas.topics import COMPACTION, Key, Topic, by_name
from tests.builders import NOW, a_candidate, a_contrast, a_skill, an_interaction, open_rankings


def test_every_model_knows_the_topic_that_carries_it() -> None:
    for base, topic in TOPICS.items():
        assert topic.base == base
        assert base == topic.model.TOPIC  # type: ignore[attr-defined]
    assert topic_of(Contrast) is TOPICS["contrasts"]


@pytest.mark.parametrize("prefix", ["sager.", "tenant-7.", ""])
def test_topic_is_found_by_its_full_name_in_a_deployment(prefix: str) -> None:
    for topic in TOPICS.values():
        assert by_name(topic.name(prefix), prefix) is topic


@pytest.mark.parametrize("name", ["sager.nothing", "other.skills", "skills", "", "sager."])
def test_unknown_topic_is_told_with_those_that_exist(name: str) -> None:
    with pytest.raises(UnknownTopic, match="slim-skills"):
        by_name(name)


def test_records_of_a_user_are_keyed_by_user() -> None:
    assert TOPICS["contrasts"].key_of(a_contrast(user_id="änn")) == "änn".encode()
    assert TOPICS["interactions"].key_of(an_interaction()) == b"ann"


def test_states_of_a_user_are_keyed_by_user_and_part() -> None:
    assert TOPICS["skills"].key_of(a_skill()) == b'["ann","books"]'
    assert TOPICS["open-rankings"].key_of(open_rankings()) == b'["ann",0]'


def test_users_and_domains_cannot_be_mixed_up_in_a_key() -> None:
    assert compound_key('a","b', "c") != compound_key("a", 'b","c')


def test_catalogue_is_keyed_by_item_and_templates_by_domain() -> None:
    item = Item(event_id="e", occurred_at=NOW, domain="books", item=a_candidate("i7"))
    template = GlobalSkill(event_id="e", occurred_at=NOW, domain="books", users=3)

    assert TOPICS["items"].key_of(item) == b"i7"
    assert TOPICS["global-skills"].key_of(template) == b"books"


def test_dead_letter_keeps_the_key_that_it_had() -> None:
    with pytest.raises(TypeError, match="original"):
        TOPICS["dead-letters"].key_of(a_skill())


def test_only_templates_are_read_whole_by_every_process() -> None:
    assert [t.base for t in TOPICS.values() if t.partitions(12) != 12] == ["global-skills"]
    assert TOPICS["global-skills"].partitions(12) == 1


@pytest.mark.parametrize(
    ("topic", "config"),
    [
        (
            Topic("t", PolicySkill, Key.USER, "x", timedelta(days=7)),
            {"cleanup.policy": "delete", "max.message.bytes": "1048576", "retention.ms": "604800000"},
        ),
        (
            Topic("t", PolicySkill, Key.USER, "x"),
            {"cleanup.policy": "delete", "max.message.bytes": "1048576", "retention.ms": "-1"},
        ),
        (
            Topic("t", PolicySkill, Key.USER, "x", compact=True, max_message_bytes=5),
            {"cleanup.policy": "compact", "max.message.bytes": "5", **COMPACTION},
        ),
    ],
    ids=["kept for a week", "kept for ever", "compacted"],
)
def test_what_the_broker_is_told(topic: Topic, config: dict[str, str]) -> None:
    assert topic.config() == config
