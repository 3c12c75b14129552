"""Reasoner and models, as the settings name them."""

from operators.evolve import Reasoner, without_model
from streams.settings import By, RankerName, ReasonerName, Settings
from streams.worker.reasoning.llm import llm_listener, llm_models, llm_reader, llm_reasoner
from streams.worker.reasoning.models import Models
from streams.worker.reasoning.reasoner import Listens, Understands


def reasoner_of(settings: Settings) -> Reasoner:
    """The reasoner that the settings name, behind the gate if they want one."""
    if settings.reasoner is ReasonerName.RULES:
        return without_model(settings.evolve_mode)
    return llm_reasoner(settings)


def reader_of(settings: Settings) -> Understands | None:
    """Who reads corrections that rules do not understand: a model, if one reasons; else nobody."""
    if settings.reasoner is ReasonerName.RULES:
        return None
    return llm_reader(settings)


def listener_of(settings: Settings) -> Listens | None:
    """Who reads conversations besides the rules: a model, if one reasons; else nobody."""
    if settings.reasoner is ReasonerName.RULES:
        return None
    return llm_listener(settings)


def models_of(settings: Settings) -> Models:
    """The models that the settings ask for."""
    if settings.extract_by is By.RULES and settings.ranker is RankerName.DETERMINISTIC:
        return Models()
    return llm_models(settings)
