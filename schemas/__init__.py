"""What flows: the models of all events and states, the topic registry, and their export. Imports nothing of ours."""

from schemas.base import SCHEMA_VERSION, Event, Model
from schemas.codec import decode, derived_id, encode
from schemas.commands import Action, SkillCommand
from schemas.contrasts import Contrast
from schemas.dead_letters import DeadLetter
from schemas.diffs import Change, ChangeKind, PolicySkill, ReasonedBy, Refusal, Refused, SkillDiff
from schemas.events import Injected, Interaction, RankedBy, Ranking, RankRequest, Selection
from schemas.exceptions import BadRecord, SchemaError, UnknownTopic
from schemas.items import MAX_FACTS, Candidate, Fact, Item, ItemFacts
from schemas.skills import (
    MAX_ATTRIBUTES,
    MAX_EVIDENCE,
    MAX_RECENT,
    Attribute,
    Evidence,
    GlobalSkill,
    Kind,
    Position,
    SlimSkill,
    Source,
    Strategy,
    Tier,
)
from schemas.state import Answered, OpenRanking, OpenRankings, Profile, WaitingSelection
from schemas.topics import TOPICS, Key, Topic, compound_key, topic_of

__all__ = [
    "MAX_ATTRIBUTES",
    "MAX_EVIDENCE",
    "MAX_FACTS",
    "MAX_RECENT",
    "SCHEMA_VERSION",
    "TOPICS",
    "Action",
    "Answered",
    "Attribute",
    "BadRecord",
    "Candidate",
    "Change",
    "ChangeKind",
    "Contrast",
    "DeadLetter",
    "Event",
    "Evidence",
    "Fact",
    "GlobalSkill",
    "Injected",
    "Interaction",
    "Item",
    "ItemFacts",
    "Key",
    "Kind",
    "Model",
    "OpenRanking",
    "OpenRankings",
    "PolicySkill",
    "Position",
    "Profile",
    "RankRequest",
    "RankedBy",
    "Ranking",
    "ReasonedBy",
    "Refusal",
    "Refused",
    "SchemaError",
    "Selection",
    "SkillCommand",
    "SkillDiff",
    "SlimSkill",
    "Source",
    "Strategy",
    "Tier",
    "Topic",
    "UnknownTopic",
    "WaitingSelection",
    "compound_key",
    "decode",
    "derived_id",
    "encode",
    "topic_of",
]
