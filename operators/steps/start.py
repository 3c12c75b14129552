"""Where a user's skill begins (paper 2.3, dual-level initialization)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from operators.merge import DEFAULT_LIMITS, MergeLimits, fit_seed, start
from operators.privacy import Privacy
from operators.statinit import statinit
from schemas import Attribute, Event, PolicySkill, Profile


@dataclass(frozen=True)
class Start:
    """How skills begin.

    Attributes:
        limits: of the merge, of which a seed fills a part.
        privacy: what no skill may hold. Profiles and templates may be older than what is private now.
        from_history: users with interactions start from their statistics, else from nothing.
        from_template: users without start from the domain's template, else from nothing.
    """

    limits: MergeLimits = DEFAULT_LIMITS
    from_history: bool = True
    from_template: bool = True
    privacy: Privacy = field(kw_only=True)

    def seed(
        self,
        domain: str,
        profile: Profile | None,
        template: Sequence[Attribute] = (),
        usual: Mapping[str, int] | None = None,
    ) -> tuple[Attribute, ...]:
        """What the user's history gives; without one, the domain's template."""
        lines: Sequence[Attribute]
        if profile is not None and profile.interactions:
            lines = statinit(profile, usual) if self.from_history else ()
        else:
            lines = template if self.from_template else ()
        kept = tuple(a for a in lines if self.privacy.refuses(domain, a.dimension, a.value) is None)
        return fit_seed(kept, self.limits)

    def skill(
        self,
        user_id: str,
        domain: str,
        event: Event,
        profile: Profile | None,
        template: Sequence[Attribute] = (),
        usual: Mapping[str, int] | None = None,
    ) -> PolicySkill:
        """The user's skill before their first choice: the seed, at version 0."""
        skill = start(user_id, domain, self.seed(domain, profile, template, usual), event)
        if profile is None:
            return skill
        # Visits that the seed counts are not counted again.
        return skill.model_copy(update={"applied": profile.applied})
