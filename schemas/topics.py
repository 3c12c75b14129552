"""The topic registry: names, keys, partitions, retention and compaction.

>>> TOPICS["skills"].name("sager.")
'sager.skills'
>>> TOPICS["skills"].config()["cleanup.policy"]
'compact'
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial
from operator import attrgetter
from typing import Any

from pydantic_core import to_json

from .base import Event, Model
from .cards import Card, CardCommand, CardDiff, PendingConversations
from .codec import DeadLetter, SchemaError
from .commands import ForgetRequest, Receipt, SkillCommand
from .diffs import PolicySkill, SkillDiff
from .events import Abstention, Contrast, Feedback, Interaction, Ranking, RankRequest, Selection
from .items import Item
from .skills import GlobalSkill, SlimSkill
from .state import ItemMemory, ItemUpdate, Memory, OpenRankings, Profile
from .statements import Correction, Utterance
from .weights import RankingOutcome, WeightCommand, Weights

DEFAULT_PREFIX = "sager."
MEBIBYTE = 1024 * 1024
DAY = timedelta(days=1)
# By default Kafka may never compact; erased records must be gone within days.
COMPACTION = {"max.compaction.lag.ms": str(24 * 3_600_000), "segment.ms": str(24 * 3_600_000)}


class UnknownTopic(SchemaError, KeyError):
    """No topic of this name is in the registry."""

    def __str__(self) -> str:
        return str(self.args[0])


class Key(StrEnum):
    """The key of a topic's records."""

    USER = "user_id"
    USER_AND_DOMAIN = "user_id, domain"
    USER_AND_VERSION = "user_id, version"
    USER_AND_SLOT = "user_id, slot"
    ITEM = "item_id"
    ITEM_AND_DOMAIN = "item_id, domain"
    TAKER = "a taker's pseudonym"
    DOMAIN = "domain"
    USER_DOMAIN_AND_VERSION = "user_id, domain, version"
    SUBJECT = "subject"
    ORIGINAL = "the original record's key"


def compound_key(owner: str, part: str | int) -> bytes:
    """Return the key of a user or item, and a part.

    >>> compound_key("ann", "books")
    b'["ann","books"]'
    """
    return to_json([owner, part])


def diff_key(user_id: str, domain: str, version: int) -> bytes:
    """Return the key of one version, which compaction keeps.

    >>> diff_key("ann", "books", 7)
    b'["ann","books",7]'
    """
    return to_json([user_id, domain, version])


def key_prefix(*parts: str) -> bytes:
    """Return the prefix of longer keys that begin with these parts.

    >>> key_prefix("ann")
    b'["ann",'
    """
    return to_json(parts)[:-1] + b","


# By the fields of an event: the values of `Key`, but for two.
_PATHS = {Key.ITEM: "item.item_id", Key.TAKER: "taker"}
_KEYS = {key: attrgetter(*_PATHS.get(key, key).split(", ")) for key in Key if key is not Key.ORIGINAL}


@dataclass(frozen=True)
class Topic:
    """One topic: its records and how Kafka keeps them.

    All records of one user are on that user's partition, even where the key also holds the domain.
    """

    # The name without the deployment's prefix.
    base: str
    model: type[Model]
    key: Key
    written_by: str
    # None: for ever. Does not apply to compacted topics, which keep the newest record per key.
    retention: timedelta | None = None
    compact: bool = False
    # The largest record that the broker accepts.
    mebibytes: int = 1
    # Every process reads it whole, instead of a share of its users.
    single_partition: bool = False
    # A table's changelog or a message between agents, not meant for other readers.
    internal: bool = False
    # Kafka's codec for its batches; by default the configured one, which every client of an app reads.
    compression: str = ""
    # The workers' group consumes it, so that waiting records are lag.
    is_consumed: bool = False

    def name(self, prefix: str = DEFAULT_PREFIX) -> str:
        """Return the topic's name in a deployment, such as `sager.skills`."""
        return prefix + self.base

    @property
    def max_message_bytes(self) -> int:
        """The largest record that the broker accepts."""
        return self.mebibytes * MEBIBYTE

    def partitions(self, configured: int) -> int:
        """Return the number of partitions, given that user-keyed topics have `configured`."""
        return 1 if self.single_partition else configured

    def config(self) -> dict[str, str]:
        """Return the topic-level settings to create it with."""
        retention_ms = -1 if self.retention is None else int(self.retention.total_seconds() * 1000)
        settings = {
            "cleanup.policy": "compact" if self.compact else "delete",
            "max.message.bytes": str(self.max_message_bytes),
        }
        return settings | (COMPACTION if self.compact else {"retention.ms": str(retention_ms)})

    def key_of(self, event: Model) -> bytes:
        """Return the record key of this event.

        Raises:
            TypeError: the topic keeps the key of the original record.
        """
        if self.key not in _KEYS:
            raise TypeError(f"{self.base} is keyed by {self.key.value}")
        found = _KEYS[self.key](event)
        return to_json(found) if isinstance(found, tuple) else found.encode()

    def owner_of(self, event: Any) -> str:
        """Return the user, item or domain whose partition the event belongs on."""
        if self.key is Key.TAKER:  # all its items are of one partition
            return str(event.items[0].item_id) if event.items else ""
        if self.key is Key.DOMAIN:
            return str(event.domain)
        return str(event.item_id if self.key is Key.ITEM_AND_DOMAIN else event.user_id)


