"""The Kafka ACLs of each role: the minimum that it needs. Kafka refuses everything else.

Names are literal: a prefixed rule would also cover tenants whose prefix begins alike. Only the groups of webhooks are a
prefix, `APP_ID-webhooks-`, which no other tenant's name begins with. Worker and operator get every topic, the
materializer every topic that becomes rows. A new topic stays closed to the other roles until they name it here.

>>> from streams.settings import Settings
>>> [str(grant) for grant in grants(Role.ADVOCATE, Settings())][:3]
['Read topic sager.skill-diffs', 'Read topic sager.card-diffs', 'Read topic sager.cards']
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from schemas.topics import FROM_APPS, TOPICS
from streams.analytics.rows import PUBLIC_TOPICS
from streams.kafka.clients import unused_group
from streams.settings import Settings


class Role(StrEnum):
    """The clients of Kafka, each with a user or certificate of its own."""

    APP = "app"
    ANSWERS = "answers"
    IMPORTER = "importer"
    WORKER = "worker"
    MATERIALIZER = "materializer"
    ADVOCATE = "advocate"
    SERVE = "serve"
    RIGHTS = "rights"
    WEBHOOKS = "webhooks"
    ANALYST = "analyst"
    OPERATOR = "operator"


Kind = Literal["topic", "group"]
Operation = Literal["Read", "Write", "Describe", "DescribeConfigs", "Create", "Alter", "AlterConfigs"]
"""The operations that roles need. Read, Write and Alter imply Describe, which is not granted twice."""


class Grant(NamedTuple):
    """One allowed operation on the resource with this name."""

    kind: Kind
    name: str
    operation: Operation

    def __str__(self) -> str:
        return f"{self.operation} {self.kind} {self.name}"


ALL = tuple(TOPICS)
KEPT = tuple(topic.base for topic in PUBLIC_TOPICS)
"""The topics that become rows in DuckDB."""
_NEVER_WRITTEN_BY_WORKERS, _NEVER_READ_BY_WORKERS = ("items", "global-skills"), ("items", "dead-letters")
APP_ID = "{app_id}"
WEBHOOK_GROUPS = f"{APP_ID}-webhooks-"
"""The beginning of the groups of `sager webhooks`, one per endpoint: the only rule that is a prefix."""


@dataclass(frozen=True)
class Access:
    """The needs of a role: topics by the registry's names, of which it only describes `looks_at`, and consumer groups.

    `asks` are groups that it describes for their lag, and group names that librdkafka requires but never joins.
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
        "sends events, reads slim skills and the answers to its rank requests",
        reads=("rankings", "slim-skills"),
        writes=FROM_APPS,
        joins=(f"{APP_ID}-app",),
        asks=(unused_group("client"),),
    ),
    Role.ANSWERS: Access(
        "besides `app`, for `correct(..., wait=)`: reads the log of skills, with all users' words",
        reads=("skill-diffs",),
    ),
    Role.IMPORTER: Access(
        "`sager import`: sends histories, and reads which of them Kafka already holds",
        reads=("interactions", "rankings", "selections"),
        writes=("items", "interactions", "rankings", "selections"),
        looks_at=ALL,
        asks=(APP_ID, unused_group("scan")),
    ),
    Role.WORKER: Access(
        "`sager worker`: runs all agents, with the changelogs of their tables",
        reads=_without(ALL, _NEVER_READ_BY_WORKERS),
        writes=_without(ALL, _NEVER_WRITTEN_BY_WORKERS),
        looks_at=ALL,
        joins=(APP_ID,),
        asks=tuple(map(unused_group, ("global-skills", "weights", "item-memories", "oldest", "scan"))),
    ),
    Role.MATERIALIZER: Access(
        "`sager materialize`: writes public topics to DuckDB",
        reads=KEPT,
        writes=("dead-letters",),
        looks_at=KEPT,
        asks=(f"{APP_ID}-materializer",),
    ),
    Role.ADVOCATE: Access(
        "`sager policy`, `sager card` and `forget`: sends commands and requests, and reads their results",
        reads=("skill-diffs", "card-diffs", "cards", "receipts"),
        writes=("skill-commands", "card-commands", "corrections", "forget-requests"),
        asks=(unused_group("commands"), unused_group("scan")),
    ),
    Role.SERVE: Access(
        "`sager serve` and `sager console`: acts for apps and advocates with a token; reads skills too",
        reads=("card-diffs", "cards", "global-skills", "rankings", "receipts", "skill-diffs", "skills", "slim-skills"),
        writes=(*FROM_APPS, "skill-commands", "card-commands", "forget-requests"),
        asks=(unused_group("commands"), unused_group("http"), unused_group("scan")),
    ),
    Role.RIGHTS: Access(
        "besides `serve`, for exports, previews of an erasure, and dead letters: reads every topic",
        reads=ALL,
        writes=("dead-letters",),
        asks=(unused_group("scan"),),
    ),
    Role.WEBHOOKS: Access(
        "`sager webhooks`: follows slim skills, and commits the position of its endpoints",
        reads=("slim-skills",),
        joins=(WEBHOOK_GROUPS,),
        asks=(unused_group("scan"),),
    ),
    Role.ANALYST: Access("reads DuckDB, never Kafka"),
    Role.OPERATOR: Access(
        "creates the topics; runs doctor, dead letters, rebuild, global skills and weights",
        reads=ALL,
        writes=ALL,
        looks_at=ALL,
        asks=(APP_ID, unused_group("global-skills"), unused_group("commands"), unused_group("scan")),
        makes_topics=True,
    ),
}


