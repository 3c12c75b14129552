"""The minimal Kafka ACLs of each role.

Worker and operator get every topic, the materializer every topic that becomes rows. A new topic is closed to other
roles until they list it here.

>>> from streams.settings import Settings
>>> [str(grant) for grant in grants("advocate", Settings())][:3]
['Read topic sager.skill-diffs', 'Read topic sager.card-diffs', 'Read topic sager.cards']
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from schemas.items import Item
from schemas.topics import APP_TOPICS, TOPICS
from streams.analytics.rows import PUBLIC_TOPICS
from streams.kafka.clients import unused_group
from streams.settings import Settings

Kind = Literal["topic", "group"]
# Read, Write and Alter imply Describe, so it is not granted twice.
Operation = Literal["Read", "Write", "Describe", "DescribeConfigs", "Create", "Alter", "AlterConfigs"]


class Grant(NamedTuple):
    """An allowed operation on a resource."""

    kind: Kind
    name: str
    operation: Operation

    def __str__(self) -> str:
        return f"{self.operation} {self.kind} {self.name}"


ALL_TOPICS = tuple(TOPICS)
STORED_TOPICS = tuple(topic.base for topic in PUBLIC_TOPICS)  # stored as rows in DuckDB
_NEVER_WRITTEN_BY_WORKERS, _NEVER_READ_BY_WORKERS = ("items", "global-skills"), ("dead-letters",)
APP_ID = "{app_id}"
# Prefix of the groups of `sager webhooks`, one per endpoint. All other rules are literal: a prefix would also match
# tenants whose names start alike.
WEBHOOK_GROUPS = f"{APP_ID}-webhooks-"


@dataclass(frozen=True)
class Access:
    """The topics and consumer groups that a role needs."""

    purpose: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    describes: tuple[str, ...] = ()  # only for their partitions
    groups: tuple[str, ...] = ()
    # Groups whose lag it reads, and names that librdkafka requires of clients without a group.
    describes_groups: tuple[str, ...] = ()
    creates_topics: bool = False


def _without(names: Iterable[str], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)


ROLES: dict[str, Access] = {
    "app": Access(
        "sends events, reads slim skills and the answers to its rank requests",
        reads=("rankings", "slim-skills"),
        writes=APP_TOPICS,
        groups=(f"{APP_ID}-app",),
        describes_groups=(unused_group("client"),),
    ),
    "importer": Access(
        "`sager import`: sends histories, and reads which of them Kafka already holds",
        reads=("interactions", "rankings", "selections"),
        writes=("items", "interactions", "rankings", "selections"),
        describes=ALL_TOPICS,
        describes_groups=(APP_ID, unused_group("scan")),
    ),
    "worker": Access(
        "`sager worker`: runs all agents, with the changelogs of their tables",
        reads=_without(ALL_TOPICS, _NEVER_READ_BY_WORKERS),
        writes=_without(ALL_TOPICS, _NEVER_WRITTEN_BY_WORKERS),
        describes=ALL_TOPICS,
        groups=(APP_ID,),
        describes_groups=tuple(
            map(unused_group, ("global-skills", "weights", "item-memories", "items", "oldest", "scan"))
        ),
    ),
    "materializer": Access(
        "`sager materialize`: writes public topics to DuckDB",
        reads=STORED_TOPICS,
        writes=("dead-letters",),
        describes=STORED_TOPICS,
        describes_groups=(f"{APP_ID}-materializer",),
    ),
    "advocate": Access(
        "`sager policy`: sends commands and requests, and reads their results",
        reads=("skill-diffs", "card-diffs", "cards", "receipts"),
        writes=("skill-commands", "card-commands", "corrections", "forget-requests"),
        describes_groups=(unused_group("commands"), unused_group("scan")),
    ),
    "serve": Access(
        "`sager serve` and `sager console`: acts for apps and advocates with a token; reads skills too",
        reads=("card-diffs", "cards", "global-skills", "rankings", "receipts", "skill-diffs", "skills", "slim-skills"),
        writes=(*APP_TOPICS, "skill-commands", "card-commands", "forget-requests"),
        describes_groups=(unused_group("commands"), unused_group("http"), unused_group("scan")),
    ),
    "rights": Access(
        "besides `serve`, for exports and previews of an erasure: reads every topic",
        reads=ALL_TOPICS,
        describes_groups=(unused_group("scan"),),
    ),
    "webhooks": Access(
        "`sager webhooks`: follows slim skills, and commits the position of its endpoints",
        reads=("slim-skills",),
        groups=(WEBHOOK_GROUPS,),
        describes_groups=(unused_group("scan"),),
    ),
    "analyst": Access("reads DuckDB, never Kafka"),
    "operator": Access(
        "creates the topics; runs doctor, dead letters, rebuild, global skills and weights",
        reads=ALL_TOPICS,
        writes=ALL_TOPICS,
        describes=ALL_TOPICS,
        describes_groups=(APP_ID, unused_group("global-skills"), unused_group("commands"), unused_group("scan")),
        creates_topics=True,
    ),
}


def grants(role: str, settings: Settings) -> tuple[Grant, ...]:
    """Return the rules of a role in this deployment."""
    access = ROLES[role]
    if role == "worker" and settings.enrich == "llm":
        access = replace(access, writes=(Item.TOPIC, *access.writes))
    created = ALL_TOPICS if access.creates_topics else ()
    topics: dict[Operation, tuple[str, ...]] = {
        "Read": access.reads,
        "Write": access.writes,
        "Describe": _without(access.describes, access.reads + access.writes),
        "DescribeConfigs": access.describes,
        "Create": created,
        "Alter": created,
        "AlterConfigs": created,
    }
    groups: dict[Operation, tuple[str, ...]] = {"Read": access.groups, "Describe": access.describes_groups}
    return (
        *(Grant("topic", settings.topic(base), op) for op, bases in topics.items() for base in bases),
        *(Grant("group", each.replace(APP_ID, settings.app_id), op) for op, names in groups.items() for each in names),
    )


def union(roles: Iterable[str], settings: Settings) -> tuple[Grant, ...]:
    """Return the rules of several roles without duplicates."""
    return tuple(dict.fromkeys(grant for role in roles for grant in grants(role, settings)))


def by_resource(wanted: Iterable[Grant]) -> dict[tuple[Kind, str], tuple[Operation, ...]]:
    """Group rules by resource."""
    found: dict[tuple[Kind, str], tuple[Operation, ...]] = {}
    for grant in wanted:
        found[grant.kind, grant.name] = (*found.get((grant.kind, grant.name), ()), grant.operation)
    return found


def commands(wanted: Iterable[Grant], principal: str, bootstrap: str) -> list[str]:
    """Format rules as `kafka-acls.sh` commands, one per set of operations."""
    alike: dict[tuple[Kind, bool, tuple[Operation, ...]], list[str]] = {}
    for (kind, name), operations in by_resource(wanted).items():
        is_prefix = name.endswith(WEBHOOK_GROUPS.removeprefix(APP_ID))
        alike.setdefault((kind, is_prefix, operations), []).append(name)
    connection = ["--bootstrap-server", bootstrap, "--command-config", "admin.properties"]
    return [
        shlex.join(
            [
                *["kafka-acls.sh", *connection, "--add", "--allow-principal", principal],
                *(word for operation in operations for word in ("--operation", operation)),
                *(word for name in names for word in (f"--{kind}", name)),
                *(["--resource-pattern-type", "prefixed"] if is_prefix else []),
            ]
        )
        for (kind, is_prefix, operations), names in alike.items()
    ]
