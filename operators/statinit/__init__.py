"""StatInit's parsers (paper 2.3, App. E): from an item's metadata to facts."""

from operators.statinit.parsers import Parser, UnknownParser, facts_of, parser_for, vocabulary_for

__all__ = ["Parser", "UnknownParser", "facts_of", "parser_for", "vocabulary_for"]
