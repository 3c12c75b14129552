"""Evolve (paper 2.5, C.1): a reasoner proposes changes for a contrast, and one validation checks them."""

from operators.evolve.proposal import Proposal, Reasoner, ReasonerUnavailable
from operators.evolve.reasoners import CountsReasoner, GatedReasoner, RulesReasoner, without_model
from operators.evolve.validate import Validated, validate

__all__ = ["CountsReasoner", "GatedReasoner", "Proposal", "Reasoner", "ReasonerUnavailable", "RulesReasoner"]
__all__ += ["Validated", "validate", "without_model"]
