"""Client of sager-streams: send what was shown and taken, read back each user's slim skill.

    from sager_client import EventProducer, SlimSkills

`AsyncEventProducer` and `AsyncSlimSkills` are the same for asyncio.
"""

from .aio import AsyncEventProducer, AsyncSlimSkills
from .connection import Connection
from .errors import (
    BrokerUnreachable,
    Closed,
    Misconfigured,
    NoAnswer,
    NotAsked,
    NotDelivered,
    NotShown,
    SagerClientError,
)
from .methods import question_of
from .producer import EventProducer, Understood
from .schemas import (
    Action,
    Bound,
    Candidate,
    CardAction,
    CardCommand,
    CardStated,
    Correction,
    Directive,
    Event,
    Feedback,
    Fit,
    ForgetRequest,
    Injected,
    Interaction,
    Item,
    Kind,
    Option,
    Question,
    Ranking,
    RankRequest,
    Role,
    Scope,
    Selection,
    Signal,
    SkillCommand,
    SlimSkill,
    Stance,
    Stated,
    Tier,
    Utterance,
)
from .sender import Undelivered
from .slim_skills import SlimSkills

__all__ = [
    "Action",
    "AsyncEventProducer",
    "AsyncSlimSkills",
    "Bound",
    "BrokerUnreachable",
    "Candidate",
    "CardAction",
    "CardCommand",
    "CardStated",
    "Closed",
    "Connection",
    "Correction",
    "Directive",
    "Event",
    "EventProducer",
    "Feedback",
    "Fit",
    "ForgetRequest",
    "Injected",
    "Interaction",
    "Item",
    "Kind",
    "Misconfigured",
    "NoAnswer",
    "NotAsked",
    "NotDelivered",
    "NotShown",
    "Option",
    "Question",
    "RankRequest",
    "Ranking",
    "Role",
    "SagerClientError",
    "Scope",
    "Selection",
    "Signal",
    "SkillCommand",
    "SlimSkill",
    "SlimSkills",
    "Stance",
    "Stated",
    "Tier",
    "Undelivered",
    "Understood",
    "Utterance",
    "question_of",
]
