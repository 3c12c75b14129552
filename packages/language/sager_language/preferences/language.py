"""A language's patterns of statements, compiled from its file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from sager_language.corrections.language import Language as Corrections
from sager_language.corrections.language import language_of as corrections_in
from sager_language.corrections.patterns import BETWEEN, FACT, WORD, BadPattern, Sections, expression, literals
from sager_language.corrections.tokens import tokens
from sager_language.lists import language_sections
from sager_language.text import Lazy
from sager_language.types import Scope


def sections(language: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of a language's file by section."""
    return language_sections("preferences", language)


_GROUP: Final = re.compile(r"\(\?P<\w+>")
Words = tuple[str, ...]


class Kind(StrEnum):
    """Meanings of sentences by section, most specific first."""

    FORGETS_AVOIDS = "forgets-avoids"
    FORGETS_PREFERS = "forgets-prefers"
    FORGETS_ANY = "forgets-any"
    SWITCHES = "switches"
    NO_LONGER = "no-longer"
    NO_LONGER_AVOIDS = "no-longer-avoids"
    # Only with `any more`: who does not hate something need not like it.
    NOT_AVOIDS = "not-avoids"
    GIVEN_UP = "given-up"
    DIET = "diet"
    FAVOURITE = "favourite"
    LEAST_FAVOURITE = "least-favourite"
    NEVER = "never"
    HABITS = "habits"
    AVOIDS = "avoids"
    PREFERS = "prefers"
    # What people do or use, as `I use Linux`: a hint of what they like and no more.
    USES = "uses"
    WISHES = "wishes"
    # States a liking only after a clause about the end of another, as `blues is`.
    INSTEAD = "instead"


FORGETS: Final = frozenset({Kind.FORGETS_AVOIDS, Kind.FORGETS_PREFERS, Kind.FORGETS_ANY})


class Tail(StrEnum):
    """A phrase after a value that is no part of it."""

    NOTHING = "tails"
    # What it denies was so, and is not any more.
    GONE = "gone"
    NOT_GONE = "not-gone"
    NOT = "not"
    NOW = "now"
    # It is so since something else is not.
    SINCE = "since"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of sentence.

    Attributes:
        name: of the language, the section and the line, such as `en.avoids.hate`.
        kind: the meaning of such a sentence.
        clause: matched where a clause begins.
        is_open: whether what it is about follows the match, up to where the clause ends.
        scope: the duration that such sentences state, if any.
        noun: the subject that such sentences name, as the language of answers; there is one of each.
    """

    name: str
    kind: Kind
    clause: Lazy
    is_open: bool
    scope: Scope | None = None
    noun: str = ""


@dataclass(frozen=True)
class Group:
    """All patterns of one kind.

    Attributes:
        kind: of the patterns.
        any: matches if one of the patterns does: most clauses match none, and the patterns are never compiled.
        patterns: in the order in which they are tried.
    """

    kind: Kind
    any: Lazy
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True)
class Cues:
    """Words by which a wish to forget is known in whatever wording.

    Attributes:
        erases: verbs of forgetting; many of them have other meanings too.
        memory: words for an assistant's knowledge, and for the statement itself.
        unremembers: words that alone ask for no memory.
    """

    erases: Lazy
    memory: Lazy
    unremembers: Lazy

    def of(self, text: str) -> list[re.Match[str]]:
        """Return a sentence's cues of a wish; empty if they make none."""
        unremembers = list(self.unremembers.finditer(text))
        erases = list(self.erases.finditer(text))
        memory = list(self.memory.finditer(text)) if erases or unremembers else []
        return [*unremembers, *erases, *memory] if unremembers or (erases and memory) else []


