"""The topic registry: names, keys and what the broker is told."""

import pytest

from schemas import TOPICS, Contrast, UnknownTopic, compound_key, topic_of
from schemas.topics import by_name


def test_every_model_knows_the_topic_that_carries_it() -> None:
    for base, topic in TOPICS.items():
        assert topic.base == base
        assert base == topic.model.TOPIC  # type: ignore[attr-defined]
    assert topic_of(Contrast) is TOPICS["contrasts"]


@pytest.mark.parametrize("name", ["sager.nothing", "other.skills", "skills", "", "sager."])
def test_unknown_topic_is_told_with_those_that_exist(name: str) -> None:
    with pytest.raises(UnknownTopic, match="slim-skills"):
        by_name(name)


def test_users_and_domains_cannot_be_mixed_up_in_a_key() -> None:
    assert compound_key('a","b', "c") != compound_key("a", 'b","c')
