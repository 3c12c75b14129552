"""What an app tells of its users, each kind of event a method."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, TypeVar

from . import made_feedback, making
from .made_feedback import Says
from .making import CandidateLike
from .schemas import (
    Action,
    Attribute,
    CardAction,
    CardCommand,
    CardStated,
    Correction,
    Event,
    Feedback,
    ForgetRequest,
    Interaction,
    Item,
    Ranking,
    RankRequest,
    Role,
    Scope,
    Selection,
    Signal,
    SkillCommand,
    SlimSkill,
    Stated,
    Tier,
    Utterance,
)

EventT = TypeVar("EventT", bound=Event)


class CorrectionFields(TypedDict, total=False):
    """The arguments of `Telling.correct` beside the person, the domain and the words."""

    ranking: Ranking | RankRequest | None
    items: Iterable[CandidateLike]
    item_id: str | None
    says: Iterable[Says]
    suits: Iterable[str]
    scope: Scope | str | None
    language: str | None
    answers: str | None
    ranking_id: str | None
    session_id: str | None
    at: datetime | None
    event_id: str | None


class Telling:
    """Makes an app's events, and sends each; how, says who inherits from it."""

    def send(self, event: EventT) -> EventT:
        """Send an event, and give it back."""
        raise NotImplementedError

    def item(self, domain: str, item: CandidateLike, *, at: datetime | None = None) -> Item:
        """Add an item to the catalogue, or replace it."""
        return self.send(making.item(domain, item, at))

    def interaction(
        self, user_id: str, domain: str, item: CandidateLike, *, at: datetime | None = None, event_id: str | None = None
    ) -> Interaction:
        """Tell of a past positive event, for the statistical prior."""
        return self.send(making.interaction(user_id, domain, item, at, event_id))

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
        """Ask for a ranking, without waiting; the answer on `rankings` has this `request_id` as `ranking_id`."""
        request = making.rank_request(
            user_id, domain, candidates, instruction, request_id, at, clarify=clarify, session_id=session_id
        )
        return self.send(request)

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
        """Tell what the user was shown, first place first, where the app ranks by itself.

        Args:
            user_id: who was shown it.
            domain: what the items are, such as `films`.
            candidates: at most 100 items, each once.
            instruction: what the user asked for, in their own words.
            ranking_id: unique per user; by default a new one.
            skill: the slim skill that had its say in the order: then choices with and without can be compared.
            arm: the arm of an experiment of yours, by which metrics and DuckDB compare.
            at: when; by default now.
            session_id: the session that it is part of.
        """
        made = making.ranking(user_id, domain, candidates, instruction, ranking_id, skill, arm, at, session_id)
        return self.send(made)

    def selection(
        self,
        ranking: Ranking | RankRequest | None = None,
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
        """Tell which item the user took from a ranking, or which several.

            events.selection(ranking, "arrival")
            events.selection(ranking, "arrival", others=["dune"])
            events.selection(user_id="ann", ranking_id="r-17", item_id="arrival")  # in another web request

        Args:
            ranking: what was shown, or the request for it.
            item_id: what was taken, or the first of several.
            others: what else was taken of it. One list is answered once: send all that was taken together.
            in_order: whether these stand in the order in which they were taken.
            user_id: whose ranking it is, where you have it no more.
            domain: of that ranking; it may be told, and is not needed: a ranking's id is unique per user.
            ranking_id: which ranking it is.
            skill_version: the slim skill's version that the app had, used or not.
            session_id: the session that it is part of; by default the ranking's.
            at: when; by default now.
            event_id: by default a new one.

        Raises:
            NotShown: the ranking has no such item.
        """
        made = making.selection(
            ranking,
            item_id,
            user_id,
            ranking_id,
            at,
            event_id,
            others=others,
            in_order=in_order,
            skill_version=skill_version,
            session_id=session_id,
        )
        return self.send(made)

    def none_of_these(
        self,
        ranking: Ranking | RankRequest | None = None,
        *,
        user_id: str | None = None,
        domain: str | None = None,
        ranking_id: str | None = None,
        skill_version: int | None = None,
        session_id: str | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Selection:
        """Tell that the user wants nothing of a ranking: the list did not suit, which is no word against any item.

            events.none_of_these(ranking)

        Send it where the user said so, by a button or by asking for other items. Not where they merely left: nobody
        knows why.

        Args:
            ranking: what was shown, or the request for it.
            user_id: whose ranking it is, where you have it no more.
            domain: of that ranking; it is not needed.
            ranking_id: which ranking it is.
            skill_version: the slim skill's version that the app had, used or not.
            session_id: the session that it is part of; by default the ranking's.
            at: when; by default now.
            event_id: by default a new one.
        """
        made = making.selection(
            ranking,
            None,
            user_id,
            ranking_id,
            at,
            event_id,
            none_taken=True,
            skill_version=skill_version,
            session_id=session_id,
        )
        return self.send(made)

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
        """Tell a signal on an item, shown in a ranking or not.

            events.feedback("ann", "films", heat, "liked")
            events.feedback("ann", "films", heat, "rated", 4)  # of 1 to 5
            events.feedback("ann", "films", heat, "rated", 7, scale=(0, 10))
            events.feedback("ann", "films", heat, "dwelled", 45)  # seconds

        Args:
            user_id: whose signal it is.
            domain: what the item is.
            item: the item with all that is known of it, as in a ranking.
            signal: liked, disliked, rated, saved, hidden, skipped, dwelled, purchased, returned, or a kind of your own
                that the workers' `SAGER_SIGNALS` names.
            value: rated: the rating; dwelled: seconds.
            scale: rated: the worst and the best rating there is; by default 1 and 5.
            ranking_id: the ranking that it was shown in, if it was.
            session_id: the session that it is part of.
            at: when; by default now.
            event_id: by default a new one. What comes twice with the same one counts once.
        """
        made = made_feedback.feedback(user_id, domain, item, signal, value, scale, ranking_id, session_id, at, event_id)
        return self.send(made)

    def correct(
        self,
        user_id: str,
        domain: str,
        text: str = "",
        *,
        ranking: Ranking | RankRequest | None = None,
        items: Iterable[CandidateLike] = (),
        item_id: str | None = None,
        says: Iterable[Says] = (),
        suits: Iterable[str] = (),
        scope: Scope | str | None = None,
        language: str | None = None,
        answers: str | None = None,
        ranking_id: str | None = None,
        session_id: str | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Correction:
        """Tell what a person says of their taste, in words or by a form. The next ranking goes by it.

            events.correct("ann", "films", "no horror, please")
            events.correct("ann", "films", "rather something like the second", ranking=ranking)
            events.correct("ann", "films", says=[{"stance": "avoids", "dimension": "genre", "value": "horror"}])

        Args:
            user_id: who says it.
            domain: of which domain.
            text: their own words. Where `says` is given, these are kept and not read.
            ranking: what they see while they say it, first place first: "the second" is known by it.
            items: the same where there is no ranking.
            item_id: the item that it is about, if it is about one.
            says: what a form says: prefers, avoids or instead, each a `Directive` or a mapping with its fields.
            suits: of what they see, the items that they say would do.
            scope: `now`, `session` or `always`; by default what the words say, else always.
            language: BCP 47, such as `de`; by default told by the words.
            answers: the question that this answers; see `answer`.
            ranking_id: the ranking, where you have it no more.
            session_id: the session that it is part of; by default the ranking's.
            at: when; by default now.
            event_id: by default a new one. What comes twice with the same one counts once.

        Raises:
            NotShown: it names an item that is not among what they see.
        """
        return self.send(
            made_feedback.correction(
                user_id,
                domain,
                text,
                ranking=ranking,
                items=items,
                item_id=item_id,
                says=says,
                suits=suits,
                scope=scope,
                language=language,
                answers=answers,
                ranking_id=ranking_id,
                session_id=session_id,
                at=at,
                event_id=event_id,
            )
        )

    def utterance(
        self,
        user_id: str,
        conversation_id: str,
        turn: int,
        text: str = "",
        *,
        role: Role | str = Role.USER,
        ranking: Ranking | RankRequest | None = None,
        language: str | None = None,
        domain: str | None = None,
        ranking_id: str | None = None,
        ends: bool = False,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Utterance:
        """Tell one turn of a conversation. What the person says of themselves goes on their card.

            events.utterance("ann", "chat-7", 0, "I'm vegetarian. What could I cook tonight?")
            events.utterance("ann", "chat-7", 1, "How about a curry?", role="assistant")
            events.utterance("ann", "chat-7", 2, "Sounds good, bye!", ends=True)

        Send the others' turns too: they are what the person answers to, and no evidence themselves.

        Args:
            user_id: whom the conversation teaches about, whoever speaks.
            conversation_id: unique per user.
            turn: its place in the conversation, from 0 on.
            text: what was said; a turn that only ends the conversation has none.
            role: who said it: `user`, `assistant` or `other`.
            ranking: the list that was on screen, if there was one; the turn is of its domain then.
            language: BCP 47, such as `de`; by default told by the words.
            domain: what the conversation is about; by default anything, and no policy skill learns from it.
            ranking_id: the list that was on screen, where you have it no more.
            ends: whether the conversation is over: what was said in it is thought over at once.
            at: when; by default now.
            event_id: by default a new one. What comes twice with the same one counts once.
        """
        made = made_feedback.utterance(
            user_id,
            conversation_id,
            turn,
            text,
            role,
            ranking,
            at,
            event_id,
            language=language,
            domain=domain,
            ranking_id=ranking_id,
            ends=ends,
        )
        return self.send(made)

    def answer(
        self,
        ranking: Ranking,
        option: str,
        *,
        scope: Scope | str | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Correction:
        """Tell how a person answered the question that a ranking brought along.

            ranking = events.rank("ann", "headphones", found, clarify=True)
            if question := question_of(ranking):
                events.answer(ranking, ask(question.text, [option.value for option in question.options]))

        An answer in words of their own is `correct(..., answers=question.question_id)`.

        Args:
            ranking: the ranking with the question.
            option: the value of one of the options, or its `attribute_id`.
            scope: `now`, `session` or `always`; by default always.
            at: when; by default now.
            event_id: by default a new one.

        Raises:
            NotAsked: the ranking asks nothing, or has no such option.
        """
        return self.send(made_feedback.answer(ranking, option, scope, at, event_id))

    def forget(
        self,
        user_id: str,
        domain: str | None = None,
        attribute_id: str | None = None,
        *,
        actor: str,
        at: datetime | None = None,
    ) -> ForgetRequest:
        """Ask that a person be forgotten: all of them, one domain, or one line of it.

            events.forget("ann", actor="settings page")

        Args:
            user_id: who.
            domain: only this one.
            attribute_id: only this line of the domain, such as `preference:genre:crime`.
            actor: who asks for it; it stands in the receipt.
            at: when; by default now.
        """
        return self.send(making.forget(user_id, domain, attribute_id, actor, at))

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
            user_id: whose skill.
            domain: which one.
            action: what to do with it.
            actor: who does it.
            attribute_id: the line that is meant, where one is.
            line: add: the new line.
            value: reword: what the line is to say.
            tier: set-tier: how sure to be of the line.
            to_version: roll-back: the version to go back to.
            lines: roll-back, import: the lines that are to stand.
            reason: why, for the log.
            at: when; by default now.
        """
        needed = {
            "attribute_id": attribute_id,
            "line": line,
            "value": value,
            "tier": tier,
            "to_version": to_version,
            "lines": lines,
        }
        return self.send(making.command(user_id, domain, action, actor, reason, at, needed))

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
            user_id: whose card.
            action: `set`, `pin`, `unpin` or `remove`, which forgets the line's words in the log too.
            actor: who does it.
            line_id: the line that is meant; with `set`, the one whose place the new line takes.
            line: set: the new line, a `CardStated` or a mapping with its fields.
            reason: why, for the log.
            at: when; by default now.
        """
        return self.send(making.card_command(user_id, action, line_id, line, actor, reason, at))
