"""Users, their skills and the log of these, as the newest snapshot has them."""

from functools import partial
from typing import Annotated

from fastapi import Query

from schemas import Model, PolicySkill, SkillDiff
from streams.http.answer import as_json
from streams.http.api import TheApi
from streams.http.auth import TheToken, needs
from streams.http.params import DomainPath, DomainQuery, UserPath, UserQuery, Whole
from streams.http.problems import Problem
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope
from streams.shown import plain

LAST, MOST_LAST = 20, 200
PAGE, MOST_PAGE = 100, 1_000

router = strict_router("skills")
_READS = needs(Scope.READ_USER, Scope.READ_ALL)


class Users(Model):
    """A page of users."""

    users: tuple[str, ...]
    next: str | None


class Skills(Model):
    """All skills of a user."""

    skills: tuple[PolicySkill, ...]


class Log(Model):
    """Versions of skills, as what changed."""

    diffs: tuple[SkillDiff, ...]


@router.get("/v1/users", dependencies=[needs(Scope.READ_ALL)], response_model=Users)
async def users(
    api: TheApi,
    token: TheToken,
    after: UserQuery = None,
    limit: Annotated[Whole, Query(ge=1, le=MOST_PAGE, description="How many.")] = PAGE,
) -> object:
    """The ids of users with a skill or a card, in order, page by page: `next` is for `after`."""
    found = await api.read(token, partial(api.snapshot.users, after or "", limit))
    return as_json({"users": found, "next": found[-1] if len(found) == limit else None})


@router.get("/v1/users/{user}/skills", dependencies=[_READS], response_model=Skills)
async def skills(api: TheApi, token: TheToken, user: UserPath) -> object:
    """All skills of a user, one per domain."""
    found = await api.read(token, partial(api.snapshot.skills, user))
    if not found:
        raise Problem(404, "no skill of this user is in the snapshot")
    return as_json({"skills": [plain(skill) for skill in found]})


@router.get("/v1/users/{user}/skills/{domain}", dependencies=[_READS], response_model=PolicySkill)
async def skill(api: TheApi, token: TheToken, user: UserPath, domain: DomainPath) -> object:
    """The skill of a user in a domain."""
    found = await api.read(token, partial(api.snapshot.skills, user, domain))
    if not found:
        raise Problem(404, "no skill of this user in this domain is in the snapshot")
    return as_json(plain(found[0]))


@router.get("/v1/users/{user}/log", dependencies=[_READS], response_model=Log)
async def log(
    api: TheApi,
    token: TheToken,
    user: UserPath,
    domain: DomainQuery = None,
    last: Annotated[Whole, Query(ge=1, le=MOST_LAST, description="How many of each skill.")] = LAST,
) -> object:
    """The newest versions of each of a user's skills, as what changed and on what evidence."""
    found = await api.read(token, partial(api.snapshot.log, user, domain, last))
    if not found:
        raise Problem(404, "no version of such a skill is in the snapshot")
    return as_json({"diffs": [diff.model_dump(mode="json") for diff in found]})
