"""Rules and a model on the same chunk: all that rules understand counts, and of what a model adds, what is news."""

from dataclasses import replace

from operators.language.finding import Effect, Finding, Heard
from operators.listen.quoting import is_meant, is_said
from schemas.cards import FREE, MAX_FINDINGS


def both(rules: Heard, model: Heard) -> Heard:
    """What rules and a model heard in one chunk, together.

    Rules are sure of what they understand, and a wish to forget never depends on a model. What both found in the same
    words is one finding: the rules', unless only the model names it by the domain's vocabulary.

    Args:
        rules: what rules understood.
        model: what a model understood; it tells who reasoned, and at what cost.
    """
    findings = list(rules.findings)
    for added in model.findings:
        places = [place for place, known in enumerate(findings) if _is_same(known, added)]
        if not places:
            if not any(_is_against(known, added) or _is_replaced(known, added) for known in rules.findings):
                findings.append(added)
        elif added.dimension != FREE and _is_better(findings[places[0]], added):
            known = findings[places[0]]
            findings[places[0]] = replace(known, dimension=added.dimension, value=added.value, domain=added.domain)
    findings.sort(key=lambda finding: finding.said_at)
    return Heard(tuple(findings[:MAX_FINDINGS]), max(rules.of_others, model.of_others), model.reasoned_by)


def _is_same(known: Finding, added: Finding) -> bool:
    return _is_about_the_same(known, added) and (known.stance == added.stance or _takes_back(known))


def _is_against(known: Finding, added: Finding) -> bool:
    """Whether a model says the opposite of what rules read in the same words."""
    return _is_about_the_same(known, added) and known.stance != added.stance


def _is_replaced(known: Finding, added: Finding) -> bool:
    """Whether a model tells of what rules know to be over: "no longer enjoy" is no dislike."""
    return known.event_id == added.event_id and known.replaces is not None and is_said(added.value, known.replaces)


def _is_better(known: Finding, added: Finding) -> bool:
    return known.dimension == FREE and known.effect == added.effect and known.stance == added.stance


def _takes_back(finding: Finding) -> bool:
    return finding.effect in (Effect.FORGETS, Effect.WITHDRAWS)


def _is_about_the_same(known: Finding, added: Finding) -> bool:
    if known.event_id != added.event_id:
        return False
    overlaps = known.words in added.words or added.words in known.words
    return overlaps and (is_meant(known.value, added.value) or is_meant(added.value, known.value))
