"""Reasoner, replacer and models, as the settings name them. A model's client is imported only when one is named."""

from operators.evolve import Reasoner, Replacer, RulesReplacer, without_model
from operators.options import EvolveMode
from streams.settings import By, RankerName, ReasonerName, Settings
from streams.worker.reasoning.models import Models
from streams.worker.reasoning.reasoner import Listens, Understands


def reasoner_of(settings: Settings) -> Reasoner:
    """The reasoner that the settings name, behind the gate if they want one.

    Raises:
        MissingExtra: it needs an optional part that is not installed.
    """
    if settings.reasoner is ReasonerName.RULES:
        return without_model(settings.evolve_mode)
    # The openai client is an optional extra, and slow to import.
    from streams.worker.reasoning.llm import llm_reasoner  # noqa: PLC0415

    return llm_reasoner(settings)


def replacer_of(settings: Settings) -> Replacer | None:
    """Who writes skills anew, if the settings ask for full replacement (paper, Table 5); else None.

    Raises:
        MissingExtra: it needs an optional part that is not installed.
    """
    if settings.evolve_mode is not EvolveMode.REPLACE:
        return None
    if settings.reasoner is ReasonerName.RULES:
        return RulesReplacer()
    from streams.worker.reasoning.llm import llm_replacer  # noqa: PLC0415

    return llm_replacer(settings)


def reader_of(settings: Settings) -> Understands | None:
    """Who reads corrections that rules do not understand: a model, if one reasons; else nobody.

    Raises:
        MissingExtra: it needs an optional part that is not installed.
    """
    if settings.reasoner is ReasonerName.RULES:
        return None
    from streams.worker.reasoning.llm import llm_reader  # noqa: PLC0415

    return llm_reader(settings)


def listener_of(settings: Settings) -> Listens | None:
    """Who reads conversations besides the rules: a model, if one reasons; else nobody.

    Raises:
        MissingExtra: it needs an optional part that is not installed.
    """
    if settings.reasoner is ReasonerName.RULES:
        return None
    from streams.worker.reasoning.llm import llm_listener  # noqa: PLC0415

    return llm_listener(settings)


def models_of(settings: Settings) -> Models:
    """The models that the settings ask for.

    Raises:
        MissingExtra: they need an optional part that is not installed.
    """
    if settings.facets_by is settings.extract_by is By.RULES and settings.ranker is RankerName.DETERMINISTIC:
        return Models()
    # The openai client is an optional extra, and slow to import.
    from streams.worker.reasoning.llm import llm_models  # noqa: PLC0415

    return llm_models(settings)
