"""What events will teach, said before they are sent: the real steps, run on a person of whom nothing is known."""

from operators.lint.lesson import Lesson
from operators.lint.linter import Linter

__all__ = ["Lesson", "Linter"]
