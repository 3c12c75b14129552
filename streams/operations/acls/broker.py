"""Compares the brokers' access rules with those that a principal needs, and creates them."""

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from streams.exceptions import StreamsError
from streams.operations.acls.roles import Grant, Kind, Operation

REQUEST_SECONDS = 15.0
ANY_HOST, EVERYBODY = "*", "User:*"
NO_RIGHT = "CLUSTER_AUTHORIZATION_FAILED"
ADVICE = {
    NO_RIGHT: "listing rules requires Describe on the cluster, and creating them requires Alter: "
    "run it as Kafka's administrator, or hand over the commands that `sager acls --principal` prints",
    "SECURITY_DISABLED": "the brokers have no authorizer and allow everything: set authorizer.class.name, and "
    "allow.everyone.if.no.acl.found=false",
}
_KINDS = {Kind.TOPIC: ResourceType.TOPIC, Kind.GROUP: ResourceType.GROUP}
_OPERATIONS = {
    Operation.READ: AclOperation.READ,
    Operation.WRITE: AclOperation.WRITE,
    Operation.DESCRIBE: AclOperation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS: AclOperation.DESCRIBE_CONFIGS,
    Operation.CREATE: AclOperation.CREATE,
    Operation.ALTER: AclOperation.ALTER,
    Operation.ALTER_CONFIGS: AclOperation.ALTER_CONFIGS,
}


class RulesRefused(StreamsError, RuntimeError):
    """The brokers refused to list or create access rules."""


@dataclass(frozen=True)
class Difference:
    """The rules that a principal lacks, and its extra ones, in words; rules for everybody count as its own."""

    missing: tuple[Grant, ...]
    besides: tuple[str, ...]


def create(client: AdminClient, principal: str, wanted: Iterable[Grant]) -> None:
    """Creates these rules; existing ones are kept.

    Raises:
        RulesRefused: the brokers did not create all of them.
    """
    rules = [_binding(principal, grant) for grant in wanted]
    if not rules:
        return
    try:
        asked = client.create_acls(rules, request_timeout=REQUEST_SECONDS)
        for future in asked.values():
            future.result(REQUEST_SECONDS + 1)
    except (KafkaException, TimeoutError) as error:
        raise _refused(error) from error


def compare(client: AdminClient, principal: str, wanted: Iterable[Grant]) -> Difference:
    """The difference between a principal's rules on the brokers and those that it needs.

    Raises:
        RulesRefused: the brokers do not list rules.
    """
    _may_list(client)
    wanted = tuple(wanted)
    found = [*_rules(client, principal), *_rules(client, EVERYBODY)]
    needed = {_binding(principal, grant): grant for grant in wanted}
    besides = sorted(_told(rule) for rule in found if rule not in needed)
    return Difference(tuple(grant for rule, grant in needed.items() if rule not in found), tuple(besides))


def _may_list(client: AdminClient) -> None:
    """Whether rules are listed. Without the right, librdkafka returns none and no error."""
    try:
        told = client.describe_cluster(include_authorized_operations=True, request_timeout=REQUEST_SECONDS)
        operations = told.result(REQUEST_SECONDS + 1).authorized_operations
    except (KafkaException, TimeoutError) as error:
        raise _refused(error) from error
    if AclOperation.DESCRIBE not in (operations or ()):
        raise RulesRefused(f"the brokers do not list rules. What to do: {ADVICE[NO_RIGHT]}")


def _rules(client: AdminClient, principal: str) -> list[AclBinding]:
    asked = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, principal, None, AclOperation.ANY, AclPermissionType.ANY
    )
    try:
        return list(client.describe_acls(asked, request_timeout=REQUEST_SECONDS).result(REQUEST_SECONDS + 1))
    except (KafkaException, TimeoutError) as error:
        raise _refused(error) from error


def _binding(principal: str, grant: Grant) -> AclBinding:
    return AclBinding(
        _KINDS[grant.kind],
        grant.name,
        ResourcePatternType.LITERAL,
        principal,
        ANY_HOST,
        _OPERATIONS[grant.operation],
        AclPermissionType.ALLOW,
    )


def _told(rule: AclBinding) -> str:
    pattern = "" if rule.resource_pattern_type is ResourcePatternType.LITERAL else "* (prefixed)"
    host = "" if rule.host == ANY_HOST else f" from {rule.host}"
    return (
        f"{rule.principal}: {rule.permission_type.name.lower()} {rule.operation.name.lower()} on "
        f"{rule.restype.name.lower()} {rule.name}{pattern}{host}"
    )


def _refused(error: Exception) -> RulesRefused:
    told = error.args[0] if isinstance(error, KafkaException) else None
    if told is None:
        return RulesRefused("the brokers did not answer about access rules in time")
    if told.name() in ADVICE:  # the broker's own message is about its internals
        return RulesRefused(f"the brokers refuse ({told.name()}). What to do: {ADVICE[told.name()]}")
    return RulesRefused(f"the brokers refuse: {told.str()}. Run `sager doctor` to examine them")
