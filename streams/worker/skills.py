"""A user's skill as it is now, or what they start from (paper 2.3, dual-level initialization)."""

from operators.merge import fit_seed, start
from operators.statinit import statinit
from schemas import Attribute, Contrast, PolicySkill, Profile, RankRequest, SkillCommand, compound_key
from streams.worker.pipeline import Pipeline


def newest(pipeline: Pipeline, record: Contrast | SkillCommand | RankRequest) -> PolicySkill:
    """The user's skill; before their first choice the seed, at version 0."""
    key = compound_key(record.user_id, record.domain)
    skill = pipeline.read(pipeline.skills, key, PolicySkill)
    if skill is not None:
        return skill
    return start(record.user_id, record.domain, seed(pipeline, record.user_id, record.domain), record)


def seed(pipeline: Pipeline, user_id: str, domain: str) -> tuple[Attribute, ...]:
    """What the user's history gives; without one, the domain's template."""
    profile = pipeline.read(pipeline.profiles, compound_key(user_id, domain), Profile)
    if profile is not None and profile.interactions:
        lines = statinit(profile, pipeline.prior_limits) if pipeline.settings.statinit else ()
    else:
        lines = pipeline.global_skills.template(domain) if pipeline.settings.cold_start else ()
    # Profiles and templates may be older than what is private now.
    lines = tuple(a for a in lines if pipeline.privacy.refuses(domain, a.dimension, a.value) is None)
    return fit_seed(lines, pipeline.merge_limits)
