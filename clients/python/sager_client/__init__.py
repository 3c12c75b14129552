"""What an app needs of sager-streams: send what was shown and taken, read back each user's slim skill.

    from sager_client import EventProducer, SlimSkills

`AsyncEventProducer` and `AsyncSlimSkills` are the same for asyncio.
"""

from .aio import AsyncEventProducer, AsyncSlimSkills
from .connection import Connection
from .events import EventProducer
from .exceptions import (
    BrokerUnreachable,
    Closed,
    Misconfigured,
    NoAnswer,
    NotDelivered,
    NotShown,
    SagerClientError,
)
from .schemas import (
    Action,
    Candidate,
    Event,
    ForgetRequest,
    Injected,
    Interaction,
    Item,
    Kind,
    Ranking,
    RankRequest,
    Selection,
    SkillCommand,
    SlimSkill,
    Stated,
    Tier,
)
from .sender import Undelivered
from .slim_skills import SlimSkills

__all__ = [
    "Action",
    "AsyncEventProducer",
    "AsyncSlimSkills",
    "BrokerUnreachable",
    "Candidate",
    "Closed",
    "Connection",
    "Event",
    "EventProducer",
    "ForgetRequest",
    "Injected",
    "Interaction",
    "Item",
    "Kind",
    "Misconfigured",
    "NoAnswer",
    "NotDelivered",
    "NotShown",
    "RankRequest",
    "Ranking",
    "SagerClientError",
    "Selection",
    "SkillCommand",
    "SlimSkill",
    "SlimSkills",
    "Stated",
    "Tier",
    "Undelivered",
]
