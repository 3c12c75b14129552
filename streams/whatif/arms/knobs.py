"""What a what-if or a shadow arm may change, by name: settings, limits of the merge, numbers of the rules.

Only what decides how a skill learns and which of its lines rank. What a skill starts from is not among them: both
sides start alike. Nor is the privacy filter, which is no knob.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeVar

from operators.evolve import RulesReasoner
from operators.merge import DEFAULT_LIMITS, MergeLimits
from operators.options import EvolveMode
from operators.whatif import fingerprint
from streams.exceptions import StreamsError
from streams.settings import Settings
from streams.steps import limits_of

SETTINGS: Final = (
    "reasoner",
    "on_llm_failure",
    "llm_base_url",
    "llm_model",
    "llm_timeout_seconds",
    "llm_attempts",
    "llm_retry_seconds",
    "llm_sizes_in_schema",
    "llm_price_prompt",
    "llm_price_completion",
    "gate",
    "evolve_mode",
    "warmup_rounds",
    "rank_skill",
    "task_slim",
    "slim_tokens",
)
BOUNDS: Final = {
    "merge.protect_contradictions": (1, 100),
    "merge.weaken_window": (0, 10_000),
    "merge.discoveries": (0, 64),
    "merge.attributes": (1, 64),
    "merge.characters": (100, 20_000),
    "merge.pinned": (0, 64),
    "merge.global_patience": (0, 10_000),
    "merge.verdict_weight": (0, 16),
    "rules.common_share": (0, 1),
    "rules.discoveries": (0, 64),
    "rules.near_misses": (1, 200),
    "rules.offers": (1, 200),
}
"""The numbers that are no settings, and what they may be: skills of more than 64 lines cannot be written."""
NAMES: Final = (*SETTINGS, *BOUNDS)
OF_TIERS: Final = ("merge.protect_contradictions", "merge.weaken_window", "merge.discoveries")
"""What only the paper's own rule asks for, as do all numbers of the rules; counts have no use for it."""

_Group = TypeVar("_Group", MergeLimits, RulesReasoner)


class BadKnob(StreamsError, ValueError):
    """There is no such knob, or not with this value."""


@dataclass(frozen=True)
class Knobs:
    """An arm's configuration, and what of it was changed.

    Attributes:
        settings: the deployment's, with the changes.
        limits: of the merge.
        rules: the reasoner without a model.
        changed: what was changed, by name, as it was given.
    """

    settings: Settings
    limits: MergeLimits = DEFAULT_LIMITS
    rules: RulesReasoner = field(default_factory=RulesReasoner)
    changed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Another one whenever something else is changed."""
        return fingerprint(self.changed)


def knobs_of(settings: Settings, changed: Mapping[str, Any]) -> Knobs:
    """The deployment's configuration with these changes.

    Args:
        settings: the deployment.
        changed: by name; a value may be text, as from a command line; `none` is none.

    Raises:
        BadKnob: a name is unknown, or a number out of bounds.
        ValidationError: a setting does not allow the value.
    """
    if unknown := sorted(set(changed) - set(NAMES)):
        raise BadKnob(f"there is no knob {', '.join(unknown)}; known are {', '.join(NAMES)}")
    own = {name: _none(value) for name, value in changed.items() if name in SETTINGS}
    # Made anew, not copied, so that the values are checked.
    settings = Settings(**{**settings.model_dump(), **own}) if own else settings
    limits, rules = _changed(limits_of(settings), "merge", changed), _changed(RulesReasoner(), "rules", changed)
    idle = [name for name in changed if name in OF_TIERS or name.startswith("rules.")]
    if idle and settings.evolve_mode is EvolveMode.COUNTS:
        raise BadKnob(
            f"{', '.join(sorted(idle))} changes nothing with evolve_mode=counts: set evolve_mode=incremental too"
        )
    return Knobs(
        settings,
        limits,
        rules,
        dict(changed),
    )


def parsed(words: list[str]) -> dict[str, str]:
    """`NAME=VALUE` as from a command line; the last of a name holds.

    Raises:
        BadKnob: there is no `=`.
    """
    for word in words:
        if "=" not in word:
            raise BadKnob(f"--set {word}: write NAME=VALUE; names are {', '.join(NAMES)}")
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _changed(group: _Group, prefix: str, changed: Mapping[str, Any]) -> _Group:
    found: dict[str, Any] = {}
    for each in fields(group):
        name = f"{prefix}.{each.name}"
        if name in changed:
            found[each.name] = _number(name, changed[name], type(getattr(group, each.name)))
    return replace(group, **found)


def _number(name: str, value: Any, kind: type) -> float:
    low, high = BOUNDS[name]
    try:
        number: float = kind(value)
    except (TypeError, ValueError):
        number = low - 1
    if isinstance(value, bool) or not low <= number <= high:
        raise BadKnob(f"{name} must be {'a whole number' if kind is int else 'a number'} from {low} to {high}")
    return number


def _none(value: Any) -> Any:
    return None if value == "none" else value
