"""Evolve (paper 2.5, C.1): a reasoner proposes changes for a contrast; one function validates them."""

from operators.evolve.proposals import (
    CountsReasoner,
    GatedReasoner,
    Proposal,
    Reasoner,
    ReasonerUnavailable,
    RulesReasoner,
    ValidatedProposal,
    validate,
    without_model,
)

__all__ = ["CountsReasoner", "GatedReasoner", "Proposal", "Reasoner", "ReasonerUnavailable", "RulesReasoner"]
__all__ += ["ValidatedProposal", "validate", "without_model"]
