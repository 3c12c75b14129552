"""One person chats: conversations of a script, and what their card makes of them."""

import csv
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files

from operators.cards.fold import OutOfOrder, fold
from operators.cards.text import as_text
from operators.tokens import count_tokens
from schemas import Card, CardDiff, Role, Utterance, encode
from streams.demo.observer import STALLED_SECONDS, Observer
from streams.kafka.events import EventOutbox, envelope
from streams.local.launch import Local
from streams.vouching import DEFAULT

WHO = "ann"
ASKED = "a documentary for tonight"
FORGOTTEN = "train"
"""A word that only what is forgotten at the end has."""

Progress = Callable[[str, int, int], None]
"""Told of a stage's name, how far it is, and its total."""


@dataclass(frozen=True)
class Said:
    """One turn of the script."""

    role: Role
    text: str


@dataclass(frozen=True)
class Chat:
    """One conversation of the script.

    Attributes:
        name: what it is about; its id, too.
        days_ago: when it was.
        turns: what was said, in order.
    """

    name: str
    days_ago: int
    turns: tuple[Said, ...]


@dataclass(frozen=True)
class Heard:
    """What came of one conversation."""

    chat: Chat
    diff: CardDiff
    before: Card | None
    card: Card


@dataclass(frozen=True)
class Talked:
    """What a run came to.

    Attributes:
        heard: by conversation.
        card: at the end.
        not_kept: what was said and is not kept, by kind.
        text: the card for a prompt.
        for_request: the card for a prompt that asks for `ASKED`.
        fold_agrees: whether the fold of the log is the card, byte for byte.
        is_forgotten: whether what was to be forgotten is gone from the log and the card.
        calls: of a model.
        seconds: the whole run.
    """

    heard: Sequence[Heard]
    card: Card
    not_kept: Counter[str]
    text: str
    for_request: str
    fold_agrees: bool
    is_forgotten: bool
    calls: int
    seconds: float


def script() -> tuple[Chat, ...]:
    """The conversations, oldest first."""
    found: dict[tuple[str, int], list[Said]] = {}
    with files(__package__).joinpath("chats.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            said = Said(Role(row["role"]), row["text"])
            found.setdefault((row["conversation"], int(row["days ago"])), []).append(said)
    return tuple(Chat(name, days, tuple(turns)) for (name, days), turns in found.items())


class Chats:
    """One run of the script against a local pipeline.

    Args:
        local: the pipeline, running.
        progress: told how far it is.
        show: called with what came of each conversation as soon as it is known.
        patience_seconds: how long nothing new may come before that is called a stall.
    """

    def __init__(
        self,
        local: Local,
        progress: Progress,
        show: Callable[[Heard], None],
        patience_seconds: float = STALLED_SECONDS,
    ) -> None:
        self._progress, self._show = progress, show
        self._observer = Observer(local.settings, local.check, patience_seconds)
        self._events = EventOutbox(local.settings)

    def run(self, chats: Sequence[Chat]) -> Talked:
        """Say everything, conversation by conversation, and wait for what comes of it.

        Raises:
            Stalled: the pipeline has stopped answering.
            StreamsError: one of its processes has died.
        """
        began, now, heard = time.monotonic(), datetime.now(UTC), list[Heard]()
        for done, chat in enumerate(chats):
            self._progress("listening", done, len(chats))
            heard.append(self._say(chat, now - timedelta(days=chat.days_ago, minutes=len(chat.turns))))
            self._show(heard[-1])
        self._progress("listening", len(chats), len(chats))
        agrees = self._settled()
        card, diffs = self._card(), list(self._observer.seen.card_diffs.values())
        self._observer.close()
        kept = Counter[str]()
        for each in heard:
            kept.update({refused.kind: refused.times for refused in each.diff.not_kept})
        return Talked(
            heard=heard,
            card=card,
            not_kept=kept,
            text=as_text(card, now, count_tokens=count_tokens, vouching=DEFAULT),
            for_request=as_text(card, now, request=ASKED, count_tokens=count_tokens, most=2, vouching=DEFAULT),
            fold_agrees=agrees,
            is_forgotten=not any(FORGOTTEN in encode(each).decode() for each in (card, *diffs)),
            calls=sum(each.diff.reasoned_by.calls for each in heard),
            seconds=time.monotonic() - began,
        )

    def _say(self, chat: Chat, at: datetime) -> Heard:
        seen = self._observer.seen
        before = seen.cards.get(WHO)
        for turn, said in enumerate(chat.turns):
            self._events.send(
                Utterance(
                    **envelope(at + timedelta(seconds=20 * turn)),
                    user_id=WHO,
                    conversation_id=chat.name,
                    turn=turn,
                    role=said.role,
                    text=said.text,
                    language="en",
                    ends=turn == len(chat.turns) - 1,
                )
            )
        self._events.flush()

        def answer() -> CardDiff | None:
            return next((each for each in seen.card_diffs.values() if each.conversation_id == chat.name), None)

        def is_done() -> bool:
            diff, card = answer(), seen.cards.get(WHO)
            return diff is not None and card is not None and card.version >= diff.version

        stage = f"thinking over {chat.name!r}"
        self._observer.wait(is_done, f"card after {chat.name!r}", lambda: self._progress(stage, 0, 1))
        self._progress(stage, 1, 1)
        diff = answer()
        if diff is None:
            raise AssertionError("the wait has ended without what it waited for")
        return Heard(chat, diff, before, self._card())

    def _card(self) -> Card:
        return self._observer.seen.cards[WHO]

    def _settled(self) -> bool:
        """Whether log and card come to tell the same: what is forgotten goes from both, one after the other."""
        seen = self._observer.seen

        def agree() -> bool:
            diffs = sorted(seen.card_diffs.values(), key=lambda diff: diff.version)
            try:
                return encode(fold(diffs)[WHO]) == encode(self._card())
            except (OutOfOrder, KeyError):
                return False

        self._observer.wait(agree, "log that folds to the card")
        return agree()
