"""The events that an app sends, each kind as a method."""
# ruff: noqa: D417 - `EventMethods` describes the arguments that many methods have

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias, TypedDict, TypeVar

from .errors import NotAsked, NotShown
from .schemas import (
    Action,
    Attribute,
    Candidate,
    CardAction,
    CardCommand,
    CardStated,
    Correction,
    Directive,
    Event,
    Feedback,
    ForgetRequest,
    Injected,
    Interaction,
    Item,
    Question,
    Ranking,
    RankRequest,
    Role,
    Scope,
    Selection,
    Signal,
    SkillCommand,
    SlimSkill,
    Stance,
    Stated,
    Tier,
    Utterance,
    line_of,
)

NAMED_ITEMS = 5
EventT = TypeVar("EventT", bound=Event)
Shown: TypeAlias = Ranking | RankRequest
"""A list that the user saw, or the request for it."""


class ItemLike(Protocol):
    """An object with an `item_id`, and with `title`, `description` and `metadata` if it has them."""

    @property
    def item_id(self) -> str:
        """The item's id."""
        ...


CandidateLike: TypeAlias = Candidate | Mapping[str, Any] | ItemLike
"""An item: a `Candidate`, a mapping with the same fields, or an object with the same attributes."""


class CorrectionFields(TypedDict, total=False):
    """Further arguments of `correct`.

    Attributes:
        ranking: the list that the person sees while they say it: "the second" refers to it.
        items: the same without a ranking.
        item_id: the item that it is about, if it is about one.
        says: the fields of a form: prefers, avoids or instead, each a `Directive` or a mapping with its fields.
        suits: of the items that they see, those that would do.
        scope: `now`, `session` or `always`; by default what the words say, else always.
        language: BCP 47, such as `de`; by default recognised by the words.
        answers: the question that this answers; see `answer`.
    """

    ranking: Shown | None
    items: Iterable[CandidateLike]
    item_id: str | None
    says: Iterable[Directive | Mapping[str, Any]]
    suits: Iterable[str]
    scope: Scope | str | None
    language: str | None
    answers: str | None
    ranking_id: str | None
    session_id: str | None
    at: datetime | None
    event_id: str | None


