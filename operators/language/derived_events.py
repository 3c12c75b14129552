"""Corrections and erasure requests that skills receive from a conversation."""

from collections.abc import Callable, Sequence

from operators.attributes import fact_id
from operators.language.ports import Effect, Finding
from schemas import Chunk, Correction, Directive, Fact, ForgetRequest, Stance, derived_id, line_of
from schemas.cards import FREE

ACTOR = "the person, in a conversation"


def corrections(
    user_id: str, name: str, chunk: Chunk, findings: Sequence[Finding], vocabulary: Callable[[str], Sequence[Fact]]
) -> tuple[Correction, ...]:
    """Return one correction for each finding that names a fact of a domain and that no later finding forgets."""
    found = []
    for place, finding in enumerate(findings):
        if finding.effect is Effect.FORGETS or finding.domain is None or finding.dimension == FREE:
            continue
        forgotten = [_about(later) for later in findings[place + 1 :] if later.effect is Effect.FORGETS]
        fact = next((each for each in vocabulary(finding.domain) if fact_id(each) == _fact_id(finding)), None)
        if fact is None or _about(finding) in forgotten:
            continue
        withdrawn = finding.effect is Effect.WITHDRAWS
        # `instead` prefers the one; the other need not be in a vocabulary.
        is_against = finding.stance is Stance.AVOIDS
        directive = Directive(
            stance=Stance.AVOIDS if is_against is not withdrawn else Stance.PREFERS,
            dimension=fact.dimension,
            value=fact.value,
            changed=withdrawn or finding.effect is Effect.UPDATES,
        )
        correction = Correction(
            event_id=derived_id("says", name, str(place)),
            occurred_at=finding.said_at,
            user_id=user_id,
            domain=finding.domain,
            text=finding.words,
            says=(directive,),
            scope=finding.scope,
            ranking_id=next((turn.ranking_id for turn in chunk.turns if turn.event_id == finding.event_id), None),
        )
        found.append(correction)
    return tuple(found)


def forgets(user_id: str, name: str, findings: Sequence[Finding]) -> tuple[ForgetRequest, ...]:
    """Return one request for each line of a skill that a finding names, whether the vocabulary has the fact or not."""
    found: dict[str, ForgetRequest] = {}
    for finding in findings:
        if finding.domain is None or finding.dimension == FREE:
            continue
        line = line_of(user_id, finding.domain, _fact_id(finding))
        found[line] = ForgetRequest(
            event_id=derived_id("forgets", name, line),
            occurred_at=finding.said_at,
            user_id=user_id,
            domain=finding.domain,
            line=line,
            actor=ACTOR,
        )
    return tuple(found.values())


def _about(finding: Finding) -> tuple[str | None, str]:
    return finding.domain, _fact_id(finding)


def _fact_id(finding: Finding) -> str:
    return fact_id(Fact(dimension=finding.dimension, value=finding.value))
