"""Steps as configured; the worker, dry runs and what-if share them."""

from dataclasses import replace
from datetime import timedelta

from operators.learning.feedback import SignalWeights
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits
from operators.steps.evolve import EvolveStep
from operators.steps.rank import RankStep
from streams.policies import output_gate, privacy_of
from streams.settings import Settings

# Apart from `policies`: commands that only read a skill must start without these operators.


def limits_of(settings: Settings) -> MergeLimits:
    """Return the limits of the merge, with the configured verdicts, sessions and numbers."""
    session = timedelta(seconds=settings.session_idle_seconds)
    return replace(DEFAULT_LIMITS, session=session, numbers=settings.numbers, verdict_weight=settings.verdict_weight)


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
        extract_by_model=settings.extract_by == "llm",
    )


def rank_of(settings: Settings) -> RankStep:
    """Return the step that ranks without a model."""
    return RankStep(
        settings.rank_skill == "full",
        settings.slim_tokens,
        settings.task_slim,
        settings.retrieve,
        settings.session_weight,
        gate=output_gate(settings),
        privacy=privacy_of(settings),
    )
