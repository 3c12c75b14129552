"""The one question whose answer would change a ranking most, from facts and a template; no model writes it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from math import fsum

from operators.attributes import fact_id
from operators.fit.acceptance import Candidate, Power, candidates, chance, none_suits, power_of
from operators.fit.known import Known
from operators.privacy import Privacy
from operators.prompts import visible
from schemas import Fact, ItemFacts, Option, PolicySkill, Question, Stance, Statement, derived_id
from schemas.fit import MAX_OPTIONS

MIN_OPTIONS = 2
MAX_TEXT = 300
LEAST_GAIN = 0.005
"""An answer that makes the right decision less than this likelier changes nothing."""
CONSIDERED = 10
"""Candidates that a question is about, the likeliest: a long list is not decided by its end."""
MAX_DIMENSIONS = 6
"""So many dimensions of a list are weighed against each other: those that are unknown of most candidates."""
FAVOURITE = 0.5
"""How much likelier the one best of several that suit is found, once it is known what the person likes best."""


def question_of(
    items: Sequence[ItemFacts], skill: PolicySkill, statements: Sequence[Statement], privacy: Privacy
) -> Question | None:
    """The question that helps most to decide what to show, or to show nothing; None where no answer would.

    Its options are values of the candidates, in one dimension. Nobody is asked about what is sensitive, even where a
    domain may learn it, nor about what they said already.
    """
    known = Known.of(skill, statements)
    power = power_of(skill.beliefs)
    listed = sorted(candidates(items, known), key=lambda each: -chance(each, power))[:CONSIDERED]
    items = [each.item for each in listed]
    best: tuple[float, str, tuple[Fact, ...]] | None = None
    for dimension, options in _dimensions(items, known, statements, privacy):
        gain = _gain(listed, power, options, known, statements)
        if gain >= LEAST_GAIN and (best is None or (gain, best[1]) > (best[0], dimension)):
            best = (gain, dimension, options)
    if best is None:
        return None
    _, dimension, facts = best
    return Question(
        question_id=derived_id("question", skill.user_id, skill.domain, str(skill.version), *map(fact_id, facts)),
        dimension=dimension,
        text=text_of(facts),
        options=tuple(Option(attribute_id=fact_id(fact), value=fact.value) for fact in facts),
    )


def text_of(facts: Sequence[Fact]) -> str:
    """The question in words.

    >>> text_of([Fact(dimension="connection", value="a cable"), Fact(dimension="connection", value="Bluetooth")])
    'Do you prefer a cable or Bluetooth?'
    """
    *first, last = [" ".join(visible(fact.value).split()) for fact in facts]
    said = f"Do you prefer {', '.join(first)} or {last}?"
    return said if len(said) <= MAX_TEXT else f"{said[: MAX_TEXT - 1]}?"


def _dimensions(
    items: Sequence[ItemFacts], known: Known, statements: Sequence[Statement], privacy: Privacy
) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    """The dimensions that may be asked about, with the values that most candidates have."""
    having: Counter[str] = Counter()
    facts: dict[str, dict[str, Fact]] = {}
    for item in items:
        for fact in {fact_id(fact): fact for fact in item.facts}.values():
            having[fact_id(fact)] += 1
            facts.setdefault(fact.dimension, {}).setdefault(fact_id(fact), fact)
    unknown = {
        dimension: sum(having[name] for name in values if known.says_nothing(name))
        for dimension, values in facts.items()
    }
    found = 0
    for dimension, values in sorted(facts.items(), key=lambda each: (-unknown[each[0]], each[0])):
        open_to = [name for name in values if name not in known.avoided]
        if len(open_to) < MIN_OPTIONS or any(is_sensitive(fact, privacy) for fact in values.values()):
            continue
        if (found := found + 1) > MAX_DIMENSIONS:
            return
        named = sorted(open_to, key=lambda name: (not known.says_nothing(name), -having[name], name))[:MAX_OPTIONS]
        yield dimension, tuple(values[name] for name in named)


def is_sensitive(fact: Fact, privacy: Privacy) -> bool:
    """Return True if no question may be asked about a fact: it is personal or of a sensitive category."""
    return privacy.refuses("", fact.dimension, fact.value) is not None


def _gain(
    listed: Sequence[Candidate], power: Power, options: Sequence[Fact], known: Known, statements: Sequence[Statement]
) -> float:
    """How much likelier the right thing is done once the question is answered."""
    names = [fact_id(fact) for fact in options]
    open_ = [name for name in names if known.says_nothing(name)]
    parts = {name: max(each.missing[name] for each in listed if name in each.missing) for name in open_}
    asked = frozenset(open_)
    # Each candidate with those of the facts asked about that it has, and what it is if they are fine, and if not.
    known_then = [
        (each, own, fine_one := each.after(asked), fine_one.refused())
        if (own := asked & each.missing.keys())
        else (each, None, each, each)
        for each in listed
    ]
    expected = 0.0
    for outcome in product((True, False), repeat=len(open_)):
        likely = 1.0
        for name, fine in zip(open_, outcome, strict=True):
            chance_fine = power(round(parts[name], 6))
            likely *= chance_fine if fine else 1.0 - chance_fine
        avoided = {name for name, fine in zip(open_, outcome, strict=True) if not fine}
        then = [
            each if own is None else refused if not own.isdisjoint(avoided) else fine_one
            for each, own, fine_one, refused in known_then
        ]
        expected += likely * _decides(then, power)
    liked = {name for said in statements if said.stance is not Stance.AVOIDS for name in (said.attribute_id, said.over)}
    # Who was asked about all of these before has told which they like best, if any.
    tells = 0.0 if liked.issuperset(names) else FAVOURITE * _contested(listed, power, options)
    return expected - _decides(listed, power) + tells


def _decides(listed: Sequence[Candidate], power: Power) -> float:
    """How probable the better of two is right: to show the best candidate, or nothing."""
    chances = [chance(each, power) for each in listed]
    return max(*chances, none_suits(listed, power, chances))


def _contested(listed: Sequence[Candidate], power: Power, options: Sequence[Fact]) -> float:
    """How probable at least two candidates suit that differ in these facts, roughly."""
    dimension, names = options[0].dimension, {fact_id(fact) for fact in options}
    best: dict[frozenset[str], float] = {}
    for each in listed:
        own = frozenset(fact_id(fact) for fact in each.item.facts if fact.dimension == dimension) & names
        best[own] = max(chance(each, power), best.get(own, 0.0))
    ranked = sorted(best.values(), reverse=True)
    return fsum(ranked[1:2]) if len(ranked) > 1 else 0.0
