"""Tools that read a skill, and those by which a person changes it."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from schemas import Action, Candidate, Directive, Scope
from schemas.fields import AttributeId, Identifier, Instruction, ItemIdField, Label
from streams.mcp.access import Access, Ctx
from streams.mcp.api import NotDone, path_of
from streams.mcp.params import Domain, Request, Session, User
from streams.mcp.results import Changed, Heard, SlimTold, slim_told
from streams.told.models import ToldLine, ToldSkill

LineId = Annotated[AttributeId, Field(description="The `line_id` of a line or statement that list_lines tells.")]


class Edit(StrEnum):
    """What a person may have done to a line."""

    REWORD = "reword"
    REMOVE = "remove"
    PIN = "pin"
    UNPIN = "unpin"


class SkillTools:
    """Tools that read and change a skill.

    Args:
        access: the API, and for whom.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

    async def get_slim_skill(
        self, ctx: Ctx, request: Request = "", session: Session = None, domain: Domain = None, user: User = None
    ) -> SlimTold:
        """Read this person's taste in one line of about 30 tokens, for the request at hand.

        Call it before you recommend, rank, choose or write something for them, once per request. Where two things fit
        equally well, go by it; it never outweighs what they ask for now.
        """
        path = await self._access.path(ctx, user, domain, "slim")
        return slim_told(await self._access.api(ctx).find(path, request=request or None, session_id=session))

    async def list_lines(self, ctx: Ctx, domain: Domain = None, user: User = None) -> ToldSkill:
        """Read all that is known of how this person decides, line by line, with the id of each line.

        Call it when they ask what you know of them, or before explain_line and correct_line. To personalise an answer,
        get_slim_skill is shorter.
        """
        path = await self._access.path(ctx, user, domain, "told")
        return ToldSkill.model_validate(await self._access.api(ctx).get(path))

    async def explain_line(self, ctx: Ctx, line_id: LineId, domain: Domain = None, user: User = None) -> ToldLine:
        """Read why a line is in this person's skill: the choices and changes behind it, oldest first.

        Call it when they ask "why do you think that I like ...?". Tell them what the sentences say, and add no reason
        of your own.
        """
        path = await self._access.path(ctx, user, domain, "told", "lines", line_id)
        return ToldLine.model_validate(await self._access.api(ctx).get(path))

    async def record_correction(
        self,
        ctx: Ctx,
        text: Annotated[Instruction, Field(description="The person's own words, such as `no horror, please`.")] = "",
        says: Annotated[
            list[Directive], Field(max_length=16, description="The same in fields, where a form asked for it.")
        ] = [],  # noqa: B006 - pydantic copies it
        suits: Annotated[
            list[ItemIdField], Field(max_length=100, description="Of `shown`: ids of what they say would do.")
        ] = [],  # noqa: B006
        answers: Annotated[
            Identifier | None, Field(description="The `question_id` of ask_clarifying_question that this answers.")
        ] = None,
        shown: Annotated[
            list[Candidate], Field(max_length=100, description="What they see while they say it, first place first.")
        ] = [],  # noqa: B006
        scope: Annotated[
            Scope | None, Field(description="For how long they mean it; left out: what the words say, else always.")
        ] = None,
        language: Annotated[str | None, Field(description="BCP 47, such as `de`; left out: told by the words.")] = None,
        session: Session = None,
        domain: Domain = None,
        user: User = None,
    ) -> Heard:
        """Record what this person says of their taste: what they want, do not want, or would rather have.

        Call it when they correct an offer ("too dark", "no horror", "the second one, but cheaper"), state a wish, or
        answer a clarifying question. Pass their words on as they are: do not rephrase, and do not conclude.
        """
        if not (text.strip() or says or suits):
            raise NotDone("give `text`, `says` or `suits`: what the person said")
        path = await self._access.path(ctx, user, domain, "corrections")
        body: dict[str, Any] = {
            "text": text or None,
            "says": [each.model_dump(mode="json", exclude_none=True) for each in says] or None,
            "suits": suits or None,
            "answers": answers,
            "items": [each.model_dump(mode="json") for each in shown] or None,
            "scope": scope,
            "language": language,
            "session_id": session,
        }
        answer = await self._access.api(ctx).post(path, body)
        return Heard(
            **_changed(answer),
            understood=answer.get("understood"),
            said=_said(answer),
            why=answer.get("why") or "",
            explanation=answer.get("explanation") or "",
            not_kept=answer.get("not_kept") or (),
        )

    async def correct_line(
        self,
        ctx: Ctx,
        line_id: LineId,
        edit: Annotated[
            Edit, Field(description="reword: say it in other words; remove: drop it; pin: keep it; unpin: let it move.")
        ],
        value: Annotated[Label | None, Field(description="reword: the line's new words.")] = None,
        reason: Annotated[str, Field(max_length=300, description="What the person said, if anything.")] = "",
        domain: Domain = None,
        user: User = None,
    ) -> Changed:
        """Change one line of this person's skill, at their word: reword, remove, pin or unpin it.

        Call it only when they ask for it, and say what you did. For a wish in their own words call record_correction.
        """
        action = Action(edit.value)
        if (action is Action.REWORD) is not (value is not None):
            raise NotDone("reword needs `value`, the new words; nothing else has one")
        body = {
            "domain": self._access.domain_of(domain),
            "action": action.value,
            "attribute_id": line_id,
            "value": value,
            "reason": reason or None,
        }
        path = path_of(await self._access.user_of(ctx, user), "commands")
        return Changed(**_changed(await self._access.api(ctx).post(path, body)))


def _changed(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: answer.get(name) for name in ("event_id", "carried_out", "version")}


def _said(answer: dict[str, Any]) -> tuple[str, ...]:
    """What the API says of the statements that a correction made: they came with this very call."""
    stated = answer.get("stated")
    found = [each for each in stated if isinstance(each, dict)] if isinstance(stated, list) else []
    return tuple(str(each["says"]) for each in found if each.get("says"))