class EventMethods:
    """Makes an app's events and sends each; a subclass defines how.

    Arguments that many methods have:

    Args:
        user_id: the user.
        domain: the kind of items, such as `films`.
        item: a `Candidate`, a mapping with its fields, or an object with its attributes.
        ranking_id: unique per user; by default a new one. Else the ranking that an event refers to.
        session_id: the session that the event belongs to; by default that of the ranking.
        at: the time; by default now.
        event_id: by default a new one. Events with the same one count once.
    """

    def send(self, event: EventT) -> EventT:
        """Send an event, and return it."""
        raise NotImplementedError

    def item(self, domain: str, item: CandidateLike, *, at: datetime | None = None) -> Item:
        """Add an item to the catalogue, or replace it."""
        return self.send(_new(Item, at, domain=domain, item=_candidate(item)))

    def interaction(
        self, user_id: str, domain: str, item: CandidateLike, *, at: datetime | None = None, event_id: str | None = None
    ) -> Interaction:
        """Send a past positive event, for the statistical prior."""
        return self.send(_new(Interaction, at, event_id, user_id=user_id, domain=domain, item=_candidate(item)))

    def rank_request(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        request_id: str | None = None,
        at: datetime | None = None,
        clarify: bool = False,
        session_id: str | None = None,
    ) -> RankRequest:
        """Request a ranking, without waiting; the answer on `rankings` has this `request_id` as `ranking_id`."""
        named = uuid.uuid4().hex
        about = {"user_id": user_id, "domain": domain, "session_id": session_id}
        request = {"request_id": request_id or named, "instruction": instruction, "clarify": clarify}
        return self.send(_new(RankRequest, at, named, **about, **request, candidates=_candidates(candidates)))

    def ranking(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        ranking_id: str | None = None,
        skill: SlimSkill | None = None,
        arm: str | None = None,
        at: datetime | None = None,
        session_id: str | None = None,
    ) -> Ranking:
        """Send the list that the user was shown, first place first, where the app ranks by itself.

        Args:
            candidates: at most 100 items, each once.
            instruction: the user's request, in their own words.
            skill: the slim skill that influenced the order: then choices with and without can be compared.
            arm: the arm of an experiment of yours, by which metrics and DuckDB compare.
        """
        named = uuid.uuid4().hex
        about = {"user_id": user_id, "domain": domain, "session_id": session_id}
        shown = {"ranking_id": ranking_id or named, "instruction": instruction, "candidates": _candidates(candidates)}
        used = {} if skill is None else {"skill_version": skill.skill_version, "slim_skill": skill.text}
        return self.send(_new(Ranking, at, named, **about, **shown, injected=Injected(arm=arm, **used)))

    def selection(
        self,
        ranking: Shown | None = None,
        item_id: str | None = None,
        *,
        others: Iterable[str] = (),
        in_order: bool = False,
        user_id: str | None = None,
        domain: str | None = None,
        ranking_id: str | None = None,
        skill_version: int | None = None,
        session_id: str | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Selection:
        """Send the item that the user took from a ranking, or several.

            events.selection(ranking, "arrival")
            events.selection(ranking, "arrival", others=["dune"])
            events.selection(user_id="ann", ranking_id="r-17", item_id="arrival")  # in another web request

        Args:
            ranking: the list, or the request for it; without it `user_id` and `ranking_id` name it.
            item_id: the taken item, or the first of several.
            others: the other taken items. One list is answered once: send all that was taken together.
            in_order: True if they stand in the order in which they were taken.
            domain: not needed: a ranking's id is unique per user.
            skill_version: the slim skill's version that the app had, used or not.

        Raises:
            NotShown: the ranking has no such item.
        """
        if item_id is None:
            raise TypeError("say which item was taken: item_id=..., or that none was: none_of_these(...)")
        taken = {"item_id": item_id, "others": tuple(others), "in_order": in_order, "skill_version": skill_version}
        return self.send(_selection(ranking, user_id, ranking_id, session_id, at, event_id, taken))

    def none_of_these(
        self,
        ranking: Shown | None = None,
        *,
        user_id: str | None = None,
        domain: str | None = None,
        ranking_id: str | None = None,
        skill_version: int | None = None,
        session_id: str | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Selection:
        """Report that the user wants nothing of a ranking: the list did not suit, which disfavours no item.

            events.none_of_these(ranking)

        Send it if the user says so, by a button or by asking for other items; not if they merely leave. The arguments
        are those of `selection`.
        """
        none = {"none_taken": True, "skill_version": skill_version}
        return self.send(_selection(ranking, user_id, ranking_id, session_id, at, event_id, none))

    def feedback(
        self,
        user_id: str,
        domain: str,
        item: CandidateLike,
        signal: Signal | str,
        value: float | None = None,
        *,
        scale: Sequence[float] | None = None,
        ranking_id: str | None = None,
        session_id: str | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Feedback:
        """Send a signal on an item, shown in a ranking or not.

            events.feedback("ann", "films", heat, "liked")
            events.feedback("ann", "films", heat, "rated", 4)  # of 1 to 5
            events.feedback("ann", "films", heat, "rated", 7, scale=(0, 10))
            events.feedback("ann", "films", heat, "dwelled", 45)  # seconds

        Args:
            signal: liked, disliked, rated, saved, hidden, skipped, dwelled, purchased, returned, or a kind of your own
                that the workers' `SAGER_SIGNALS` names.
            value: rated: the rating; dwelled: seconds.
            scale: rated: the worst and the best possible rating; by default 1 and 5.
        """
        about = {"user_id": user_id, "domain": domain, "ranking_id": ranking_id, "session_id": session_id}
        given = {"signal": str(signal), "value": value, "scale": None if scale is None else tuple(scale)}
        return self.send(_new(Feedback, at, event_id, **about, **given, item=_candidate(item)))

    def utterance(
        self,
        user_id: str,
        conversation_id: str,
        turn: int,
        text: str = "",
        *,
        role: Role | str = Role.USER,
        ranking: Shown | None = None,
        language: str | None = None,
        domain: str | None = None,
        ranking_id: str | None = None,
        ends: bool = False,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Utterance:
        """Send one turn of a conversation. The person's statements about themselves go on their card.

            events.utterance("ann", "chat-7", 0, "I'm vegetarian. What could I cook tonight?")
            events.utterance("ann", "chat-7", 1, "How about a curry?", role="assistant")
            events.utterance("ann", "chat-7", 2, "Sounds good, bye!", ends=True)

        Send the other speakers' turns too: the person answers to them, and they are no evidence themselves.

        Args:
            user_id: the user that the conversation teaches about, whoever speaks.
            conversation_id: unique per user.
            turn: its place in the conversation, from 0 on.
            text: the words; a turn that only ends the conversation has none.
            role: the speaker: `user`, `assistant` or `other`.
            ranking: the list that was on screen, if there was one; the turn is of its domain then.
            language: BCP 47, such as `de`; by default recognised by the words.
            domain: the conversation's subject; by default anything, and no policy skill learns from it.
            ends: True if the conversation is over: it is processed at once.
        """
        if ranking is not None:
            if ranking.user_id != user_id or domain not in (None, ranking.domain):
                raise TypeError("the ranking says what was shown to whom: give its user, and its domain or none")
            ranking_id, domain = _id_of(ranking), ranking.domain
        about = {"user_id": user_id, "domain": domain, "ranking_id": ranking_id, "conversation_id": conversation_id}
        said = {"turn": turn, "role": Role(role), "text": text, "language": language, "ends": ends}
        return self.send(_new(Utterance, at, event_id, **about, **said))

    def answer(
        self,
        ranking: Ranking,
        option: str,
        *,
        scope: Scope | str | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Correction:
        """Send the person's answer to the question that a ranking brought along.

            ranking = events.rank("ann", "headphones", found, clarify=True)
            if question := question_of(ranking):
                events.answer(ranking, ask(question.text, [option.value for option in question.options]))

        An answer in words of their own is `correct(..., answers=question.question_id)`.

        Args:
            option: the value of one of the options, or its `attribute_id`.
            scope: `now`, `session` or `always`; by default always.

        Raises:
            NotAsked: the ranking asks nothing, or has no such option.
        """
        question = question_of(ranking)
        if question is None:
            raise NotAsked("the ranking asks nothing: request it with clarify=True, and look for question_of(ranking)")
        value = next((each.value for each in question.options if option in (each.value, each.attribute_id)), None)
        if value is None:
            named = ", ".join(each.value for each in question.options)
            raise NotAsked(f"{option!r} is none of the options, which are {named}")
        said = Directive(stance=Stance.PREFERS, dimension=question.dimension, value=value)
        about = (ranking.user_id, ranking.domain)
        asked = question.question_id
        return self.send(
            correction(*about, ranking=ranking, says=[said], scope=scope, answers=asked, at=at, event_id=event_id)
        )

    def forget(
        self,
        user_id: str,
        domain: str | None = None,
        attribute_id: str | None = None,
        *,
        actor: str,
        at: datetime | None = None,
    ) -> ForgetRequest:
        """Request the erasure of a user: all of their data, one domain, or one line of it.

            events.forget("ann", actor="settings page")

        Args:
            domain: only this one.
            attribute_id: only this line of the domain, such as `preference:genre:crime`.
            actor: requests the erasure; it stands in the receipt.
        """
        line = None
        if attribute_id is not None:
            if domain is None:
                raise TypeError("a line is erased within a domain: name it too")
            line = line_of(user_id, domain, attribute_id)
        return self.send(_new(ForgetRequest, at, user_id=user_id, domain=domain, line=line, actor=actor))

    def command(
        self,
        user_id: str,
        domain: str,
        action: Action | str,
        *,
        actor: str,
        attribute_id: str | None = None,
        line: Stated | None = None,
        value: str | None = None,
        tier: Tier | None = None,
        to_version: int | None = None,
        lines: Sequence[Attribute] | None = None,
        reason: str = "",
        at: datetime | None = None,
    ) -> SkillCommand:
        """Change a skill on behalf of a person.

            events.command("ann", "films", "pin", attribute_id="preference:genre:sci-fi", actor="ann")

        Args:
            actor: the person who does it.
            attribute_id: the line, for actions on one.
            line: add: the new line.
            value: reword: the line's new words.
            tier: set-tier: the line's new tier.
            to_version: roll-back: the version to return to.
            lines: roll-back, import: the new lines.
            reason: for the log.
        """
        about = {"user_id": user_id, "domain": domain, "action": action, "actor": actor, "reason": reason}
        change = {"attribute_id": attribute_id, "line": line, "value": value, "tier": tier}
        return self.send(_new(SkillCommand, at, **about, **change, to_version=to_version, lines=lines))

    def card_command(
        self,
        user_id: str,
        action: CardAction | str,
        *,
        actor: str,
        line_id: str | None = None,
        line: CardStated | Mapping[str, Any] | None = None,
        reason: str = "",
        at: datetime | None = None,
    ) -> CardCommand:
        """Change a person's card on their behalf.

            events.card_command("ann", "set", line={"stance": "avoids", "value": "coriander"}, actor="ann")
            events.card_command("ann", "remove", line_id="avoids:stated:coriander", actor="ann")

        Args:
            action: `set`, `pin`, `unpin` or `remove`, which erases the line's words in the log too.
            actor: the person who does it.
            line_id: the line; with `set`, the one that the new line replaces.
            line: set: the new line, a `CardStated` or a mapping with its fields.
            reason: for the log.
        """
        stated = line if line is None or isinstance(line, CardStated) else CardStated.model_validate(line)
        event = {"user_id": user_id, "action": CardAction(action), "line_id": line_id, "line": stated}
        return self.send(_new(CardCommand, at, **event, actor=actor, reason=reason))


def correction(
    user_id: str,
    domain: str,
    text: str = "",
    *,
    ranking: Shown | None = None,
    items: Iterable[CandidateLike] = (),
    item_id: str | None = None,
    says: Iterable[Directive | Mapping[str, Any]] = (),
    suits: Iterable[str] = (),
    ranking_id: str | None = None,
    session_id: str | None = None,
    at: datetime | None = None,
    event_id: str | None = None,
    **more: Any,
) -> Correction:
    """Make the event of a person's own words; see `EventProducer.correct`.

    Raises:
        NotShown: it names an item that the person does not see.
        TypeError: the ranking is another user's or of another domain, or items are given beside it.
    """
    shown = _candidates(items)
    fields = [each if isinstance(each, Directive) else Directive.model_validate(each) for each in says]
    suits = tuple(suits)
    if ranking is not None:
        if shown or (ranking.user_id, ranking.domain) != (user_id, domain):
            raise TypeError("the ranking says what was shown to whom: give its user and domain, and no items beside it")
        shown, ranking_id, session_id = list(ranking.candidates), _id_of(ranking), session_id or ranking.session_id
    seen = {item.item_id for item in shown}
    for named in filter(None, (item_id, *suits, *(each.item_id for each in fields))):
        if named not in seen:
            raise NotShown(f"{named!r} is none of the items: give what the person saw, as ranking= or items=")
    about = {"user_id": user_id, "domain": domain, "text": text, "items": shown, "item_id": item_id, "suits": suits}
    context = {"says": fields, "ranking_id": ranking_id, "session_id": session_id}
    return _new(Correction, at, event_id, **about, **context, **more)


def question_of(ranking: Ranking) -> Question | None:
    """Return the question that a ranking brings along, if it does."""
    fit = ranking.injected.fit
    return None if fit is None else fit.question


def _selection(
    ranking: Shown | None,
    user_id: str | None,
    ranking_id: str | None,
    session_id: str | None,
    at: datetime | None,
    event_id: str | None,
    taken: Mapping[str, Any],
) -> Selection:
    if (ranking is None) is (user_id is None or ranking_id is None) or (ranking and (user_id or ranking_id)):
        raise TypeError("say of which ranking: the ranking itself, or user_id=... and ranking_id=...")
    if ranking is not None:
        user_id, ranking_id, session_id = ranking.user_id, _id_of(ranking), session_id or ranking.session_id
        shown = [each.item_id for each in ranking.candidates]
        for item_id in (*filter(None, [taken.get("item_id")]), *taken.get("others", ())):
            if item_id not in shown:
                more = f" and {len(shown) - NAMED_ITEMS} more" if len(shown) > NAMED_ITEMS else ""
                named = ", ".join(shown[:NAMED_ITEMS])
                raise NotShown(f"{item_id!r} does not stand in the ranking, which has {named}{more}")
    return _new(Selection, at, event_id, user_id=user_id, ranking_id=ranking_id, session_id=session_id, **taken)


def _new(model: type[EventT], at: datetime | None, event_id: str | None = None, /, **fields: Any) -> EventT:
    envelope = {"event_id": event_id or uuid.uuid4().hex, "occurred_at": at or datetime.now(UTC)}
    return model.model_validate({**envelope, **fields})


def _candidate(item: CandidateLike) -> Candidate:
    return item if isinstance(item, Candidate) else Candidate.model_validate(item, from_attributes=True)


def _candidates(items: Iterable[CandidateLike]) -> list[Candidate]:
    return [_candidate(item) for item in items]


def _id_of(ranking: Shown) -> str:
    return ranking.request_id if isinstance(ranking, RankRequest) else ranking.ranking_id
