"""The topic registry against the table in DESIGN 3, written out here once more on purpose."""

from datetime import timedelta

import pytest

from schemas import TOPICS, diff_key

DAY = timedelta(days=1)
FOR_EVER = None
USER, USER_DOMAIN, ITEM_DOMAIN, TAKER = "user_id", "user_id, domain", "item_id, domain", "a taker's pseudonym"

# base: (key, body, kept, compacted)
PUBLIC = {
    "items": ("item_id", "Item", FOR_EVER, True),
    "interactions": (USER, "Interaction", 30 * DAY, False),
    "rank-requests": (USER, "RankRequest", 7 * DAY, False),
    "rankings": (USER, "Ranking", 7 * DAY, False),
    "selections": (USER, "Selection", 30 * DAY, False),
    "feedback": (USER, "Feedback", 30 * DAY, False),
    "corrections": (USER, "Correction", 90 * DAY, False),
    "utterances": (USER, "Utterance", 7 * DAY, False),
    "abstentions": (USER, "Abstention", 30 * DAY, False),
    "contrasts": (USER, "Contrast", 30 * DAY, False),
    "skill-diffs": ("user_id, domain, version", "SkillDiff", FOR_EVER, True),
    "skills": (USER_DOMAIN, "PolicySkill", FOR_EVER, True),
    "slim-skills": (USER_DOMAIN, "SlimSkill", FOR_EVER, True),
    "card-diffs": ("user_id, version", "CardDiff", FOR_EVER, True),
    "cards": (USER, "Card", FOR_EVER, True),
    "card-commands": (USER, "CardCommand", 90 * DAY, False),
    "skill-commands": (USER, "SkillCommand", 90 * DAY, False),
    "forget-requests": (USER, "ForgetRequest", 30 * DAY, False),
    "receipts": ("subject", "Receipt", FOR_EVER, True),
    "global-skills": ("domain", "GlobalSkill", FOR_EVER, True),
    "weights": ("domain", "Weights", FOR_EVER, True),
    "weight-commands": ("domain", "WeightCommand", 90 * DAY, False),
    "dead-letters": ("the original record's key", "DeadLetter", 90 * DAY, False),
}
TABLES = {
    "profiles": (USER_DOMAIN, "Profile", FOR_EVER, True),
    "open-rankings": ("user_id, slot", "OpenRankings", FOR_EVER, True),
    "conversations": (USER, "Listening", FOR_EVER, True),
    "memories": (USER_DOMAIN, "Memory", FOR_EVER, True),
    "item-memories": (ITEM_DOMAIN, "ItemMemory", FOR_EVER, True),
}
GRAPH = {"item-touches": (TAKER, "Touch", 7 * DAY, False)}
LEARNED = {"outcomes": ("domain", "Outcome", 7 * DAY, False)}


@pytest.mark.parametrize(("base", "expected"), [*PUBLIC.items(), *TABLES.items(), *GRAPH.items(), *LEARNED.items()])
def test_topic_is_keyed_and_kept_as_designed(base: str, expected: tuple[str, str, timedelta | None, bool]) -> None:
    topic = TOPICS[base]

    assert (topic.key.value, topic.model.__name__, topic.retention, topic.compact) == expected


def test_log_of_truth_is_kept_for_ever() -> None:
    """Compacted by a key that no two versions share: only a tombstone, for what is forgotten, takes one away."""
    assert TOPICS["skill-diffs"].config()["cleanup.policy"] == "compact"
    assert diff_key("ann", "books", 1) != diff_key("ann", "books", 2)


def test_what_is_forgotten_is_gone_from_compacted_topics_within_days() -> None:
    """By default Kafka compacts a log once half of it is new, which may be never."""
    for topic in TOPICS.values():
        if topic.compact:
            assert int(topic.config()["max.compaction.lag.ms"]) <= DAY / timedelta(milliseconds=1)


def test_all_topics_of_users_have_the_same_partition_count() -> None:
    """They are joined by partition: one with another count, and a user's records never meet."""
    assert {t.partitions(12) for t in TOPICS.values() if t.key.value.startswith(("user_id", "item_id"))} == {12}
