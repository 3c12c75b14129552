"""The steps as the settings have them; the worker and what-if share them."""

from dataclasses import replace
from datetime import timedelta

from operators.merge import DEFAULT_LIMITS, MergeLimits
from operators.signals import Signals
from operators.steps import Evolve
from operators.steps.rank import Rank
from streams.privacy import privacy_of
from streams.settings import Settings
from streams.vouching import vouching_of


def limits_of(settings: Settings) -> MergeLimits:
    """The limits of the merge, of which a deployment sets one: how long a session lasts."""
    return replace(DEFAULT_LIMITS, session=timedelta(seconds=settings.session_idle_seconds))


def evolve_of(settings: Settings, limits: MergeLimits = DEFAULT_LIMITS) -> Evolve:
    """Return the step that evolves skills, without seals and without a graph."""
    vouching = vouching_of(settings)
    signals = Signals.of(settings.signals)
    return Evolve(
        limits,
        privacy=privacy_of(settings),
        warmup_rounds=settings.warmup_rounds,
        slim_tokens=settings.slim_tokens,
        vouching=vouching,
        mode=settings.evolve_mode,
        signals=signals,
    )


def rank_of(settings: Settings) -> Rank:
    """How rankings are made, as far as no model makes them."""
    return Rank(
        settings.rank_skill,
        settings.slim_tokens,
        settings.task_slim,
        settings.retrieve,
        vouching=vouching_of(settings),
        privacy=privacy_of(settings),
    )
