"""The topic registry: the single source of names, keys, partitions, retention and compaction.

>>> TOPICS["skills"].name("sager.")
'sager.skills'
>>> TOPICS["skills"].config()["cleanup.policy"]
'compact'
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from pydantic_core import to_json

from .abstentions import Abstention
from .base import Event, Model
from .cards import Card, CardCommand, CardDiff, Listening
from .commands import SkillCommand
from .contrasts import Contrast
from .corrections import Correction
from .dead_letters import DeadLetter
from .diffs import PolicySkill, SkillDiff
from .events import Interaction, Ranking, RankRequest, Selection
from .exceptions import UnknownTopic
from .feedback import Feedback
from .forgetting import ForgetRequest, Receipt
from .items import Item
from .memory import ItemMemory, Memory, Touch
from .skills import GlobalSkill, SlimSkill
from .state import OpenRankings, Profile
from .utterances import Utterance
from .weights import Outcome, WeightCommand, Weights

DEFAULT_PREFIX = "sager."
MEBIBYTE = 1024 * 1024
COMPACTION = {"max.compaction.lag.ms": str(24 * 3_600_000), "segment.ms": str(24 * 3_600_000)}
"""By default Kafka may put compaction off for ever; what is forgotten must be gone within days."""


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
    """The key of a record that is unique per user and domain, user and slot, or item and domain: an array of the two.

    >>> compound_key("ann", "books")
    b'["ann","books"]'
    """
    return to_json([owner, part])


def diff_key(user_id: str, domain: str, version: int) -> bytes:
    """The key of one version in the log. It is unique, so that compaction removes only what was forgotten.

    >>> diff_key("ann", "books", 7)
    b'["ann","books",7]'
    """
    return to_json([user_id, domain, version])


def key_start(*parts: str) -> bytes:
    """The prefix of every key that begins with these parts and has more.

    >>> key_start("ann")
    b'["ann",'
    """
    return to_json(parts)[:-1] + b","


_KEYS: dict[Key, Callable[[Any], bytes]] = {
    Key.USER: lambda event: event.user_id.encode(),
    Key.USER_AND_DOMAIN: lambda event: compound_key(event.user_id, event.domain),
    Key.USER_AND_VERSION: lambda event: compound_key(event.user_id, event.version),
    Key.USER_AND_SLOT: lambda event: compound_key(event.user_id, event.slot),
    Key.ITEM_AND_DOMAIN: lambda event: compound_key(event.item_id, event.domain),
    Key.TAKER: lambda event: event.taker.encode(),
    Key.ITEM: lambda event: event.item.item_id.encode(),
    Key.DOMAIN: lambda event: event.domain.encode(),
    Key.USER_DOMAIN_AND_VERSION: lambda event: diff_key(event.user_id, event.domain, event.version),
    Key.SUBJECT: lambda event: event.subject.encode(),
}


@dataclass(frozen=True)
class Topic:
    """One topic: what it carries and how Kafka keeps it.

    Attributes:
        base: the name without the deployment's prefix.
        model: the class of a record's value.
        key: the key of a record. All records of one user are on that user's partition, even where the key
            also holds the domain.
        retention: how long records are kept; None: for ever. Does not apply to compacted topics.
        compact: whether only the newest record per key is kept.
        written_by: who produces it, for the documentation.
        max_message_bytes: the largest record that the broker accepts.
        single_partition: every process reads it whole, instead of a share of its users.
        internal: a table's changelog or a message between agents, not meant for other readers.
        packed: whether its values are compressed, see `streams.kafka.packed`: only where no app reads them.
        worked_off: whether the workers' group consumes it, so that what waits there is lag.
    """

    base: str
    model: type[Model]
    key: Key
    written_by: str
    retention: timedelta | None = None
    compact: bool = False
    max_message_bytes: int = MEBIBYTE
    single_partition: bool = False
    internal: bool = False
    packed: bool = False
    worked_off: bool = False

    def name(self, prefix: str = DEFAULT_PREFIX) -> str:
        """The topic's name in a deployment, such as `sager.skills`."""
        return prefix + self.base

    def partitions(self, configured: int) -> int:
        """The number of partitions, given that user-keyed topics have `configured`."""
        return 1 if self.single_partition else configured

    def config(self) -> dict[str, str]:
        """The topic-level settings to create it with."""
        retention_ms = -1 if self.retention is None else int(self.retention.total_seconds() * 1000)
        settings = {
            "cleanup.policy": "compact" if self.compact else "delete",
            "max.message.bytes": str(self.max_message_bytes),
        }
        return settings | (COMPACTION if self.compact else {"retention.ms": str(retention_ms)})

    def key_of(self, event: Model) -> bytes:
        """The record key of this event.

        Raises:
            TypeError: the topic keeps the key of the original record.
        """
        if self.key not in _KEYS:
            raise TypeError(f"{self.base} is keyed by {self.key.value}")
        return _KEYS[self.key](event)

    def owner_of(self, event: Any) -> str:
        """The id whose partition the event belongs on: its user's, on the item side of the graph its items'.

        What is learned of a domain is on the domain's.
        """
        if self.key is Key.TAKER:  # all its items are of one partition
            return str(event.items[0].item_id) if event.items else ""
        if self.key is Key.DOMAIN:
            return str(event.domain)
        owner: str = event.item_id if self.key is Key.ITEM_AND_DOMAIN else event.user_id
        return owner


