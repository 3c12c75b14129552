"""A user's skill as it is now, or what they start from."""

from schemas import (
    Abstention,
    Contrast,
    Correction,
    Feedback,
    Interaction,
    PolicySkill,
    Profile,
    RankRequest,
    SkillCommand,
    compound_key,
)
from streams.worker.pipeline import Pipeline

OfAPerson = Contrast | Interaction | Feedback | Correction | Abstention | SkillCommand | RankRequest
"""What is about one person in one domain."""


def newest(pipeline: Pipeline, record: OfAPerson) -> PolicySkill:
    """The user's skill; before their first choice the seed, at version 0."""
    user_id, domain = record.user_id, record.domain
    key = compound_key(user_id, domain)
    skill = pipeline.read(pipeline.skills, key, PolicySkill)
    if skill is not None:
        return skill
    profile = pipeline.read(pipeline.profiles, key, Profile)
    told = pipeline.global_skills
    return pipeline.start.skill(user_id, domain, record, profile, told.template(domain), told.usual(domain))
