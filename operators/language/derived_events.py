"""Corrections and erasure requests that skills receive from a conversation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from operators.attributes import fact_id
from operators.language.finding import Effect, Finding
from schemas import Chunk, Correction, Directive, Fact, ForgetRequest, Stance, derived_id, line_of
from schemas.cards import FREE

ACTOR = "the person, in a conversation"


@dataclass(frozen=True)
class Told:
    """What skills hear of a chunk."""

    user_id: str
    name: str
    chunk: Chunk
    vocabulary: Callable[[str], Sequence[Fact]]

    def corrections(self, findings: Sequence[Finding]) -> tuple[Correction, ...]:
        """One for each finding that names a fact of a domain, unless the person has it forgotten further on."""
        found = []
        for place, finding in enumerate(findings):
            rest = findings[place + 1 :]
            if finding.effect is Effect.FORGETS or any(is_forgotten_by(later, finding) for later in rest):
                continue
            if (fact := self._fact(finding)) is not None:
                found.append(self._correction(place, finding, fact))
        return tuple(found)

    def forgets(self, findings: Sequence[Finding]) -> tuple[ForgetRequest, ...]:
        """One for each line of a skill that is to be forgotten, whether its domain's items have such a fact or not."""
        found: dict[str, ForgetRequest] = {}
        for finding in findings:
            if finding.domain is None or finding.dimension == FREE:
                continue
            line = line_of(
                self.user_id, finding.domain, fact_id(Fact(dimension=finding.dimension, value=finding.value))
            )
            found[line] = ForgetRequest(
                event_id=derived_id("forgets", self.name, line),
                occurred_at=finding.said_at,
                user_id=self.user_id,
                domain=finding.domain,
                line=line,
                actor=ACTOR,
            )
        return tuple(found.values())

    def _fact(self, finding: Finding) -> Fact | None:
        if finding.domain is None or finding.dimension == FREE:
            return None
        named = fact_id(Fact(dimension=finding.dimension, value=finding.value))
        return next((fact for fact in self.vocabulary(finding.domain) if fact_id(fact) == named), None)

    def _correction(self, place: int, finding: Finding, fact: Fact) -> Correction:
        withdrawn = finding.effect is Effect.WITHDRAWS
        # `instead` is a taste for the one; the other is nothing that a vocabulary is sure to name.
        is_against = finding.stance is Stance.AVOIDS
        stance = Stance.AVOIDS if is_against is not withdrawn else Stance.PREFERS
        turn = next((each for each in self.chunk.turns if each.event_id == finding.event_id), None)
        return Correction(
            event_id=derived_id("says", self.name, str(place)),
            occurred_at=finding.said_at,
            user_id=self.user_id,
            domain=finding.domain or "",
            text=finding.words,
            says=(
                Directive(
                    stance=stance,
                    dimension=fact.dimension,
                    value=fact.value,
                    changed=withdrawn or finding.effect is Effect.UPDATES,
                ),
            ),
            scope=finding.scope,
            ranking_id=None if turn is None else turn.ranking_id,
        )


def is_forgotten_by(later: Finding, earlier: Finding) -> bool:
    """Whether a finding has another one forgotten that was said before it."""
    return later.effect is Effect.FORGETS and _about(later) == _about(earlier)


def _about(finding: Finding) -> tuple[str | None, str]:
    return finding.domain, fact_id(Fact(dimension=finding.dimension, value=finding.value))
