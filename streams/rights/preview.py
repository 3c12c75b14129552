"""What a request to forget would reach, and what an import would bring: counted and told before anything is sent."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from schemas import TOPICS, ForgetRequest, Interaction, Receipt, line_of
from streams.rights.holdings import Holdings, count, skills
from streams.rights.portable import Bundle, NotPortable, statements_of
from streams.settings import Settings

NAMING_LINE = "versions of the skill that name the line"


@dataclass(frozen=True)
class Going:
    """What one store holds of it.

    Attributes:
        store: such as `topic selections` or `table skills`.
        records: how many.
        fate: what happens to them, such as `goes`.
    """

    store: str
    records: int
    fate: str


@dataclass(frozen=True)
class Goes:
    """What a request to forget would reach.

    Attributes:
        what: what is to be forgotten, such as `ann in films`.
        held: all that is held, counted.
        stores: of that, what this request is about.
    """

    what: str
    held: Holdings
    stores: list[Going]


def goes(
    settings: Settings,
    user: str,
    domain: str | None,
    line: str | None,
    tell: Callable[[int, int], None] = lambda *_: None,
) -> Goes:
    """Counts what forgetting would reach, in every store.

    Args:
        settings: the deployment.
        user: who.
        domain: only this domain; None: all.
        line: only this line of the domain, by its id.
        tell: is told how many topics were read, of how many.

    Raises:
        BrokerUnreachable: Kafka cannot be read.
    """
    held = count(settings, user, tell)
    if line is not None and domain is not None:
        found = {NAMING_LINE: held.versions_with(domain, line)}
    else:
        found = {
            f"{kind} {name}": number
            for kind, counted in (("topic", held.topics), ("table", held.tables))
            for name, counts in counted.items()
            if (number := counts.total() if domain is None else counts[domain])
        }
    stores = [Going(name, number, fate_of(name)) for name, number in found.items()]
    return Goes(named(user, domain, line), held, stores)


def named(user: str, domain: str | None, line: str | None) -> str:
    """What is to be forgotten, in words.

    >>> named("ann", "films", None), named("ann", None, None)
    ('ann in films', 'all of ann')
    """
    if line is not None:
        return f"the line {line} of {user} in {domain}"
    return f"{user} in {domain}" if domain else f"all of {user}"


def fate_of(store: str) -> str:
    """What forgetting does to a store of a preview."""
    base = store.removeprefix("topic ")
    topic = TOPICS.get(base) if base != store else None
    if base == Receipt.TOPIC:
        return "stays: it names nobody"
    if topic is None or topic.compact or topic.retention is None:
        return "goes"
    return f"is read no more, and goes within {topic.retention.days} days"


def forget_request(
    user: str, domain: str | None, line: str | None, actor: str, event_id: str, at: datetime
) -> ForgetRequest:
    """The request to forget a person, one of their domains, or one line of it.

    Raises:
        ValidationError: a line without its domain, or an invalid user, domain or actor.
    """
    return ForgetRequest.model_validate(
        {
            "event_id": event_id,
            "occurred_at": at,
            "user_id": user,
            "domain": domain,
            "line": None if line is None or domain is None else line_of(user, domain, line),
            "actor": actor,
        }
    )


@dataclass(frozen=True)
class ComingSkill:
    """One skill that an import would bring.

    Attributes:
        domain: its domain.
        lines: how many lines it has.
        statements: how many things the person said for good, to be said again.
        replaces: how many lines the skill that is there has; None: there is none.
    """

    domain: str
    lines: int
    statements: int
    replaces: int | None


@dataclass(frozen=True)
class Comes:
    """What an import would bring; `interactions`: how many would be sent."""

    skills: list[ComingSkill] = field(default_factory=list)
    interactions: int = 0

    @property
    def replaced(self) -> list[str]:
        """The domains whose lines would be replaced."""
        return [each.domain for each in self.skills if each.replaces is not None]


def comes(
    settings: Settings,
    bundle: Bundle,
    user: str,
    at: datetime,
    *,
    domain: str | None = None,
    interactions: bool = False,
) -> Comes:
    """What importing a checked folder would do.

    Args:
        settings: the deployment.
        bundle: the result of `portable.load`.
        user: who receives it.
        at: the time of the import; what the person said until then, and no longer, is left out.
        domain: only this one; None: all.
        interactions: whether these are sent too; they are counted over all domains.

    Raises:
        NotPortable: there is nothing to import.
        BrokerUnreachable: Kafka cannot be read.
    """
    chosen = bundle.chosen(domain)
    if not chosen:
        raise NotPortable(bundle.nothing_of(domain))
    held = skills(settings, user)
    there = {skill.domain: held.skill(skill.domain) for skill in chosen}
    return Comes(
        [
            ComingSkill(
                skill.domain,
                len(skill.attributes),
                len(statements_of(skill, at)),
                None if (old := there[skill.domain]) is None else len(old.attributes),
            )
            for skill in chosen
        ],
        bundle.manifest.records_of(Interaction.TOPIC) if interactions else 0,
    )