# For workers and Java tools alone, as KafkaJS does not read it: a seventh less bytes than gzip, a fifth of its CPU.
_ZSTD = "zstd"
_WORKERS = partial(Topic, is_consumed=True, compression=_ZSTD)
_TABLE = partial(Topic, compact=True, internal=True, compression=_ZSTD)
_ALL = (
    Topic("items", Item, Key.ITEM, "app, or agent enrich", compact=True),
    Topic("interactions", Interaction, Key.USER, "app, importers", 30 * DAY, is_consumed=True),
    Topic("rank-requests", RankRequest, Key.USER, "app", 7 * DAY, is_consumed=True),
    Topic("rankings", Ranking, Key.USER, "app, or agent rank", 7 * DAY, mebibytes=2, is_consumed=True),
    Topic("selections", Selection, Key.USER, "app", 30 * DAY, is_consumed=True),
    Topic("feedback", Feedback, Key.USER, "app", 30 * DAY, is_consumed=True),
    Topic("corrections", Correction, Key.USER, "console, CLI, app, listen", 90 * DAY, mebibytes=2, is_consumed=True),
    Topic("utterances", Utterance, Key.USER, "app", 7 * DAY, is_consumed=True),
    _WORKERS("abstentions", Abstention, Key.USER, "agent contrast", 30 * DAY, mebibytes=4),
    _WORKERS("contrasts", Contrast, Key.USER, "agent contrast", 30 * DAY, mebibytes=4),
    Topic("skill-diffs", SkillDiff, Key.USER_DOMAIN_AND_VERSION, "agent evolve", compact=True),
    _TABLE("skills", PolicySkill, Key.USER_AND_DOMAIN, "agent evolve: its table's changelog", internal=False),
    Topic("slim-skills", SlimSkill, Key.USER_AND_DOMAIN, "agent evolve", compact=True),
    Topic("card-diffs", CardDiff, Key.USER_AND_VERSION, "agent listen", compact=True),
    Topic("cards", Card, Key.USER, "agent listen: its table's changelog", compact=True),
    Topic("card-commands", CardCommand, Key.USER, "console, CLI, app", 90 * DAY, is_consumed=True),
    Topic("skill-commands", SkillCommand, Key.USER, "console, CLI, app", 90 * DAY, is_consumed=True),
    Topic("forget-requests", ForgetRequest, Key.USER, "console, CLI, app, listen", 30 * DAY, is_consumed=True),
    Topic("receipts", Receipt, Key.SUBJECT, "agent evolve", compact=True),
    Topic("global-skills", GlobalSkill, Key.DOMAIN, "CLI", compact=True, single_partition=True),
    _WORKERS("outcomes", RankingOutcome, Key.DOMAIN, "agent evolve", 7 * DAY, internal=True),
    Topic("weight-commands", WeightCommand, Key.DOMAIN, "CLI", 90 * DAY, is_consumed=True),
    Topic("weights", Weights, Key.DOMAIN, "agent weigh: its table's changelog", compact=True),
    Topic("dead-letters", DeadLetter, Key.ORIGINAL, "any stage", 90 * DAY, mebibytes=4),
    _TABLE("profiles", Profile, Key.USER_AND_DOMAIN, "agent prior"),
    _TABLE("open-rankings", OpenRankings, Key.USER_AND_SLOT, "agent contrast", mebibytes=4),
    _TABLE("conversations", PendingConversations, Key.USER, "agent listen", mebibytes=4),
    _TABLE("memories", Memory, Key.USER_AND_DOMAIN, "agents prior and evolve"),
    _WORKERS("item-touches", ItemUpdate, Key.TAKER, "agents prior and evolve", 7 * DAY, internal=True),
    _TABLE("item-memories", ItemMemory, Key.ITEM_AND_DOMAIN, "agent propagate"),
)

TOPICS: dict[str, Topic] = {topic.base: topic for topic in _ALL}
# The topics that apps write. Commands and requests to forget need another role.
APP_TOPICS = (
    *("items", "interactions", "rank-requests", "rankings"),
    *("selections", "feedback", "corrections", "utterances"),
)
# The topics that the workers' group consumes.
CONSUMED_TOPICS = tuple(topic.base for topic in _ALL if topic.is_consumed)


def topic_of(model: type[Event]) -> Topic:
    """Return the topic that carries events of this class."""
    return TOPICS[model.TOPIC]


def by_name(name: str, prefix: str = DEFAULT_PREFIX) -> Topic:
    """Return the registered topic with this full name.

    Raises:
        UnknownTopic: there is none, or it has another prefix.
    """
    if name.startswith(prefix) and (found := TOPICS.get(name[len(prefix) :])):
        return found
    raise UnknownTopic(f"{name!r} is not a topic of the prefix {prefix!r}; known are {', '.join(TOPICS)}")
