"""StatInit's parsers (paper 2.3, App. E): one per domain, from an item's metadata to facts. No LLM call, ever."""

from operators.statinit.parsers import Parser, UnknownParser, facts_of, parser_for, vocabulary_for

__all__ = ["Parser", "UnknownParser", "facts_of", "parser_for", "vocabulary_for"]
