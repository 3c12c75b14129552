"""The access, threat model and rights pages list every topic, role, scope, process and retention of the code."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from infra.compose import services
from sager_client import EventProducer, SlimSkills
from schemas import TOPICS
from streams.analytics.rows import PUBLIC_TOPICS
from streams.http.api import Api
from streams.http.app import application
from streams.http.limits import Gate
from streams.http.openapi import scopes_of
from streams.http.tokens import Scope, TokensFile
from streams.operations.acls import ROLES, Grant, by_resource, commands, grants, union
from streams.settings import Settings
from tests.contract.test_contract_docs import ROOT, table

ACCESS, THREATS = ROOT / "docs" / "access.md", ROOT / "docs" / "threat-model.md"
SETTINGS = Settings(prefix="acme.", app_id="acme")


def documented(names: tuple[str, ...]) -> str:
    if len(names) <= len(TOPICS) / 2:
        return ", ".join(names) or "nothing"
    internal = any(TOPICS[name].internal for name in names)
    others = [name for name, topic in TOPICS.items() if name not in names and (internal or not topic.internal)]
    return " but ".join(filter(None, ["all" if internal else "all public", ", ".join(others)]))


def test_the_table_of_roles_matches_their_grants() -> None:
    rows = [[cell.removesuffix(" |").strip("| ") for cell in row] for row in table(ACCESS, "role")]

    assert rows == [
        [role, documented(to.reads), documented(to.writes), ", ".join(to.groups).replace("{app_id}", "SAGER_APP_ID")]
        for role, to in ROLES.items()
    ]


def test_the_table_of_requests_matches_the_scopes_of_the_routes() -> None:
    rows = {row[0].partition("?")[0]: row[1] for row in table(ROOT / "docs" / "http.md", "request")}
    api = Api(SETTINGS, Gate(TokensFile(Path()), SETTINGS))

    assert rows == {
        f"{method} {route.path}": " or ".join(" and ".join(scopes) for scopes in scopes_of(route)) or "any token"
        for route in application(api).routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }


@pytest.mark.parametrize("page", [ACCESS, THREATS], ids=lambda page: page.stem)
def test_every_scope_is_documented(page: Path) -> None:
    assert [row[0] for row in table(page, "scope")] == list(Scope)


# --- grants, without a broker


@pytest.mark.parametrize("role", list(ROLES))
def test_no_role_reaches_another_tenant(role: str) -> None:
    given = grants(role, SETTINGS)
    groups = {grant.name for grant in given if grant.kind == "group"}
    shared = {name for name in groups if name.startswith("sager-") and name.endswith("-unused")}

    assert {grant.name for grant in given if grant.kind == "topic"} <= {
        topic.name("acme.") for topic in TOPICS.values()
    }
    assert groups - shared <= {"acme", "acme-app", "acme-materializer", "acme-webhooks-"}
    assert {grant.operation for grant in given if grant.name in shared} <= {"Describe"}
    assert len(set(given)) == len(given)


def test_only_workers_the_operator_and_exports_use_changelogs() -> None:
    internal = {topic.name("acme.") for topic in TOPICS.values() if topic.internal}

    assert {
        role
        for role in ROLES
        for grant in grants(role, SETTINGS)
        if grant.name in internal and grant.operation in ("Read", "Write")
    } == {"worker", "operator", "rights"}


def test_workers_write_items_only_if_they_add_facts() -> None:
    may = [
        Grant("topic", "acme.items", "Write") in grants("worker", SETTINGS.model_copy(update={"enrich": enrich}))
        for enrich in ("off", "llm")
    ]

    assert may == [False, True]


def test_roles_take_new_topics_from_the_registry() -> None:
    materializer = set(ROLES["materializer"].reads)

    assert set(ROLES["worker"].reads) == set(TOPICS) - {"dead-letters"}
    assert materializer == {topic.base for topic in PUBLIC_TOPICS}
    assert not any(TOPICS[base].internal for base in materializer)
    assert set(ROLES["operator"].writes) == set(TOPICS)


def test_the_python_client_reads_only_the_topics_of_its_roles() -> None:
    with EventProducer("localhost:1") as events, SlimSkills("localhost:1") as skills:
        names = {client._follower._name for client in (events._rankings, skills)}

    assert {f"sager.{base}" for base in ROLES["app"].reads} == names


def test_the_acl_commands_name_every_grant() -> None:
    wanted = union(["app", "advocate"], SETTINGS)

    named = set()
    for line in commands(wanted, "User:the shop", "kafka:9092"):
        assert "--allow-principal 'User:the shop'" in line
        options = re.findall(r"--(topic|group|operation) (\S+)", line)
        operations = [value for option, value in options if option == "operation"]
        named |= {(kind, value, each) for kind, value in options if kind != "operation" for each in operations}

    assert named == {(grant.kind, grant.name, grant.operation) for grant in wanted}
    assert by_resource(wanted)["topic", "acme.skill-commands"] == ("Write",)


# --- the threat model and the rights


def rows(first_column: str) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in table(THREATS, first_column)}


def test_the_threat_model_lists_the_writers_of_every_topic() -> None:
    writers: dict[str, set[str]] = {topic.name("acme."): set() for topic in TOPICS.values()}
    for role in ROLES:
        for grant in grants(role, SETTINGS):
            if grant.kind == "topic" and grant.operation == "Write":
                writers[grant.name].add(role)

    assert {f"acme.{base}": set(row[0].split(", ")) for base, row in rows("topic").items()} == writers


def test_the_threat_model_lists_every_process_and_role() -> None:
    listed = {word for row in rows("who") for word in re.findall(r"[a-z]+", row)}

    assert {name.partition(" ")[0] for name in rows("process")} == set(services({}))
    assert set(ROLES) <= listed


@pytest.mark.parametrize("first_column", ["topic", "scope", "process", "who"])
def test_the_threat_model_has_no_empty_cell(first_column: str) -> None:
    assert [row for row in rows(first_column).values() if not all(cell.strip(" |") for cell in row[:2])] == []


def test_the_rights_page_lists_the_retention_of_every_topic() -> None:
    page = (ROOT / "docs" / "rights.md").read_text(encoding="utf-8")

    assert dict(re.findall(r"^\| `([a-z-]+)` \| (\d+) days \|$", page, re.MULTILINE)) == {
        topic.base: str(topic.retention // timedelta(days=1))
        for topic in TOPICS.values()
        if topic.retention is not None
    }


def test_topics_without_a_retention_are_compacted() -> None:
    # A tombstone erases nothing from a topic that is not compacted.
    assert [topic.base for topic in TOPICS.values() if topic.retention is None and not topic.compact] == []
