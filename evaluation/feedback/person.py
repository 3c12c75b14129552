"""The simulated person, who replies in words and in a form.

They accept a thing none of whose features they dislike, and of several such things want the one with the features that
they like best. They name one reason at a time, never the answer itself unless they would have taken it. The rules are
those of the human in PAHF's shopping tasks (arXiv 2602.16173, section 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluation.feedback.scenarios import Scenario, Taste
from schemas import ClarifyingQuestion, Directive, Stance


class ReplyKind(StrEnum):
    """The meaning of a reply."""

    ACCEPTED = "accepted"
    CONFIRMED_NONE = "confirmed-none"
    REJECTED = "rejected"
    WANTED_ANOTHER = "wanted-another"
    WOULD_HAVE_TAKEN = "would-have-taken"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to an offer or question, in words and fields.

    `item_id` is the item that it names first: the rejected one, or the wanted one.
    """

    kind: ReplyKind
    text: str
    item_id: str | None = None
    says: tuple[Directive, ...] = ()
    suits: tuple[str, ...] = ()
    answers: str | None = None

    @property
    def is_right(self) -> bool:
        """True if the offer was the item that they wanted."""
        return self.kind in (ReplyKind.ACCEPTED, ReplyKind.CONFIRMED_NONE)


def reply(scenario: Scenario, taste: Taste, before: Taste | None, action: str | None) -> Reply:
    """Reply to an offer; `before` is the taste before a shift."""
    answer = scenario.answer
    if action == answer:
        return Reply(ReplyKind.CONFIRMED_NONE if answer is None else ReplyKind.ACCEPTED, "Right!", answer)
    if action is None:
        assert answer is not None  # noqa: S101 -- else the action was right
        return Reply(
            ReplyKind.WOULD_HAVE_TAKEN, f"{scenario.option(answer)} would have worked for me.", answer, suits=(answer,)
        )
    if disliked := taste.disliked(scenario.item(action)):
        return _rejected(scenario, before, action, disliked[0])
    assert answer is not None  # noqa: S101 -- what is not disliked is accepted, so that something is right
    return _wanted_another(scenario, taste, action, answer)


def _rejected(scenario: Scenario, before: Taste | None, action: str, why: tuple[str, str]) -> Reply:
    category, value = why
    changed = before is not None and before.accepts(scenario.item(action))
    text = (
        f"Actually, my preferences have changed. I used to like {value}, but now I don't want it anymore."
        if changed
        else f"{scenario.option(action)} won't work for me because I don't want {value}."
    )
    directive = Directive(stance=Stance.AVOIDS, dimension=category, value=value, changed=changed)
    return Reply(ReplyKind.REJECTED, text, action, says=(directive,))


def _wanted_another(scenario: Scenario, taste: Taste, action: str, answer: str) -> Reply:
    offered, wanted = scenario.item(action), scenario.item(answer)
    directives = [Directive(stance=Stance.PREFERS, item_id=answer)]
    better = [
        (name, str(value))
        for name, value in wanted.metadata.items()
        if value == taste.best.get(name) and offered.metadata.get(name) != value
    ]
    if better:
        category, value = better[0]
        directives.append(Directive(stance=Stance.PREFERS, dimension=category, value=value))
        text = (
            f"{scenario.option(action)} is okay, but I'd prefer {scenario.option(answer)} because it has {value} which "
            "I like more."
        )
    else:
        text = f"{scenario.option(action)} works, but {scenario.option(answer)} would be even better for me."
    return Reply(ReplyKind.WANTED_ANOTHER, text, answer, says=tuple(directives), suits=(action, answer))


def react(question: ClarifyingQuestion, taste: Taste, category: str) -> Reply:
    """Answer a question: like or dislike each option.

    If their favourite of all is among the options, they state that they prefer it to the others.
    """
    disliked = taste.dislikes.get(category, frozenset())
    values = {_folded(value): value for value in (*disliked, *taste.best.values())}
    named = [(option, values.get(_folded(option.value), option.value)) for option in question.options]
    directives = [
        Directive(stance=Stance.AVOIDS if value in disliked else Stance.PREFERS, dimension=category, value=option.value)
        for option, value in named
    ]
    fine = [option.value for option, value in named if value not in disliked]
    best = next((option.value for option, value in named if value == taste.best.get(category)), None)
    if best is not None:
        directives += [
            Directive(stance=Stance.INSTEAD, dimension=category, value=best, over=other)
            for other in fine
            if other != best
        ]
    return Reply(ReplyKind.ANSWERED, _in_words(directives), says=tuple(directives), answers=question.question_id)


def _in_words(directives: Sequence[Directive]) -> str:
    avoided = [f"I don't want {each.value}" for each in directives if each.stance is Stance.AVOIDS]
    liked = [f"I like {each.value}" for each in directives if each.stance is Stance.PREFERS]
    rather = [f"I prefer {each.value} over {each.over}" for each in directives if each.stance is Stance.INSTEAD]
    return ". ".join([*liked, *rather, *avoided]) + "."


def _folded(value: str) -> str:
    return " ".join(value.casefold().split())
