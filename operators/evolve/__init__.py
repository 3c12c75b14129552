"""Evolve (paper 2.5, C.1): a reasoner reads a contrast and proposes, one validation keeps it honest."""

from operators.evolve.proposal import Proposal, Reasoner, ReasonerUnavailable
from operators.evolve.rules import RulesReasoner
from operators.evolve.validate import validate

__all__ = ["Proposal", "Reasoner", "ReasonerUnavailable", "RulesReasoner", "validate"]
