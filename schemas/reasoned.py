"""The record of how a proposal, a ranking, facets or a slim skill was made."""

from typing import Annotated

from pydantic import Field

from .base import Model
from .fields import Identifier


class ReasonedBy(Model):
    """The reasoner and, for an LLM, the cost of its calls."""

    reasoner: Identifier = "rules"
    model: Identifier | None = None
    prompt: Identifier | None = Field(default=None, description="The prompt's file and version, such as `evolve.v2`.")
    prompt_hash: Identifier | None = None
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    calls: int = Field(default=0, ge=0)
    latency_ms: int = Field(default=0, ge=0)
    fallback: Annotated[str, Field(max_length=200)] | None = Field(
        default=None, description="Why a reasoner other than the configured one answered."
    )
    gated: bool = Field(default=False, description="The LLM was not asked: there was nothing new to judge.")
