"""Evolve (paper 2.5, C.1): a reasoner proposes changes for a contrast, and one validation checks them."""

from operators.evolve.counts import CountsReasoner, without_model
from operators.evolve.gate import GatedReasoner, nothing_new
from operators.evolve.proposal import Proposal, Reasoner, ReasonerUnavailable
from operators.evolve.replace import Replacement, Replacer, RulesReplacer
from operators.evolve.rules import RulesReasoner
from operators.evolve.validate import validate

__all__ = [
    "CountsReasoner",
    "GatedReasoner",
    "Proposal",
    "Reasoner",
    "ReasonerUnavailable",
    "Replacement",
    "Replacer",
    "RulesReasoner",
    "RulesReplacer",
    "nothing_new",
    "validate",
    "without_model",
]
