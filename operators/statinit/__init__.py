"""StatInit (paper 2.3, App. E): one parser per domain, and the statistical prior. No LLM call, ever."""

from operators.statinit.parsers import Parser, UnknownParser, facts_of, parser_for, read_item, vocabulary_for
from operators.statinit.prior import observe, statinit

__all__ = ["Parser", "UnknownParser", "facts_of", "observe", "parser_for", "read_item", "statinit", "vocabulary_for"]
