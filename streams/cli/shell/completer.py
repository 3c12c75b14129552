"""Completes what somebody types: SQL's words, what the snapshot offers, columns of the tables named, dot commands."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from streams.cli.output import printable
from streams.cli.shell.catalogue import Catalogue, Named
from streams.cli.shell.statements import is_within

KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY ALL", "GROUP BY", "ORDER BY ALL", "ORDER BY", "LIMIT", "HAVING", "QUALIFY"),
    *("JOIN", "LEFT JOIN", "ASOF LEFT JOIN", "USING", "ON", "AS", "WITH", "DISTINCT", "EXCLUDE", "REPLACE", "FILTER"),
    *("AND", "OR", "NOT", "IN", "IS NULL", "IS NOT NULL", "LIKE", "ILIKE", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE"),
    *("END", "DESC", "ASC", "NULLS LAST", "OVER", "PARTITION BY", "UNION ALL", "DESCRIBE", "SUMMARIZE", "EXPLAIN"),
    *("INTERVAL", "PIVOT", "UNPIVOT", "USING SAMPLE"),
)
FUNCTIONS = (
    *("count", "sum", "avg", "min", "max", "median", "quantile_cont", "round", "coalesce", "list", "unnest"),
    *("date_trunc", "date_diff", "row_number", "arg_max", "arg_min", "bool_or", "string_agg"),
)
_WORD = re.compile(r"[\w.]*\Z")
_EXPECTS_SOURCE = re.compile(r"\b(?:from|join|describe|summarize)\s+[\w.]*\Z", re.IGNORECASE)


class SqlCompleter(Completer):
    """Completes at the cursor, out of a catalogue that may be replaced.

    Args:
        commands: dot commands with what they do.
        choices: what may follow a dot command; `.schema` takes any name.
    """

    def __init__(self, commands: Mapping[str, str], choices: Mapping[str, Sequence[str]]) -> None:
        self.catalogue = Catalogue()
        self._commands, self._choices = commands, choices

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """What may stand at the cursor, likeliest first."""
        before = document.text_before_cursor
        if before.lstrip().startswith("."):
            yield from self._of_command(before.lstrip())
        elif not is_within(before):
            found = _WORD.search(before)
            yield from self._of_query(before, document.text, found.group() if found else "")

    def _of_command(self, before: str) -> Iterator[Completion]:
        name, gap, word = before.partition(" ")
        if not gap:
            yield from _some(_completion(each, name, told) for each, told in self._commands.items())
        elif name == ".schema":
            yield from _some(_completion(each.bare, word, each.comment, each.name) for each in self.catalogue.offers)
        else:
            yield from _some(_completion(each, word, "") for each in self._choices.get(name, ()))

    def _of_query(self, before: str, text: str, word: str) -> Iterable[Completion]:
        sources = self.catalogue.sources(text)
        of, dot, column = word.rpartition(".")
        if dot:
            names = self.catalogue.columns.get(sources.get(of.lower(), of.lower()), ())
            return _some(_column(each, column) for each in names)
        offers = [_offer(each, word) for each in self.catalogue.offers]
        if _EXPECTS_SOURCE.search(before):
            return _some(offers)
        columns = {each.name: each for table in sources.values() for each in self.catalogue.columns[table]}
        if not word and not columns:
            return ()
        return _some(
            [
                *(_column(each, word) for each in columns.values()),
                *offers,
                *(_completion(each, word, "keyword") for each in KEYWORDS),
                *(_completion(f"{each}(", word, "function") for each in FUNCTIONS),
            ]
        )


def _some(found: Iterable[Completion | None]) -> Iterator[Completion]:
    yield from (each for each in found if each is not None)


def _column(of: Named, word: str) -> Completion | None:
    return _completion(of.name, word, f"{of.kind}: {of.comment}" if of.comment else of.kind)


def _offer(of: Named, word: str) -> Completion | None:
    text = f"{of.bare}(" if of.kind == "macro" else of.name
    return _completion(text, word, f"{of.kind}: {of.comment}", of.name)


def _completion(text: str, word: str, told: str, shown: str | None = None) -> Completion | None:
    """The completion of a word; None if it begins otherwise. What a snapshot says is text, never a terminal's order."""
    if not text.lower().startswith(word.lower()):
        return None
    return Completion(text, -len(word), display=printable(shown or text), display_meta=printable(told))
