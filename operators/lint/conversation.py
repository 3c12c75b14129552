"""What a turn of a conversation will put on its person's card, by rules: a deployment with a model hears more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from operators.cards.fold import with_diff
from operators.cards.merge import resolve
from operators.cards.words import in_words, why_not
from operators.cards.working import FORGOTTEN
from operators.language.finding import Heard
from operators.language.ports import Extractor
from operators.lint.lesson import Lesson
from operators.privacy import Privacy
from schemas import Card, CardChangeKind, CardDiff, Fact, Role, Turn, Utterance
from schemas.statements import Scope

FORGETS = "asks to forget: what is on the card of it goes, from the log too"
BEFORE = 4
"""How many turns before are read with one: what a person answers to says what they mean."""
_BECOMES = {
    CardChangeKind.ADDED: "goes on the card",
    CardChangeKind.CONFIRMED: "is on the card already, and surer now",
    CardChangeKind.OVERTAKEN: "is overtaken",
    CardChangeKind.WITHDRAWN: "does not hold any more",
    CardChangeKind.MERGED: "says nearly what another line says",
    CardChangeKind.FORGOTTEN: "is forgotten",
}


@dataclass
class Conversations:
    """The conversations of a batch, each turn as it comes; the pipeline thinks over several at once.

    Attributes:
        privacy: what no card may hold.
        extractor: reads conversations.
        vocabulary: of a domain.
    """

    privacy: Privacy
    extractor: Extractor
    vocabulary: Callable[[str], Sequence[Fact]]
    _turns: dict[tuple[str, str], list[Turn]] = field(default_factory=dict)
    _cards: dict[str, Card] = field(default_factory=dict)

    def hear(self, said: Utterance, lesson: Lesson) -> None:
        """Add what becomes of one turn."""
        turns = self._turns.setdefault((said.user_id, said.conversation_id), [])
        if any(turn.event_id == said.event_id for turn in turns):
            lesson.warnings.append("repeats a turn of this batch: it counts once")
            return
        found = self.privacy.turn(said.text, said.domain, turns[-1].text if turns else "")
        turn = Turn(
            event_id=said.event_id,
            turn=said.turn,
            role=said.role,
            text=found.text,
            language=said.language,
            domain=said.domain,
            ranking_id=said.ranking_id,
            said_at=said.occurred_at,
        )
        turns.append(turn)
        del turns[: -BEFORE - 1]
        if said.ends:
            lesson.teaches.append("ends its conversation: what was said in it is thought over at once")
        if said.role is not Role.USER:
            lesson.teaches.append("is what the person answers to: nothing is learned from it")
            return
        if found.found:
            kinds = ", ".join(sorted(found.found))
            lesson.warnings.append(f"the privacy filter takes this out of text before anything is kept: {kinds}")
        if said.text.strip():
            self._understand(said, turns, lesson)

    def _understand(self, said: Utterance, turns: Sequence[Turn], lesson: Lesson) -> None:
        card = self._cards.get(said.user_id)
        # What the person said before has had its turn, and is on the card.
        heard = self.extractor.extract(
            [each for each in turns[:-1] if each.role is not Role.USER] + [turns[-1]], card, self.vocabulary
        )
        mine = tuple(each for each in heard.findings if each.event_id == said.event_id)
        if heard.of_others:
            lesson.warnings.append("tells of somebody else's taste: nothing of that is learned of this person")
        for each in mine:
            if each.scope is not Scope.ALWAYS:
                where = f"is told to the skill in {each.domain}" if each.domain else "changes nothing without a domain"
                lesson.teaches.append(f"{each.stance.value} {each.value}: holds for now only, and {where}")
        if not mine:
            if not heard.of_others:
                lesson.teaches.append("nothing that the rules take for a preference")
            return
        diff = resolve(
            card,
            said.user_id,
            Heard(mine),
            said.event_id,
            said.occurred_at,
            said.conversation_id,
            None,
            self.privacy,
        )
        if diff is not None:
            self._cards[said.user_id] = with_diff(card, diff)
            _tell(diff, card, lesson)


def _tell(diff: CardDiff, before: Card | None, lesson: Lesson) -> None:
    """What a diff does to a card, in sentences."""
    known = {} if before is None else {line.line_id: line for line in (*before.lines, *before.past)}
    for change in diff.changes:
        line = change.line or known.get(change.line_id)
        said = "a line" if line is None else in_words(line)
        lesson.teaches.append(f"{said}: {_BECOMES.get(change.kind, change.kind.value)}")
    for kept_out in diff.not_kept:
        if kept_out.kind == FORGOTTEN:
            lesson.teaches.append(FORGETS)
        else:
            lesson.warnings.append(f"is not kept: {why_not(kept_out.kind)}")
