"""The fit of a list, and the most useful question about it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from operators.attributes import fact_id, fact_ids
from operators.fit.acceptance import (
    AVOIDED_CHANCE,
    AcceptanceCurve,
    FitCandidate,
    KnownFacts,
    acceptance,
    acceptance_curve,
    fit_candidates,
    none_accepted,
)
from operators.language.privacy import Privacy
from operators.prompts import visible
from schemas import ClarifyingQuestion, Fact, Fit, ItemFacts, Option, PolicySkill, Stance, Statement, derived_id
from schemas.events import MAX_OPTIONS

# Below this chance it is better to show nothing: an unsuitable item costs more than a missed one.
MIN_ACCEPTANCE = 0.58
MAX_APPLIED = 64
MIN_OPTIONS = 2
MAX_TEXT = 300
# The least gain in the probability of the right decision that is worth a question.
MIN_GAIN = 0.005
# Ask about the likeliest candidates only: the end of a long list does not decide.
MAX_CANDIDATES = 10
# Compare the dimensions that are unknown for most candidates; each costs a pass over the answers.
MAX_DIMENSIONS = 6
# The gain of knowing the favourite among several suitable candidates.
FAVOURITE_GAIN = 0.5


def fit_list(
    items: Sequence[ItemFacts],
    skill: PolicySkill,
    statements: Sequence[Statement],
    *,
    privacy: Privacy,
    asks: bool = False,
) -> Fit | None:
    """Return a list's fit; None without statements, refusals or a wanted question.

    For a person who never refused anything every chance is 1, except for avoided items.
    """
    if not items or (skill.beliefs is None and not statements and not asks):
        return None
    known = KnownFacts.of(skill, statements)
    listed = fit_candidates(items, known)
    if skill.beliefs is None:
        chances = [each.stated_chance for each in listed]
        nothing = 1.0 - max(chances)
    else:
        power = acceptance_curve(skill.beliefs)
        chances = [acceptance(each, power) for each in listed]
        nothing = none_accepted(listed, power)
    return Fit(
        chances=tuple(round(each, 4) for each in chances),
        nothing=round(nothing, 4),
        suits=max(chances) >= MIN_ACCEPTANCE,
        against={item.item_id: found[0].statement_id for item in items if (found := known.objections(item))},
        followed=tuple(dict.fromkeys(_applied(items, statements)))[:MAX_APPLIED],
        question=best_question(items, skill, statements, privacy) if asks else None,
    )


def _applied(items: Sequence[ItemFacts], statements: Sequence[Statement]) -> Iterator[str]:
    ids = {item.item_id for item in items}
    facts = {name for item in items for name in fact_ids(item.facts)}
    measures = {measure for item in items for measure in item.measures}
    for each in statements:
        is_bound = each.bound is not None and each.bound.measure in measures
        if is_bound or each.attribute_id in facts or each.over in facts or each.item_id in ids:
            yield each.statement_id


def best_question(
    items: Sequence[ItemFacts], skill: PolicySkill, statements: Sequence[Statement], privacy: Privacy
) -> ClarifyingQuestion | None:
    """Return the question with the highest expected gain; None if none helps.

    It never asks about avoided facts, nor about sensitive ones, even where the domain may learn those.
    """
    known = KnownFacts.of(skill, statements)
    power = acceptance_curve(skill.beliefs)
    listed = sorted(fit_candidates(items, known), key=lambda each: -acceptance(each, power))[:MAX_CANDIDATES]
    asked = islice(_dimensions([each.item for each in listed], known, privacy), MAX_DIMENSIONS)
    gains = [(_gain(listed, power, options, known, statements), options) for options in asked]
    gain, facts = min(gains, key=lambda each: (-each[0], each[1][0].dimension), default=(0.0, ()))
    if gain < MIN_GAIN:
        return None
    return ClarifyingQuestion(
        question_id=derived_id("question", skill.user_id, skill.domain, str(skill.version), *map(fact_id, facts)),
        dimension=facts[0].dimension,
        text=question_text(facts),
        options=tuple(Option(attribute_id=fact_id(fact), value=fact.value) for fact in facts),
    )


def question_text(facts: Sequence[Fact]) -> str:
    """Write the question.

    >>> question_text([Fact(dimension="connection", value="a cable"), Fact(dimension="connection", value="Bluetooth")])
    'Do you prefer a cable or Bluetooth?'
    """
    *first, last = [" ".join(visible(fact.value).split()) for fact in facts]
    text = f"Do you prefer {', '.join(first)} or {last}?"
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}?"


def _dimensions(items: Sequence[ItemFacts], known: KnownFacts, privacy: Privacy) -> Iterator[tuple[Fact, ...]]:
    # The options of each dimension: the values that most candidates have.
    having: Counter[str] = Counter()
    facts: dict[str, dict[str, Fact]] = {}
    for item in items:
        for name, fact in {fact_id(fact): fact for fact in item.facts}.items():
            having[name] += 1
            facts.setdefault(fact.dimension, {}).setdefault(name, fact)
    unknown = {
        dimension: sum(having[name] for name in values if known.is_unknown(name)) for dimension, values in facts.items()
    }
    for dimension, values in sorted(facts.items(), key=lambda each: (-unknown[each[0]], each[0])):
        open_to = [name for name in values if name not in known.avoided]
        if len(open_to) < MIN_OPTIONS or any(privacy.refuses("", dimension, each.value) for each in values.values()):
            continue
        named = sorted(open_to, key=lambda name: (not known.is_unknown(name), -having[name], name))[:MAX_OPTIONS]
        yield tuple(values[name] for name in named)


def _gain(
    listed: Sequence[FitCandidate],
    power: AcceptanceCurve,
    options: Sequence[Fact],
    known: KnownFacts,
    statements: Sequence[Statement],
) -> float:
    names = [fact_id(fact) for fact in options]
    asked = [name for name in names if known.is_unknown(name)]
    parts = {name: max(each.unknown[name] for each in listed if name in each.unknown) for name in asked}
    # Each candidate with the asked facts that it has, and the candidate if these are fine, and if one is not.
    cases = []
    for each in listed:
        left = {name: part for name, part in each.unknown.items() if name not in asked}
        fine, refused = replace(each, unknown=left), FitCandidate(each.item, AVOIDED_CHANCE, left)
        cases.append((each.unknown.keys() & asked, fine, refused))
    expected = 0.0
    for outcome in product((True, False), repeat=len(asked)):
        likely = 1.0
        for name, is_fine in zip(asked, outcome, strict=True):
            chance_fine = power(round(parts[name], 6))
            likely *= chance_fine if is_fine else 1.0 - chance_fine
        avoided = {name for name, is_fine in zip(asked, outcome, strict=True) if not is_fine}
        then = [fine if own.isdisjoint(avoided) else refused for own, fine, refused in cases]
        expected += likely * _decision_probability(then, power)
    liked = {name for each in statements if each.stance is not Stance.AVOIDS for name in (each.attribute_id, each.over)}
    # Statements that name all options already state the favourite.
    tells = 0.0 if liked.issuperset(names) else FAVOURITE_GAIN * _second_best(listed, power, names)
    return expected - _decision_probability(listed, power) + tells


def _decision_probability(listed: Sequence[FitCandidate], power: AcceptanceCurve) -> float:
    chances = [acceptance(each, power) for each in listed]
    return max(*chances, none_accepted(listed, power, chances))


def _second_best(listed: Sequence[FitCandidate], power: AcceptanceCurve, names: Sequence[str]) -> float:
    best: dict[frozenset[str], float] = {}
    for each in listed:
        own = frozenset(fact_id(fact) for fact in each.item.facts) & frozenset(names)
        best[own] = max(acceptance(each, power), best.get(own, 0.0))
    return sum(sorted(best.values(), reverse=True)[1:2])
