"""What the domain's parser finds in the items of an event, and what it does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from operators.items import read_item
from operators.lint.lesson import Lesson, listed, number, shown
from operators.privacy import Privacy
from operators.statinit.parsers import Parser, facts_of, parser_for, vocabulary_for
from schemas import Candidate, Fact, ItemFacts

MAX_TRIES = 256
"""How many metadata keys are tried against the parser in a batch: it is asked twice about each."""
TRIES_PER_KEY = 3
"""In how many items a key may say nothing before it is taken for one that says nothing."""
MAX_VOCABULARY = 512


@dataclass
class Things:
    """The items of a batch, as the pipeline reads them.

    Attributes:
        parsers: by domain, the parser where it is not the domain's own.
        privacy: what no skill may hold.
    """

    parsers: Mapping[str, str]
    privacy: Privacy
    _met: dict[tuple[str, Fact], None] = field(default_factory=dict)
    _tries: dict[tuple[str, str], int] = field(default_factory=dict)
    _read: set[tuple[str, str]] = field(default_factory=set)
    _tried: int = 0

    def facts(self, domain: str, candidate: Candidate) -> ItemFacts:
        """What may be learned of an item, as the worker's pipeline has it."""
        found = read_item(candidate, domain, parser_for(domain, self.parsers), self.privacy).facts
        for fact in found.facts:
            if len(self._met) < MAX_VOCABULARY:
                self._met[domain, fact] = None
        return found

    def vocabulary(self, domain: str) -> tuple[Fact, ...]:
        """The facts that items of this domain had: a person's words can name them."""
        met = (fact for of, fact in self._met if of == domain)
        return tuple(dict.fromkeys((*met, *vocabulary_for(domain, self.parsers))))

    def look(self, domain: str, candidates: Sequence[Candidate], lesson: Lesson) -> None:
        """Add warnings about what of these items says nothing, or may not be kept."""
        parser = parser_for(domain, self.parsers)
        named = parser.__module__.rpartition(".")[2]
        bare = [each for each in candidates if not each.metadata]
        silent, private, unread = 0, 0, set[str]()
        for candidate in candidates:
            read = read_item(candidate, domain, parser, self.privacy)
            if read.failure:
                lesson.warnings.append(f"an item cannot be read ({read.failure}): it is ranked, but teaches nothing")
                continue
            kept, found = read.facts, read.found
            private += sum(found.values())
            silent += not kept.facts and not kept.measures
            unread.update(self._unread(domain, candidate, parser))
        of = f"{len(candidates):,} items" if len(candidates) > 1 else "the item"
        if silent:
            who = f"{silent:,} of {of}" if len(candidates) > 1 else "the item"
            cause = "no metadata" if len(bare) >= silent else f"nothing that the parser {named} reads"
            verb = "have" if silent > 1 else "has"
            lesson.warnings.append(f"{who} {verb} {cause}: there is nothing to learn from")
        if unread:
            lesson.warnings.append(
                f"the parser {named} reads nothing from the metadata {_keys(len(unread))} {listed(shown(unread))}"
            )
        if private:
            lesson.warnings.append(
                f"the privacy filter keeps {number(private, 'private detail')} of {of} out of what is learned and shown"
            )

    def _unread(self, domain: str, candidate: Candidate, parser: Parser) -> list[str]:
        """The keys that say nothing to a parser: not alone, and not beside the others either."""
        whole: tuple[object, object] | None = None
        for key in candidate.metadata:
            name = (domain, key)
            if name in self._read or self._tries.get(name, 0) >= TRIES_PER_KEY or self._tried >= MAX_TRIES:
                continue
            self._tried += 1
            self._tries[name] = self._tries.get(name, 0) + 1
            whole = whole or _said(candidate, candidate.metadata, parser)
            alone = Candidate(item_id="alone", metadata={key: candidate.metadata[key]})
            without = {other: value for other, value in candidate.metadata.items() if other != key}
            if any(_said(alone, alone.metadata, parser)) or _said(candidate, without, parser) != whole:
                self._read.add(name)
        return [key for key in candidate.metadata if (domain, key) in self._tries and (domain, key) not in self._read]


def _said(candidate: Candidate, metadata: Mapping[str, object], parser: Parser) -> tuple[object, object]:
    found = facts_of(candidate.model_copy(update={"metadata": metadata}), parser)
    return found.facts, found.measures


def _keys(count: int) -> str:
    return "key" if count == 1 else "keys"