@dataclass(frozen=True)
class Language:
    """A language's file in compiled form.

    Attributes:
        name: BCP 47.
        statements: patterns of clauses, in the order in which they are tried.
        forgets: patterns of clauses that want something forgotten.
        fill: words that may begin a clause and carry no meaning.
        leads_now: words among it that let the following value replace the earlier one.
        me: how a person calls themselves, as clauses without a subject leave out.
        begins: words behind which a clause begins.
        lets: verbs by which a person has others do something.
        joins: words between clauses with one subject, and between the parts of a list.
        ends: what ends a value.
        dangling: words with which no value ends.
        before_values: words before a value that are no part of it.
        adjectives: words behind which a comma does not end a value, as in `old, quiet trains`.
        adjective_endings: endings of such words.
        versus: a word and the other side of a comparison behind it, as `rather than planes`.
        weighs: verbs that compare, as `prefer`.
        versus_weighed: the same as `versus`, where the verb compares, as `trains to planes`.
        condition: words that make of a statement a condition.
        relatives: how a clause begins that narrows what is before it.
        tails: phrases behind a value, with what they mean, by their words.
        session: that something holds in this conversation.
        wishes_end: that something is wanted now.
        not_values: how phrases begin that name nothing that one likes in general.
        not_in_values: words that no such name has.
        never_in_values: nor phrases.
        not_alone: words that name nothing by themselves.
        empty_verbs: what one does with a thing, which alone has no content of it.
        not_never: clauses about things that a person does not do, without dislike.
        to: the word before a verb.
        verbs: how a verb is called as a thing that one does.
        liked: what a person likes who is called so, as `vegetarian`.
        bare: how a sentence begins that leaves out who speaks, as `hate crowds`.
        am: the words of `I am`.
        plainly: long forms of `I am`, as `I consider myself`.
        inverted: verbs behind which a person may name themselves, as in `neuerdings mag ich`.
        us: words of a group with the person, each with its form for the person alone.
        reminds: questions that ask the assistant to keep the contained statement in mind.
        others: that another person likes something.
        blocks: sentences that are not read.
        takes_back: that the previous statement was a joke.
        forgets_last: that the last statement is to be forgotten.
        forgets_cues: words for forgetting in its many forms, for what a person knows, and for both at once.
        forgets_named: that what the card has, which the sentence names, is to be forgotten.
        asks_to: questions that ask for something to be done.
        not_forgets: sentences with such words that ask for nothing of the kind.
        turned: that what the card has, which the sentence names, is not so any more.
        ends_diets: that who lived by a diet, as `vegetarian`, does so no more.
        reconciled: that an earlier dislike is now liked.
        not_turned: sentences that it still holds.
        turning: all words that these patterns have, and verbs: they may stand before a name and have no content of it.
        asking: words with which a question begins.
        unsaying: words of a wish that name nothing that is to be forgotten.
        wishing: all words that the patterns of wishes have.
        roleplay: that another person speaks from now on.
        roleplay_ends: that the person speaks again.
        tags: questions behind a statement that put it in doubt.
        asks: how questions begin behind a statement.
        corrections: the language as corrections have it: words that have no content, endings.
    """

    name: str
    statements: tuple[Group, ...]
    forgets: tuple[Group, ...]
    fill: Lazy
    leads_now: Lazy
    me: str
    begins: frozenset[str]
    lets: frozenset[str]
    joins: frozenset[str]
    ends: Lazy
    dangling: frozenset[str]
    before_values: frozenset[str]
    adjectives: frozenset[str]
    adjective_endings: Words
    versus: Lazy
    weighs: Lazy
    versus_weighed: Lazy
    condition: Lazy
    relatives: Lazy
    tails: Mapping[Words, Tail]
    session: Lazy
    wishes_end: Lazy
    not_values: Lazy
    not_in_values: frozenset[str]
    never_in_values: Lazy
    not_alone: frozenset[str]
    empty_verbs: frozenset[str]
    not_never: Lazy
    to: frozenset[str]
    verbs: Mapping[str, str]
    liked: Mapping[str, str]
    bare: Lazy
    am: Words
    plainly: Lazy
    inverted: Lazy
    us: Mapping[str, str]
    reminds: Lazy
    others: Lazy
    blocks: Lazy
    takes_back: Lazy
    forgets_last: Lazy
    forgets_cues: Cues
    forgets_named: Lazy
    asks_to: Lazy
    not_forgets: Lazy
    turned: Lazy
    ends_diets: Lazy
    reconciled: Lazy
    not_turned: Lazy
    turning: frozenset[str]
    asking: frozenset[str]
    unsaying: frozenset[str]
    wishing: frozenset[str]
    roleplay: Lazy
    roleplay_ends: Lazy
    tags: Lazy
    asks: Lazy
    corrections: Corrections


