"""The roles of a deployment, and the least that each needs of Kafka. What is not granted is refused.

Every name is literal: a rule for a prefix would be good for the topics of every tenant whose prefix begins alike. The
worker and the operator get whatever topic is in the registry, the materializer whatever becomes rows; to the others a
new topic is closed until it is named here.

>>> from streams.settings import Settings
>>> [str(grant) for grant in grants(Role.SERVE, Settings())]
['Read topic sager.skill-diffs', 'Write topic sager.skill-commands', 'Describe group sager-commands-unused']
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from schemas.topics import TOPICS
from streams.kafka.clients import unused_group
from streams.materializer.rows import PUBLIC_TOPICS
from streams.settings import Settings


class Role(StrEnum):
    """Who comes to Kafka, each with a user or certificate of its own."""

    APP = "app"
    IMPORTER = "importer"
    WORKER = "worker"
    MATERIALIZER = "materializer"
    ADVOCATE = "advocate"
    SERVE = "serve"
    ANALYST = "analyst"
    OPERATOR = "operator"


class Kind(StrEnum):
    """What a rule is about."""

    TOPIC = "topic"
    GROUP = "group"


class Operation(StrEnum):
    """Kafka's operations that anybody here needs. Describe comes with Read, Write and Alter, and is not told twice."""

    READ = "Read"
    WRITE = "Write"
    DESCRIBE = "Describe"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    CREATE = "Create"
    ALTER = "Alter"
    ALTER_CONFIGS = "AlterConfigs"


@dataclass(frozen=True)
class Grant:
    """One operation that is allowed, on one resource of exactly this name."""

    kind: Kind
    name: str
    operation: Operation

    def __str__(self) -> str:
        return f"{self.operation.value} {self.kind.value} {self.name}"


ALL = tuple(TOPICS)
KEPT = tuple(topic.base for topic in PUBLIC_TOPICS)
"""What becomes rows of DuckDB."""
_OF_PEOPLE = ("items", "global-skills")
"""What workers never write: the app's catalogue, and what the operator builds."""
_NEVER_READ_BY_WORKERS = ("items", "dead-letters")
APP_ID = "{app_id}"


@dataclass(frozen=True)
class Access:
    """What a role does with Kafka.

    Attributes:
        does: what it is, for people.
        reads, writes: the topics, by the registry's names.
        looks_at: topics of which it must know that and how they are there, besides those it reads or writes.
        joins: consumer groups of which it is a member.
        asks: groups that it asks for, as for the lag; and names that librdkafka wants and nobody ever joins.
        makes_topics: whether it creates and alters them.
    """

    does: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    looks_at: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    makes_topics: bool = False


def _without(names: Iterable[str], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)


ROLES: dict[Role, Access] = {
    Role.APP: Access(
        "tells what was shown and taken, reads slim skills and the answers to its rank requests",
        reads=("rankings", "slim-skills"),
        writes=("items", "interactions", "rank-requests", "rankings", "selections"),
        joins=(f"{APP_ID}-app",),
        asks=(unused_group("slim-skills"),),
    ),
    Role.IMPORTER: Access(
        "`sager import`: histories, and what Kafka holds of them already",
        reads=("interactions", "rankings", "selections"),
        writes=("items", "interactions", "rankings", "selections"),
        looks_at=ALL,
        asks=(APP_ID, unused_group("scan")),
    ),
    Role.WORKER: Access(
        "`sager worker`: all agents, with the changelogs of their tables",
        reads=_without(ALL, _NEVER_READ_BY_WORKERS),
        writes=_without(ALL, _OF_PEOPLE),
        looks_at=ALL,
        joins=(APP_ID,),
        asks=(unused_group("global-skills"), unused_group("oldest"), unused_group("scan")),
    ),
    Role.MATERIALIZER: Access(
        "`sager materialize`: public topics into DuckDB",
        reads=KEPT,
        writes=("dead-letters",),
        looks_at=KEPT,
        asks=(f"{APP_ID}-materializer",),
    ),
    Role.ADVOCATE: Access(
        "`sager policy pin` and its like, and `forget`: commands and requests, and what comes of them",
        reads=("skill-diffs", "receipts"),
        writes=("skill-commands", "forget-requests"),
        asks=(unused_group("commands"), unused_group("scan")),
    ),
    Role.SERVE: Access(
        "`sager serve`: the same for those who have a token",
        reads=("skill-diffs",),
        writes=("skill-commands",),
        asks=(unused_group("commands"),),
    ),
    Role.ANALYST: Access("asks DuckDB, and never Kafka"),
    Role.OPERATOR: Access(
        "makes the topics; doctor, dead letters, rebuild, global skills",
        reads=ALL,
        writes=ALL,
        looks_at=ALL,
        asks=(APP_ID, unused_group("global-skills"), unused_group("scan")),
        makes_topics=True,
    ),
}


def grants(role: Role, settings: Settings) -> tuple[Grant, ...]:
    """Every rule that a role needs in this deployment."""
    access = ROLES[role]
    topics = {
        Operation.READ: access.reads,
        Operation.WRITE: access.writes,
        Operation.DESCRIBE: _without(access.looks_at, access.reads + access.writes),
        Operation.DESCRIBE_CONFIGS: access.looks_at,
        **dict.fromkeys(
            (Operation.CREATE, Operation.ALTER, Operation.ALTER_CONFIGS), ALL if access.makes_topics else ()
        ),
    }
    groups = {Operation.READ: access.joins, Operation.DESCRIBE: access.asks}
    return (
        *(Grant(Kind.TOPIC, settings.topic(base), op) for op, bases in topics.items() for base in bases),
        *(
            Grant(Kind.GROUP, name.replace(APP_ID, settings.app_id), op)
            for op, names in groups.items()
            for name in names
        ),
    )


def union(roles: Iterable[Role], settings: Settings) -> tuple[Grant, ...]:
    """What somebody needs who has several roles; each rule once."""
    return tuple(dict.fromkeys(grant for role in roles for grant in grants(role, settings)))


def by_resource(wanted: Iterable[Grant]) -> dict[tuple[Kind, str], tuple[Operation, ...]]:
    """The operations on each resource."""
    found: dict[tuple[Kind, str], tuple[Operation, ...]] = {}
    for grant in wanted:
        found[grant.kind, grant.name] = (*found.get((grant.kind, grant.name), ()), grant.operation)
    return found


def commands(wanted: Iterable[Grant], principal: str, bootstrap: str) -> list[str]:
    """The same for Kafka's own tool: a command for all resources on which the same is allowed."""
    alike: dict[tuple[Kind, tuple[Operation, ...]], list[str]] = {}
    for (kind, name), operations in by_resource(wanted).items():
        alike.setdefault((kind, operations), []).append(name)
    who = ["--bootstrap-server", bootstrap, "--command-config", "admin.properties"]
    return [
        shlex.join(
            [
                *["kafka-acls.sh", *who, "--add", "--allow-principal", principal],
                *(word for operation in operations for word in ("--operation", operation.value)),
                *(word for name in names for word in (f"--{kind.value}", name)),
            ]
        )
        for (kind, operations), names in alike.items()
    ]
