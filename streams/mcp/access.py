"""For whom this server acts: whose token it shows to the API, and which user and domain are meant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx2
from mcp.server.mcpserver import Context

from streams.mcp.api import Api, NotDone, path_of

EVERYBODY = "*"

Ctx: TypeAlias = Context[Any, Any]
"""The request that a tool, a resource or a prompt answers."""


@dataclass(frozen=True)
class Access:
    """How the API is reached, and for whom.

    Attributes:
        client: where the API is.
        where: the same for messages.
        token: shown with every call; None shows the token of each request instead.
        user: the only user that this server acts for; None: the token's.
        domain: the only domain; None: each call names one.
    """

    client: httpx2.AsyncClient
    where: str
    token: str | None = None
    user: str | None = None
    domain: str | None = None
    _owners: dict[str, str | None] = field(default_factory=dict, repr=False)

    def api(self, ctx: Ctx) -> Api:
        """The API as the caller may use it."""
        return Api(self.client, self._authorization(ctx), self.where)

    async def user_of(self, ctx: Ctx, user: str | None) -> str:
        """The user that a call is about.

        Args:
            ctx: the call.
            user: whom it names, if anybody.

        Raises:
            NotDone: it names another one than this server acts for, or nobody where it has to.
        """
        if self.user is not None:
            if user not in (None, self.user):
                raise NotDone("this server acts for one user only: leave `user` out")
            return self.user
        # The token's own user: for any other one the API refuses each request by itself.
        own = await self._own(ctx) if user is None else user
        if own is None:
            raise NotDone("this token acts for several users: name one in `user`")
        return own

    def domain_of(self, domain: str | None) -> str:
        """The domain that a call is about.

        Raises:
            NotDone: it names another one than this server acts in, or none where it has to.
        """
        if self.domain is not None and domain not in (None, self.domain):
            raise NotDone(f"this server acts in the domain {self.domain} only: leave `domain` out")
        if (found := self.domain or domain) is None:
            raise NotDone("name the `domain`, such as films: what the app calls the kind of thing that is chosen")
        return found

    async def path(self, ctx: Ctx, user: str | None, domain: str | None, *rest: str) -> str:
        """The API's path of something of a user in a domain.

        Raises:
            NotDone: as `user_of` and `domain_of`.
        """
        return path_of(await self.user_of(ctx, user), "domains", self.domain_of(domain), *rest)

    async def _own(self, ctx: Ctx) -> str | None:
        """The user that the caller's token is about; None if it is about several. Asked once for a token of ours."""
        if self.token is not None and self.token in self._owners:
            return self._owners[self.token]
        user = (await self.api(ctx).get("/v1/token")).get("user")
        own = user if isinstance(user, str) and user != EVERYBODY else None
        if self.token is not None:
            self._owners[self.token] = own
        return own

    def _authorization(self, ctx: Ctx) -> str | None:
        if self.token is not None:
            return f"Bearer {self.token}"
        headers: Mapping[str, str] = ctx.headers or {}
        return headers.get("authorization")
