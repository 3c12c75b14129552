"""Understanding what a person says about what they see, by rules, and by a model where they want one."""

from operators.understand.explain import explanation
from operators.understand.understanding import not_kept, understand, warm, worth_asking
from operators.understand.understood import About, Read, Understood

__all__ = ["About", "Read", "Understood", "explanation", "not_kept", "understand", "warm", "worth_asking"]
