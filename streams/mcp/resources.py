"""Resources: a skill as a document and its log, for clients that let a person attach them to a conversation."""

from urllib.parse import quote

from mcp.server.mcpserver import MCPServer

from streams.mcp.access import Access, Ctx
from streams.told.models import ToldLog, ToldSkill

SKILL = "sager://users/{user}/domains/{domain}/skill"
LOG = "sager://users/{user}/domains/{domain}/log"
MARKDOWN = "text/markdown"


def add(server: MCPServer, access: Access) -> None:
    """Adds the resources: as templates, and by their addresses where the server acts for one user in one domain."""

    async def skill(ctx: Ctx, user: str, domain: str) -> str:
        """What is known of how somebody decides, as a document in Markdown."""
        path = await access.path(ctx, user, domain, "told")
        return ToldSkill.model_validate(await access.api(ctx).get(path)).markdown

    async def log(ctx: Ctx, user: str, domain: str) -> str:
        """How a skill came about: its newest versions, each with what it changed, in Markdown."""
        path = await access.path(ctx, user, domain, "told", "log")
        return _written(ToldLog.model_validate(await access.api(ctx).get(path)))

    for uri, read, title in ((SKILL, skill, "A person's skill"), (LOG, log, "The log of a person's skill")):
        server.resource(uri, title=title, mime_type=MARKDOWN)(read)


def address(template: str, user: str, domain: str) -> str:
    """The address of somebody's resource.

    >>> address(SKILL, "a/b", "films")
    'sager://users/a%2Fb/domains/films/skill'
    """
    return template.replace("{user}", quote(user, safe="")).replace("{domain}", quote(domain, safe=""))


def _written(log: ToldLog) -> str:
    parts = [f"# How this skill came about: {log.domain}", "", log.note, ""]
    for each in log.versions:
        parts.append(f"## Version {each.version}, {each.at:%Y-%m-%d}: after {each.because_of}")
        parts += [f"- {sentence}" for sentence in each.changed] or ["- nothing that may be told"]
    return "\n".join(parts) + "\n"
