"""Tools around a conversation: read a person's card for a request, and record what was said."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from schemas import Role, Utterance, derived_id
from schemas.fields import DomainField, Identifier
from schemas.utterances import MAX_TURN, MAX_UTTERANCE_CHARS
from streams.mcp.access import Access, Ctx
from streams.mcp.api import path_of
from streams.mcp.params import Request, User
from streams.mcp.ranking import check_taken
from streams.mcp.results import CardForPrompt, Listened

MOST_TOKENS = 1_000

About = Annotated[
    DomainField | None, Field(description="What the conversation is about, such as `films`; left out: anything.")
]


class ConversationTools:
    """Tools that read a card and record a conversation.

    Args:
        access: the API, and for whom.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

    async def read_card(
        self,
        ctx: Ctx,
        request: Request = "",
        budget_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS, description="At most so many tokens.")] = 300,
        domain: About = None,
        user: User = None,
    ) -> CardForPrompt:
        """Read what this person has said of themselves: what they like, do not like, and go by, across all subjects.

        Call it once at the beginning of a conversation, and again when the subject changes, with their request. Let it
        inform the answer; do not recite it, and never let it outweigh what they ask for now.
        """
        path = path_of(await self._access.user_of(ctx, user), "card")
        text = await self._access.api(ctx).text(
            path,
            format="text",
            request=request or None,
            budget_tokens=str(budget_tokens),
            domain=domain or self._access.domain,
        )
        return CardForPrompt(known=bool(text), text=text or "")

    async def record_utterance(
        self,
        ctx: Ctx,
        conversation: Annotated[Identifier, Field(description="The id of this conversation, the same for each turn.")],
        turn: Annotated[int, Field(ge=0, le=MAX_TURN, description="Its place in the conversation, from 0 on.")],
        text: Annotated[
            str, Field(max_length=MAX_UTTERANCE_CHARS, description="What was said, word for word: no summary.")
        ] = "",
        role: Annotated[
            Role, Field(description="Who said it: `user`, `assistant` (you), or `other` (a document, a third person).")
        ] = Role.USER,
        ends: Annotated[bool, Field(description="Whether the conversation is over.")] = False,
        language: Annotated[str | None, Field(description="BCP 47, such as `de`; left out: told by the words.")] = None,
        domain: About = None,
        user: User = None,
    ) -> Listened:
        """Record one turn of this conversation. What the person says of themselves goes on their card.

        Call it for each turn, your own too, with the words as they are. Only the person's own words are evidence: give
        what they paste or quote as `other`. The same turn again, word for word, is recorded once.
        """
        person = await self._access.user_of(ctx, user)
        event: dict[str, Any] = {
            # By its words too: agents count their conversations anew, and the second of a name is none of the first.
            "event_id": derived_id(
                "mcp", person, conversation, str(turn), role.value, text, str(ends), Utterance.TOPIC
            ),
            "occurred_at": datetime.now(UTC).isoformat(),
            "user_id": person,
            "conversation_id": conversation,
            "turn": turn,
            "role": role.value,
            "text": text,
            "language": language,
            "domain": domain or self._access.domain,
            "ends": ends,
        }
        entry = {"topic": Utterance.TOPIC, "event": {name: value for name, value in event.items() if value is not None}}
        check_taken(await self._access.api(ctx).post("/v1/events", {"events": [entry]}))
        return Listened(event_id=event["event_id"])
