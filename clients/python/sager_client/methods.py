"""Methods that build and send an app's events."""
# ruff: noqa: D417 - `EventMethods` and the classes of keywords describe the arguments that many methods have

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack

from .errors import NotShown, UnknownOption
from .schemas import ClarifyingQuestion, Event, ForgetRequest, Scope, SlimSkill, Speaker, Stance, Utterance, line_digest
from .schemas.events import Feedback, Injected, Interaction, Ranking, RankRequest, Selection, Signal
from .schemas.items import Candidate, Item
from .schemas.statements import Correction, Directive

EventT = TypeVar("EventT", bound=Event)
# A list that the user saw, or the request for it.
Shown: TypeAlias = Ranking | RankRequest
# An item: a `Candidate`, or a mapping with the same fields.
CandidateLike: TypeAlias = Candidate | Mapping[str, Any]


class Envelope(TypedDict, total=False):
    """Keyword arguments of every method: `at` (now) and `event_id` (a new one).

    Events with the same `event_id` count once.
    """

    at: datetime | None
    event_id: str | None


class RankingKeywords(Envelope, total=False):
    """Keyword arguments of methods about a ranking: its id and session."""

    ranking_id: str | None
    session_id: str | None


class RequestFields(Envelope, total=False):
    """Keyword arguments of requests for a ranking.

    `request_id` becomes the ranking's id, by default a new one. With `clarify`, the ranking may have a question, see
    `answer`.
    """

    request_id: str | None
    clarify: bool
    session_id: str | None


class SelectionFields(RankingKeywords, total=False):
    """Keyword arguments of selections; `user_id` and `ranking_id` replace the ranking itself.

    `skill_version` is the slim skill's version that the app had, used or not.
    """

    user_id: str
    skill_version: int | None


