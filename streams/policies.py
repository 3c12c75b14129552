"""The privacy filter, the output gate and the steps as configured."""

from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path

from operators.language.output_policy import InvalidAllowList, OutputGate, parse_allow_list
from operators.language.privacy import PLACES, Privacy
from operators.learning.tiers import DEFAULT_LIMITS, MergeLimits
from operators.signals import SignalWeights
from operators.steps import EvolveStep
from operators.steps.rank import RankStep
from streams.exceptions import StreamsError
from streams.language import RULES
from streams.settings import Settings

DEFAULT_PRIVACY = Privacy(RULES)
DEFAULT_GATE = OutputGate(RULES)


def privacy_of(settings: Settings) -> Privacy:
    """Return the filter of skills, prompts and rows."""
    read_as_places = {domain for domain, parser in settings.parsers.items() if parser in PLACES}
    return Privacy(RULES if settings.privacy else None, allowed=settings.sensitive, places=PLACES | read_as_places)


def output_gate(settings: Settings) -> OutputGate:
    """Return the gate for values that models may receive."""
    return OutputGate(RULES, _allowed(settings.vouched) if settings.vouched else frozenset())


@lru_cache(maxsize=8)
def _allowed(file: Path) -> frozenset[str]:
    try:
        return parse_allow_list(file.read_text(encoding="utf-8"))
    except (InvalidAllowList, UnicodeDecodeError) as error:
        raise StreamsError(f"SAGER_VOUCHED, {file}: {error}; correct it, or unset it to have none") from None


def limits_of(settings: Settings) -> MergeLimits:
    """Return the limits of the merge, with the configured session length."""
    return replace(DEFAULT_LIMITS, session=timedelta(seconds=settings.session_idle_seconds))


def evolve_of(settings: Settings, limits: MergeLimits = DEFAULT_LIMITS) -> EvolveStep:
    """Return the step that evolves skills, without seals and without a graph."""
    return EvolveStep(
        limits,
        privacy=privacy_of(settings),
        warmup_rounds=settings.warmup_rounds,
        slim_tokens=settings.slim_tokens,
        gate=output_gate(settings),
        mode=settings.evolve_mode,
        signals=SignalWeights.of(settings.signals),
    )


def rank_of(settings: Settings) -> RankStep:
    """Return the step that ranks without a model."""
    return RankStep(
        settings.rank_skill,
        settings.slim_tokens,
        settings.task_slim,
        settings.retrieve,
        gate=output_gate(settings),
        privacy=privacy_of(settings),
    )