_ALL = (
    Topic("items", Item, Key.ITEM, "app", compact=True),
    Topic("interactions", Interaction, Key.USER, "app, importers", timedelta(days=30), worked_off=True),
    Topic("rank-requests", RankRequest, Key.USER, "app", timedelta(days=7), worked_off=True),
    Topic(
        "rankings",
        Ranking,
        Key.USER,
        "app, or the agent rank",
        timedelta(days=7),
        max_message_bytes=2 * MEBIBYTE,
        worked_off=True,
    ),
    Topic("selections", Selection, Key.USER, "app", timedelta(days=30), worked_off=True),
    Topic("feedback", Feedback, Key.USER, "app", timedelta(days=30), worked_off=True),
    Topic(
        "corrections",
        Correction,
        Key.USER,
        "console, CLI, app",
        timedelta(days=90),
        max_message_bytes=2 * MEBIBYTE,
        worked_off=True,
    ),
    Topic("utterances", Utterance, Key.USER, "app", timedelta(days=7), worked_off=True),
    Topic(
        "abstentions",
        Abstention,
        Key.USER,
        "the agent contrast",
        timedelta(days=30),
        max_message_bytes=4 * MEBIBYTE,
        worked_off=True,
        packed=True,
    ),
    Topic(
        "contrasts",
        Contrast,
        Key.USER,
        "the agent contrast",
        timedelta(days=30),
        max_message_bytes=4 * MEBIBYTE,
        worked_off=True,
        packed=True,
    ),
    Topic("skill-diffs", SkillDiff, Key.USER_DOMAIN_AND_VERSION, "the agent evolve", compact=True),
    Topic(
        "skills",
        PolicySkill,
        Key.USER_AND_DOMAIN,
        "the agent evolve: its table's changelog",
        compact=True,
        packed=True,
    ),
    Topic("slim-skills", SlimSkill, Key.USER_AND_DOMAIN, "the agent evolve", compact=True),
    Topic("card-diffs", CardDiff, Key.USER_AND_VERSION, "the agent listen", compact=True),
    Topic("cards", Card, Key.USER, "the agent listen: its table's changelog", compact=True),
    Topic("card-commands", CardCommand, Key.USER, "console, CLI, app", timedelta(days=90), worked_off=True),
    Topic("skill-commands", SkillCommand, Key.USER, "console, CLI, app", timedelta(days=90), worked_off=True),
    Topic("forget-requests", ForgetRequest, Key.USER, "console, CLI, app", timedelta(days=30), worked_off=True),
    Topic("receipts", Receipt, Key.SUBJECT, "the agent evolve", compact=True),
    Topic("global-skills", GlobalSkill, Key.DOMAIN, "CLI", compact=True, single_partition=True),
    Topic("outcomes", Outcome, Key.DOMAIN, "the agent evolve", timedelta(days=7), internal=True, worked_off=True),
    Topic("weight-commands", WeightCommand, Key.DOMAIN, "CLI", timedelta(days=90), worked_off=True),
    Topic("weights", Weights, Key.DOMAIN, "the agent weigh: its table's changelog", compact=True),
    Topic("dead-letters", DeadLetter, Key.ORIGINAL, "any stage", timedelta(days=90), max_message_bytes=4 * MEBIBYTE),
    Topic("profiles", Profile, Key.USER_AND_DOMAIN, "the agent prior", compact=True, internal=True, packed=True),
    Topic(
        "open-rankings",
        OpenRankings,
        Key.USER_AND_SLOT,
        "the agent contrast",
        compact=True,
        max_message_bytes=4 * MEBIBYTE,
        internal=True,
        packed=True,
    ),
    Topic(
        "conversations",
        Listening,
        Key.USER,
        "the agent listen",
        compact=True,
        max_message_bytes=4 * MEBIBYTE,
        internal=True,
        packed=True,
    ),
    Topic(
        "memories",
        Memory,
        Key.USER_AND_DOMAIN,
        "the agents prior and evolve",
        compact=True,
        internal=True,
        packed=True,
    ),
    Topic(
        "item-touches",
        Touch,
        Key.TAKER,
        "the agents prior and evolve",
        timedelta(days=7),
        internal=True,
        worked_off=True,
        packed=True,
    ),
    Topic(
        "item-memories",
        ItemMemory,
        Key.ITEM_AND_DOMAIN,
        "the agent propagate",
        compact=True,
        internal=True,
        packed=True,
    ),
)

TOPICS: dict[str, Topic] = {topic.base: topic for topic in _ALL}
FROM_APPS = (
    "items",
    "interactions",
    "rank-requests",
    "rankings",
    "selections",
    "feedback",
    "corrections",
    "utterances",
)
"""The topics that apps write; commands and requests to forget come from people's apps in another role."""
WORKED_OFF = tuple(topic.base for topic in _ALL if topic.worked_off)
"""The topics that the workers' group consumes."""


def topic_of(model: type[Event]) -> Topic:
    """The topic that carries events of this class."""
    return TOPICS[model.TOPIC]


def by_name(name: str, prefix: str = DEFAULT_PREFIX) -> Topic:
    """The registered topic with this full name.

    Raises:
        UnknownTopic: there is none, or it has another prefix.
    """
    if name.startswith(prefix) and (found := TOPICS.get(name[len(prefix) :])):
        return found
    raise UnknownTopic(f"{name!r} is not a topic of the prefix {prefix!r}; known are {', '.join(TOPICS)}")