class EventMethods:
    """Builds an app's events; a subclass sends them.

    Args of many methods:
        user_id: the user.
        domain: the kind of items, such as `films`.
        item: a `Candidate`, or a mapping with its fields.
        candidates: at most 100 items, each once; an `item_id` alone names one of the catalogue.
        instruction: the user's request, in their own words.
    """

    def send(self, event: EventT) -> EventT:
        """Return the event; a producer sends it, too."""
        return event

    def item(self, domain: str, item: CandidateLike, **envelope: Unpack[Envelope]) -> Item:
        """Add an item to the catalogue, or replace it."""
        return self.send(_new(Item, envelope, domain=domain, item=item))

    def interaction(self, user_id: str, domain: str, item: CandidateLike, **envelope: Unpack[Envelope]) -> Interaction:
        """Send a past positive event, for the statistical prior."""
        return self.send(_new(Interaction, envelope, user_id=user_id, domain=domain, item=item))

    def rank_request(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        **request: Unpack[RequestFields],
    ) -> RankRequest:
        """Request a ranking, without waiting; the answer is on `rankings`."""
        request["request_id"] = request.get("request_id") or uuid.uuid4().hex
        about = {"user_id": user_id, "domain": domain, "instruction": instruction, "candidates": tuple(candidates)}
        return self.send(_new(RankRequest, request, **about))

    def ranking(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        skill: SlimSkill | None = None,
        arm: str | None = None,
        **context: Unpack[RankingKeywords],
    ) -> Ranking:
        """Send the shown list, best first, if the app ranks by itself.

        Args:
            skill: the slim skill that influenced the order; lets analysts compare choices with and without it.
            arm: the arm of your experiment, for comparisons in metrics and DuckDB.
        """
        context["ranking_id"] = context.get("ranking_id") or uuid.uuid4().hex
        used = {} if skill is None else {"skill_version": skill.skill_version, "slim_skill": skill.text}
        about = {"user_id": user_id, "domain": domain, "instruction": instruction, "candidates": tuple(candidates)}
        return self.send(_new(Ranking, context, **about, injected=Injected(arm=arm, **used)))

    def selection(
        self,
        ranking: Shown | None = None,
        item_id: str | None = None,
        *,
        others: Iterable[str] = (),
        in_order: bool = False,
        **selection: Unpack[SelectionFields],
    ) -> Selection:
        """Send the item that the user took from a ranking, or several.

            events.selection(ranking, "arrival")
            events.selection(ranking, "arrival", others=["dune"])
            events.selection(user_id="ann", ranking_id="r-17", item_id="arrival")  # in another web request

        Args:
            ranking: the list, or the request for it.
            item_id: the taken item, or the first of several.
            others: further taken items. Only the first selection of a list counts: send all items together.
            in_order: True if the items are in the order in which they were taken.

        Raises:
            NotShown: the ranking has no such item.
        """
        if item_id is None:
            raise TypeError("name the taken item, item_id=..., or send none_of_these(...)")
        others = tuple(others)
        about = _about(ranking, selection, (item_id, *others))
        return self.send(_new(Selection, about, item_id=item_id, others=others, in_order=in_order))

    def none_of_these(self, ranking: Shown | None = None, **selection: Unpack[SelectionFields]) -> Selection:
        """Report that the user rejects a whole ranking.

        Send it if the user asks for other items, not if they merely leave.
        """
        return self.send(_new(Selection, _about(ranking, selection, ()), none_taken=True))

    def feedback(
        self,
        user_id: str,
        domain: str,
        item: CandidateLike,
        signal: Signal | str,
        value: float | None = None,
        *,
        scale: Sequence[float] | None = None,
        **context: Unpack[RankingKeywords],
    ) -> Feedback:
        """Send a signal on an item, shown in a ranking or not.

            events.feedback("ann", "films", heat, "liked")
            events.feedback("ann", "films", heat, "rated", 4)  # of 1 to 5
            events.feedback("ann", "films", heat, "rated", 7, scale=(0, 10))
            events.feedback("ann", "films", heat, "dwelled", 45)  # seconds

        The signals are liked, disliked, rated, saved, hidden, skipped, dwelled, purchased, returned, and your own kinds
        with a weight in the workers' `SAGER_SIGNALS`.
        """
        about = {"user_id": user_id, "domain": domain, "item": item}
        given = {"signal": str(signal), "value": value, "scale": None if scale is None else tuple(scale)}
        return self.send(_new(Feedback, context, **about, **given))

    def utterance(
        self,
        user_id: str,
        conversation_id: str,
        turn: int,
        text: str = "",
        *,
        role: Speaker | str = Speaker.USER,
        ranking: Shown | None = None,
        language: str | None = None,
        domain: str | None = None,
        ends: bool = False,
        **envelope: Unpack[Envelope],
    ) -> Utterance:
        """Send one turn of a conversation, from which the user's card learns.

            events.utterance("ann", "chat-7", 0, "I'm vegetarian. What could I cook tonight?")
            events.utterance("ann", "chat-7", 1, "How about a curry?", role="assistant")
            events.utterance("ann", "chat-7", 2, "Sounds good, bye!", ends=True)

        Send the other speakers' turns too: they give context, and are no evidence themselves.

        Args:
            user_id: the user of the conversation, also for turns of other speakers.
            conversation_id: unique per user.
            turn: its place in the conversation, from 0 on.
            role: the speaker: `user`, `assistant` or `other`.
            ranking: the list on screen, if any; it sets the domain.
            language: BCP 47, such as `de`; by default recognised by the words.
            domain: the subject; without one, no policy skill learns from the turn.
            ends: True if the conversation is over: it is processed at once.
        """
        about: dict[str, Any] = {"user_id": user_id, "domain": domain, "conversation_id": conversation_id}
        if ranking is not None:
            if ranking.user_id != user_id or domain not in (None, ranking.domain):
                raise TypeError("ranking= needs the same user, and the same domain or none")
            about |= {"ranking_id": _id_of(ranking), "domain": ranking.domain}
        fields = {"turn": turn, "role": Speaker(role), "text": text, "language": language, "ends": ends}
        return self.send(_new(Utterance, envelope, **about, **fields))

    def correct(
        self,
        user_id: str,
        domain: str,
        text: str = "",
        *,
        ranking: Shown | None = None,
        items: Iterable[CandidateLike] = (),
        item_id: str | None = None,
        directives: Iterable[Directive | Mapping[str, Any]] = (),
        acceptable: Iterable[str] = (),
        scope: Scope | str | None = None,
        language: str | None = None,
        answers: str | None = None,
        **context: Unpack[RankingKeywords],
    ) -> Correction:
        """Send the user's own words about their taste.

            events.correct("ann", "films", "no horror, please")
            events.correct("ann", "films", "rather something like the second", ranking=ranking)
            events.correct("ann", "films", directives=[{"stance": "avoids", "dimension": "genre", "value": "horror"}])

        Args:
            text: the user's words; with `directives`, they are kept and not read.
            ranking: the list on screen: "the second" refers to it; `items` without a ranking.
            item_id: the item that it is about, if any.
            directives: the fields of a form, each a `Directive` or a mapping with its fields.
            acceptable: shown items that would also do.
            scope: `now`, `session` or `always`; by default as the words state, else always.
            language: BCP 47, such as `de`; by default recognised by the words.
            answers: the id of the question that these words answer; for an option see `answer`.

        Raises:
            NotShown: it names an item that was not shown.
        """
        shown = [Candidate.model_validate(item) for item in items]
        read, acceptable = [Directive.model_validate(each) for each in directives], tuple(acceptable)
        if ranking is not None:
            if shown or (ranking.user_id, ranking.domain) != (user_id, domain):
                raise TypeError("ranking= needs the same user and domain, and no items=: it has its own")
            shown = list(ranking.candidates)
            context["ranking_id"] = _id_of(ranking)
            context["session_id"] = context.get("session_id") or ranking.session_id
        known = {item.item_id for item in shown}
        for name in (item_id, *acceptable, *(each.item_id for each in read)):
            if name and name not in known:
                raise NotShown(f"{name!r} was not shown: pass the list that the user saw, as ranking= or items=")
        about = {"user_id": user_id, "domain": domain, "text": text, "items": shown, "item_id": item_id, "scope": scope}
        given = {"directives": read, "acceptable": acceptable, "language": language, "answers": answers}
        return self.send(_new(Correction, context, **about, **given))

    def answer(
        self, ranking: Ranking, option: str, *, scope: Scope | str | None = None, **envelope: Unpack[Envelope]
    ) -> Correction:
        """Send the user's answer to a ranking's question.

            ranking = events.rank("ann", "headphones", found, clarify=True)
            if question := question_of(ranking):
                events.answer(ranking, ask(question.text, [option.value for option in question.options]))

        Raises:
            UnknownOption: the ranking has no question, or its question has no such option.
        """
        question = question_of(ranking)
        if question is None:
            raise UnknownOption("the ranking asks nothing: request it with clarify=True, see question_of(ranking)")
        value = next((each.value for each in question.options if option in (each.value, each.attribute_id)), None)
        if value is None:
            named = ", ".join(each.value for each in question.options)
            raise UnknownOption(f"{option!r} is none of the options, which are {named}")
        chosen = Directive(stance=Stance.PREFERS, dimension=question.dimension, value=value)
        about: dict[str, Any] = {"ranking": ranking, "answers": question.question_id, "scope": scope}
        return self.correct(ranking.user_id, ranking.domain, directives=[chosen], **about, **envelope)

    def forget(
        self,
        user_id: str,
        domain: str | None = None,
        attribute_id: str | None = None,
        *,
        actor: str,
        **envelope: Unpack[Envelope],
    ) -> ForgetRequest:
        """Request the erasure of a user, one domain, or one line.

        events.forget("ann", actor="settings page")
        events.forget("ann", "films", "preference:genre:crime", actor="ann")
        """
        line = None
        if attribute_id is not None:
            if domain is None:
                raise TypeError("a line is erased within a domain: name it too")
            line = line_digest(user_id, domain, attribute_id)
        return self.send(_new(ForgetRequest, envelope, user_id=user_id, domain=domain, line=line, actor=actor))


