"""The other side of a replay: the settings, limits and numbers it may change."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Final, TypeVar

from operators.evolve.proposals import RulesReasoner, without_model
from operators.learning.evidence import to_fixed_point
from operators.learning.tiers import DEFAULT_LIMITS, MergeLimits
from operators.options import EvolveMode
from operators.steps import Reason
from operators.whatif import ReplaySide
from schemas import Attribute, Contrast, GlobalSkill, PolicySkill
from streams.exceptions import StreamsError
from streams.settings import ReasonerName, Settings
from streams.steps import evolve_of, limits_of, rank_of
from streams.worker.reasoning.llm import variant_reasoner

SETTINGS: Final = (
    *("reasoner", "gate", "evolve_mode", "warmup_rounds", "rank_skill", "task_slim", "slim_tokens"),
    *("llm_base_url", "llm_model", "llm_timeout_seconds", "llm_attempts", "llm_retry_seconds", "llm_sizes_in_schema"),
    *("llm_price_prompt", "llm_price_completion"),
)
LIMITS: Final = tuple(
    f"merge.{each.name}" for each in fields(MergeLimits) if each.name not in ("seed_characters", "session")
)
RULES: Final = tuple(f"rules.{each.name}" for each in fields(RulesReasoner) if each.name != "name")
NAMES: Final = (*SETTINGS, *LIMITS, *RULES)
# Upper limits: a skill with more lines cannot be encoded. All others may be up to 20,000.
MOST: Final = {"merge.attributes": 64, "rules.common_share": 1}
# Numbers without effect in the mode `counts`.
PAPER_ONLY: Final = ("merge.protect_contradictions", "merge.weaken_window", "merge.discoveries", *RULES)

_Group = TypeVar("_Group", MergeLimits, RulesReasoner)


class InvalidVariant(StreamsError, ValueError):
    """A replay cannot set this name, or not to this value."""


@dataclass(frozen=True)
class Variant:
    """The deployment's configuration with changes; `changed`: the changes as given."""

    settings: Settings
    limits: MergeLimits = DEFAULT_LIMITS
    rules: RulesReasoner = field(default_factory=RulesReasoner)
    changed: Mapping[str, str] = field(default_factory=dict)


def variant_of(settings: Settings, changes: list[str]) -> Variant:
    """Apply `NAME=VALUE` arguments to the configuration; `none` is None."""
    changed = {name: value for name, _, value in (word.partition("=") for word in changes)}
    if unknown := sorted(set(changed) - set(NAMES)):
        raise InvalidVariant(
            f"a replay cannot change {', '.join(unknown)}. Write NAME=VALUE with one of {', '.join(NAMES)}"
        )
    own = {name: None if value == "none" else value for name, value in changed.items() if name in SETTINGS}
    settings = Settings(**{**settings.model_dump(), **own}) if own else settings  # a new object, to validate the values
    idle = [name for name in changed if name in PAPER_ONLY]
    if idle and settings.evolve_mode is EvolveMode.COUNTS:
        raise InvalidVariant(
            f"{', '.join(idle)} changes nothing with evolve_mode=counts: set evolve_mode=incremental too"
        )
    limits, rules = _changed(limits_of(settings), "merge", changed), _changed(RulesReasoner(), "rules", changed)
    return Variant(settings, limits, rules, changed)


def _changed(group: _Group, prefix: str, changed: Mapping[str, str]) -> _Group:
    found: dict[str, Any] = {}
    for each in fields(group):
        name, most = f"{prefix}.{each.name}", MOST.get(f"{prefix}.{each.name}", 20_000)
        if name in changed:
            kind = type(getattr(group, each.name))
            try:
                found[each.name] = kind(changed[name])
            except ValueError:
                found[each.name] = -1
            if not 0 <= found[each.name] <= most:
                raise InvalidVariant(
                    f"{name} must be {'a whole number' if kind is int else 'a number'} from 0 to {most}"
                )
    return replace(group, **found)


def side_of(variant: Variant, published: Mapping[str, GlobalSkill]) -> ReplaySide:
    """Build the other side of a replay, given the global skills by domain."""
    # Without a fallback to rules: choices of a failed model must count as unavailable.
    settings = variant.settings
    reason: Reason = without_model(settings.evolve_mode, variant.rules).reason
    if settings.reasoner is ReasonerName.LLM:
        reason = variant_reasoner(settings, "replay").reason
    usual = {domain: to_fixed_point(skill.usual) for domain, skill in published.items()}
    items = {domain: {str(name): users for name, users in skill.items.items()} for domain, skill in published.items()}
    lines = partial(lines_that_rank, settings, published)
    return ReplaySide(evolve_of(settings, variant.limits), reason, lines, usual.get, items.get)


def lines_that_rank(
    settings: Settings, published: Mapping[str, GlobalSkill], skill: PolicySkill, contrast: Contrast
) -> tuple[Attribute, ...]:
    """Return the lines that the deterministic ranker uses with these settings."""
    known = published.get(skill.domain)
    return tuple(rank_of(settings).lines(skill, contrast.instruction, known.shares if known else None))
