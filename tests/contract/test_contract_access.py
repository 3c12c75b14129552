"""docs/access.md next to the code: what each role may do on Kafka, and what each request needs over HTTP."""

from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from sager_client import EventProducer
from schemas import TOPICS, SlimSkill
from streams.analytics.rows import PUBLIC_TOPICS
from streams.http.api import Api
from streams.http.app import application
from streams.http.limits import Gate
from streams.http.openapi import scopes_of
from streams.http.tokens import Scope, TokensFile
from streams.operations.acls import ROLES, KafkaRole, by_resource, commands, grants, union
from streams.settings import Settings
from tests.contract.test_contract_docs import ROOT, table

PAGE = ROOT / "docs" / "access.md"
SETTINGS = Settings(prefix="acme.", app_id="acme")


def told(names: tuple[str, ...]) -> str:
    """Topics as the table has them."""
    if len(names) <= len(TOPICS) / 2:
        return ", ".join(names) or "nothing"
    internal = any(TOPICS[name].internal for name in names)
    others = [name for name, topic in TOPICS.items() if name not in names and (internal or not topic.internal)]
    return " but ".join(filter(None, ["all" if internal else "all public", ", ".join(others)]))


def test_the_table_of_roles_is_what_is_granted() -> None:
    rows = [[cell.removesuffix(" |").strip("| ") for cell in row] for row in table(PAGE, "role")]

    assert rows == [
        [role, told(access.reads), told(access.writes), ", ".join(access.groups).replace("{app_id}", "SAGER_APP_ID")]
        for role, access in ROLES.items()
    ]


def test_the_table_of_requests_is_what_is_asked_for() -> None:
    rows = {row[0].partition("?")[0]: row[1] for row in table(ROOT / "docs" / "http.md", "request")}
    api = Api(SETTINGS, Gate(TokensFile(Path()), SETTINGS))
    asked = {
        f"{method} {route.path}": needed(route)
        for route in application(api).routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }

    assert rows == asked


def needed(route: APIRoute) -> str:
    """What a route describes_groups of a token, in words."""
    return " or ".join(" and ".join(scopes) for scopes in scopes_of(route)) or "any token"


def test_the_table_of_scopes_has_each() -> None:
    assert [row[0] for row in table(PAGE, "scope")] == list(Scope)


# --- what can be said of the rules without a broker


@pytest.mark.parametrize("role", list(KafkaRole))
def test_no_rule_reaches_beyond_the_tenant(role: KafkaRole) -> None:
    names = {
        kind: {grant.name for grant in grants(role, SETTINGS) if grant.kind == kind} for kind in ("topic", "group")
    }

    assert names["topic"] <= {topic.name("acme.") for topic in TOPICS.values()}
    shared = {name for name in names["group"] if name.startswith("sager-") and name.endswith("-unused")}
    assert names["group"] - shared <= {"acme", "acme-app", "acme-materializer", "acme-webhooks-"}
    assert {grant.operation for grant in grants(role, SETTINGS) if grant.name in shared} <= {"Describe"}
    assert len(set(grants(role, SETTINGS))) == len(grants(role, SETTINGS))


def test_changelogs_are_for_workers_the_operator_and_exports_alone() -> None:
    internal = {topic.name("acme.") for topic in TOPICS.values() if topic.internal}
    touch = {
        role
        for role in KafkaRole
        for grant in grants(role, SETTINGS)
        if grant.name in internal and grant.operation in ("Read", "Write")
    }

    assert touch == {KafkaRole.WORKER, KafkaRole.OPERATOR, KafkaRole.RIGHTS}


def test_a_new_topic_is_open_to_those_whom_it_must_be_open_to_and_closed_to_all_others() -> None:
    """By construction: the worker, the materializer and the operator take theirs from the registry."""
    assert set(ROLES[KafkaRole.WORKER].reads) == set(TOPICS) - {"items", "dead-letters"}
    assert set(ROLES[KafkaRole.MATERIALIZER].reads) == {topic.base for topic in PUBLIC_TOPICS}
    assert not any(TOPICS[base].internal for base in ROLES[KafkaRole.MATERIALIZER].reads)
    assert set(ROLES[KafkaRole.OPERATOR].writes) == set(TOPICS)


def test_the_python_client_reads_the_topics_of_its_roles_and_no_others() -> None:
    """Only an app that waits for the answer to a correction may read the log of skills."""
    with EventProducer("localhost:1") as events:
        assert set(ROLES[KafkaRole.APP].reads) == {events._rankings._model.TOPIC, SlimSkill.TOPIC}
        assert ROLES[KafkaRole.ANSWERS].reads == (events._diffs._model.TOPIC,)


def test_the_commands_for_kafkas_tool_say_all_that_is_granted() -> None:
    wanted = union([KafkaRole.APP, KafkaRole.ADVOCATE], SETTINGS)

    said = set()
    for line in commands(wanted, "User:the shop", "kafka:9092"):
        assert "--allow-principal 'User:the shop'" in line
        words = line.split()
        operations = [words[n + 1] for n, word in enumerate(words) if word == "--operation"]
        for kind in ("topic", "group"):
            names = [words[n + 1] for n, word in enumerate(words) if word == f"--{kind}"]
            said |= {(kind, name, operation) for name in names for operation in operations}

    assert said == {(grant.kind, grant.name, grant.operation) for grant in wanted}
    assert by_resource(wanted)["topic", "acme.skill-commands"] == ("Write",)