def question_of(ranking: Ranking) -> ClarifyingQuestion | None:
    """Return the ranking's question, if it has one."""
    fit = ranking.injected.fit
    return fit.question if fit else None


def _about(ranking: Shown | None, selection: SelectionFields, taken: Iterable[str]) -> dict[str, Any]:
    """Return the fields that name a ranking, if it has the items."""
    names = selection.keys() & {"user_id", "ranking_id"}
    if len(names) != (2 if ranking is None else 0):
        raise TypeError("name the ranking: the ranking itself, or user_id=... and ranking_id=...")
    if ranking is None:
        return {**selection}
    shown = [each.item_id for each in ranking.candidates]
    for item_id in taken:
        if item_id not in shown:
            raise NotShown(f"{item_id!r} is none of the ranking's {len(shown)} items, such as {shown[0]!r}")
    session_id = selection.get("session_id") or ranking.session_id
    return {**selection, "user_id": ranking.user_id, "ranking_id": _id_of(ranking), "session_id": session_id}


def _new(model: type[EventT], given: Mapping[str, Any], /, **fields: Any) -> EventT:
    """Build an event from keywords and further fields."""
    fields = {**given, **fields}
    fields["occurred_at"] = fields.pop("at", None) or datetime.now(UTC)
    fields["event_id"] = fields.get("event_id") or uuid.uuid4().hex
    return model.model_validate(fields)


def _id_of(ranking: Shown) -> str:
    return ranking.request_id if isinstance(ranking, RankRequest) else ranking.ranking_id
