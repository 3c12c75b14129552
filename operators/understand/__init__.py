"""Corrections: what a person says about what they see, by rules, and by a model where rules do not understand."""

from operators.understand.explain import explanation
from operators.understand.understanding import understand, worth_asking

__all__ = ["explanation", "understand", "worth_asking"]