@cache
def language_of(name: str) -> Language:
    """The language of this name, from its file.

    Raises:
        BadPattern: a line of it cannot be read; the message names it.
    """
    return _Loader(name).load()


class _Loader(Sections):
    def __init__(self, name: str) -> None:
        super().__init__(name, sections(name))
        pairs = (line.partition(" = ") for line in self.lines("words") + self.lines("task-words"))
        self.words = {called.strip(): said.strip() for called, _, said in pairs}
        verbs = (line.partition("=") for line in self.lines("verbs"))
        self._verbs = {_spaced(verb.strip()): said.strip() for verb, _, said in verbs}
        # The longest first: "shop at" before "shop".
        verb = expression("|".join(sorted(self.words["v"].split("|"), key=len, reverse=True)), self.words)
        for end in self.lines("dropped-endings"):
            # "ich les" is "ich lese": letters dropped in speech are dropped in writing.
            short = {full.removesuffix(end): said for full, said in self._verbs.items() if full.endswith(end)}
            verb += "".join(f"|{re.escape(word)}{BETWEEN}" for word in short)
            self._verbs = short | self._verbs
        # The longest first: "volunteering at" before "volunteering".
        doing = "|".join(sorted(filter(None, dict.fromkeys(self._verbs.values())), key=len, reverse=True))
        self.words |= {
            "p": f"(?P<x>{expression(self.words['person'], self.words)})",
            "v": f"(?:{verb})",
            "verb": f"(?P<v>{verb})",
            "any-verb": f"(?P<v>(?:{'|'.join(map(re.escape, sorted(self.plain('habit-verbs'))))}){BETWEEN})",
            "ving": f"(?P<v>{expression(doing, self.words)})",
            "third": f"(?P<v>{expression(self.words.get('vs', ''), self.words)})",
            "first": r"(?:\A)",
            "nothing": "(?P<x>)",
            "one": f"(?P<noun>{WORD})",
            "noun": f"(?P<noun>(?:{WORD}){{1,3}}?)",
            "lieblings": rf"(?:meine?{BETWEEN}lieblings(?P<noun>[^ \t]{{2,40}}){BETWEEN})",
            "lieblings-bare": rf"(?:lieblings[^ \t]{{2,40}}{BETWEEN})",
            "w": f"(?:{WORD})",
            "k": f"(?:{FACT}{BETWEEN})",
            "stop": rf"(?:$|[.,]{BETWEEN})",
            "end": rf"(?:$|[.,:?]{BETWEEN})",
        }
        self.expand()

    def load(self) -> Language:
        groups = [self._group(kind) for kind in Kind]
        return Language(
            name=self.name,
            statements=tuple(group for group in groups if group.kind not in FORGETS),
            forgets=tuple(group for group in groups if group.kind in FORGETS),
            fill=Lazy(rf"(?:{self.alternatives('fill')}|, ){{0,6}}"),
            leads_now=self.anywhere("leads-now"),
            me=self.lines("me")[0],
            begins=self.plain("begins"),
            lets=self.plain("lets"),
            joins=self.plain("joins"),
            ends=Lazy(self.alternatives("ends")),
            versus=Lazy(self.alternatives("versus")),
            weighs=self.anywhere("weighs"),
            versus_weighed=Lazy(self.alternatives("versus-weighed")),
            condition=self.anywhere("condition"),
            relatives=Lazy(self.alternatives("relatives")),
            dangling=self.plain("dangling"),
            before_values=self.plain("before-values"),
            adjectives=self.plain("adjectives"),
            adjective_endings=tuple(sorted(self.plain("adjective-endings"))),
            tails={self._tail(line): kind for kind in Tail for line in self.lines(kind.value)},
            session=self.anywhere("session"),
            wishes_end=self.anywhere("wishes-end"),
            not_values=Lazy(self.alternatives("not-values")),
            not_in_values=self.plain("not-in-values"),
            never_in_values=self.anywhere("never-in-values"),
            not_alone=self.plain("not-alone"),
            empty_verbs=self.plain("empty-verbs"),
            not_never=Lazy(self.alternatives("not-never")),
            to=self.plain("to"),
            verbs=self._verbs,
            liked=self._pairs("liked"),
            bare=Lazy(self.alternatives("bare")),
            am=tuple(word for line in self.lines("am") for word in self._tail(line)),
            plainly=Lazy(self.alternatives("plainly")),
            inverted=self._inverted(),
            us=self._pairs("us"),
            reminds=Lazy(self.alternatives("reminds")),
            others=self.anywhere("others"),
            blocks=self.anywhere("blocks"),
            takes_back=Lazy(self.alternatives("takes-back")),
            forgets_last=Lazy(self.alternatives("forgets-last")),
            forgets_cues=Cues(self.anywhere("erases"), self.anywhere("memory"), self.anywhere("unremembers")),
            forgets_named=self.anywhere("forgets-named"),
            asks_to=self.anywhere("asks-to"),
            not_forgets=self.anywhere("not-forgets"),
            turned=self.anywhere("turned"),
            ends_diets=self.anywhere("ends-diets"),
            reconciled=self.anywhere("reconciled"),
            not_turned=self.anywhere("not-turned"),
            turning=self._literals("turned").union(self._verbs, self._verbs.values()),
            asking=self._literals("asks", "tags"),
            unsaying=self.plain("unsaying"),
            wishing=self._literals("erases", "memory", "unremembers"),
            roleplay=self.anywhere("roleplay"),
            roleplay_ends=self.anywhere("roleplay-ends"),
            tags=Lazy(rf", {self.alternatives('tags')}$"),
            asks=Lazy(rf"(?:(?:, |: |and |so |but |then |und |aber |also ){{1,2}}){self.alternatives('asks')}"),
            corrections=corrections_in(self.name),
        )

    def _inverted(self) -> Lazy:
        forms = [*map(re.escape, sorted(self.plain("inverted"))), *self.lines("inverted-forms")]
        return Lazy("|".join(forms) or "(?!)")

    def _literals(self, *names: str) -> frozenset[str]:
        return frozenset(word for name in names for line in self.lines(name) for word in literals(line))

    def _pairs(self, section: str) -> dict[str, str]:
        pairs = (line.partition(" = ") for line in self.lines(section))
        return {word.strip(): said.strip() for word, _, said in pairs}

    def _tail(self, line: str) -> Words:
        return tuple(word.text for word in tokens(line))

    def _group(self, kind: Kind) -> Group:
        patterns = tuple(self._pattern(kind, line) for line in self.lines(kind.value))
        each = (f"(?:{_GROUP.sub('(?:', pattern.clause.pattern)})" for pattern in patterns)
        return Group(kind, Lazy("|".join(each) or "(?!)"), patterns)

    def _pattern(self, kind: Kind, line: str) -> Pattern:
        head, _, pattern = line.partition(": ")
        head, _, noun = head.partition(" ~")
        name, _, scope = head.partition(" @")
        is_open = pattern.endswith("{x}")
        told = pattern.removesuffix("{x}") if is_open else pattern
        if kind in (Kind.HABITS, Kind.NEVER, Kind.NO_LONGER, Kind.GIVEN_UP, Kind.USES, *FORGETS):
            told = told.replace("{v}", "{verb}").replace("{vs}", "{third}")
        clause = Lazy(self.made(told))
        if not is_open and "(?P<x>" not in clause.pattern:
            raise BadPattern(f"{self.name}: {line!r} does not say what it is about")
        whole = f"{self.name}.{kind.value}.{name}"
        return Pattern(whole, kind, clause, is_open, Scope(scope) if scope else None, noun)


def _spaced(phrase: str) -> str:
    return "".join(f"{word.text} " for word in tokens(phrase)).strip()