def grants(role: Role, settings: Settings) -> tuple[Grant, ...]:
    """List the rules that a role needs in this deployment."""
    access = ROLES[role]
    made = ALL if access.makes_topics else ()
    topics: dict[Operation, tuple[str, ...]] = {
        "Read": access.reads,
        "Write": access.writes,
        "Describe": _without(access.looks_at, access.reads + access.writes),
        "DescribeConfigs": access.looks_at,
        "Create": made,
        "Alter": made,
        "AlterConfigs": made,
    }
    groups: dict[Operation, tuple[str, ...]] = {"Read": access.joins, "Describe": access.asks}
    return (
        *(Grant("topic", settings.topic(base), op) for op, bases in topics.items() for base in bases),
        *(Grant("group", each.replace(APP_ID, settings.app_id), op) for op, names in groups.items() for each in names),
    )


def union(roles: Iterable[Role], settings: Settings) -> tuple[Grant, ...]:
    """List the rules of several roles, each once."""
    return tuple(dict.fromkeys(grant for role in roles for grant in grants(role, settings)))


def by_resource(wanted: Iterable[Grant]) -> dict[tuple[Kind, str], tuple[Operation, ...]]:
    """Group rules by resource."""
    found: dict[tuple[Kind, str], tuple[Operation, ...]] = {}
    for grant in wanted:
        found[grant.kind, grant.name] = (*found.get((grant.kind, grant.name), ()), grant.operation)
    return found


def commands(wanted: Iterable[Grant], principal: str, bootstrap: str) -> list[str]:
    """Format rules as `kafka-acls.sh` commands, one for all resources with the same operations."""
    alike: dict[tuple[Kind, bool, tuple[Operation, ...]], list[str]] = {}
    for (kind, name), operations in by_resource(wanted).items():
        is_prefix = name.endswith(WEBHOOK_GROUPS.removeprefix(APP_ID))
        alike.setdefault((kind, is_prefix, operations), []).append(name)
    who = ["--bootstrap-server", bootstrap, "--command-config", "admin.properties"]
    return [
        shlex.join(
            [
                *["kafka-acls.sh", *who, "--add", "--allow-principal", principal],
                *(word for operation in operations for word in ("--operation", operation)),
                *(word for name in names for word in (f"--{kind}", name)),
                *(["--resource-pattern-type", "prefixed"] if is_prefix else []),
            ]
        )
        for (kind, is_prefix, operations), names in alike.items()
    ]
