"""The access rules of each role, on an Apache Kafka that allows nothing else: all can do their work, and no more."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from typer.testing import CliRunner, Result

from benchmarks.surroundings import reached_as
from infra.kafka.kafka import Kafka
from infra.kafka.secured import Secured
from sager_client import EventProducer, SlimSkills
from schemas import TOPICS, SkillDiff
from streams.cli import app
from streams.exceptions import TopicsDiffer
from streams.kafka import topics
from streams.kafka.clients import client_config, no_group, producer_config
from streams.local.children import environment
from streams.operations.acls import ROLES, Grant, grants
from streams.settings import Settings
from tests.builders import slate
from tests.conftest import a_deployment, sasl_user, where_kafka_starts
from tests.harness import Harness

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker, pytest.mark.thorough]

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "false",
    # The plain listener is for the broker itself and the tests' own harness.
    "super.users": "User:ANONYMOUS;User:admin",
}
ADMIN = "admin"
DENIED, DONE = "TOPIC_AUTHORIZATION_FAILED", "done"
USER, DOMAIN = "ann", "films"


@dataclass(frozen=True)
class Tenants:
    """A deployment whose roles are users of their own, and a neighbour of whom they must know nothing."""

    harness: Harness
    secured: str
    files: Secured
    neighbour: Settings

    def as_role(self, role: str, settings: Settings | None = None) -> Settings:
        own = sasl_user(self.secured, self.files, role)
        return Settings(**{**(settings or self.harness.settings).model_dump(exclude_unset=True), **own})


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    folder = tmp_path_factory.mktemp("acls")
    with where_kafka_starts():
        files = Secured(folder / "pem", {name: uuid.uuid4().hex for name in (ADMIN, *ROLES)})
        kafka = Kafka(1, AUTHORIZER, log=folder / "kafka.log", secured=files)
    with kafka:
        common = {"bootstrap": kafka.bootstrap, "embedded": False, "partitions": 1}
        ours, neighbour = (a_deployment(folder, data_dir=folder / name, **common) for name in "ab")
        theirs = [NewTopic(neighbour.topic(base), 1, 1) for base in ("skill-diffs", "skill-commands")]
        plain = topics.admin(neighbour)
        for future in plain.create_topics(theirs).values():
            future.result(15)
        with Harness(ours) as harness:
            made = Tenants(harness, kafka.secured, files, neighbour)
            client = topics.admin(made.as_role(ADMIN))
            for role in ROLES:
                create(client, f"User:{role}", grants(role, harness.settings))
            harness.worker(**sasl_user(kafka.secured, files, "worker"))
            harness.start("materialize", **sasl_user(kafka.secured, files, "materializer"))
            yield made


def create(client: AdminClient, principal: str, wanted: Iterable[Grant]) -> None:
    names = {operation.name.replace("_", "").lower(): operation for operation in AclOperation}
    rules = [
        AclBinding(
            *(ResourceType[grant.kind.upper()], grant.name),
            *(
                ResourcePatternType.PREFIXED if grant.name.endswith("-") else ResourcePatternType.LITERAL,
                principal,
                "*",
            ),
            *(names[grant.operation.lower()], AclPermissionType.ALLOW),
        )
        for grant in wanted
    ]
    for future in client.create_acls(rules).values() if rules else ():
        future.result(15)


def sager(settings: Settings, *words: str) -> Result:
    return CliRunner().invoke(app, [*words], env={**environment(settings), "COLUMNS": "200"})


def written(settings: Settings, base: str) -> str:
    """What comes of a record on its way to a topic: done, or the name of Kafka's error."""
    told: list[str] = []
    producer = Producer(producer_config(settings))
    producer.produce(
        settings.topic(base),
        b"{}",
        partition=0,
        on_delivery=lambda error, _: told.append(error.name() if error else DONE),
    )
    producer.flush(15)
    return told[0] if told else "nothing"


def read(settings: Settings, base: str) -> str:
    name = settings.topic(base)
    consumer = Consumer(client_config(settings, **no_group("scan"), **{"enable.partition.eof": True}))
    try:
        if (unseen := consumer.list_topics(name, timeout=10).topics[name].error) is not None:
            return str(unseen.name())
        consumer.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
        for _ in range(50):
            message = consumer.poll(0.2)
            error = message.error() if message is not None else None
            if message is not None and (error is None or error.name() == "_PARTITION_EOF"):
                return DONE
            if error is not None and error.name() == DENIED:
                return DENIED
    finally:
        consumer.close()
    return "nothing"


def test_each_role_can_do_its_work(tenants: Tenants) -> None:
    harness, shop = tenants.harness, tenants.as_role("app")

    with EventProducer(connection=reached_as(shop)) as events:
        shown = slate(2)
        for _ in range(12):  # a line must prove itself
            events.selection(events.ranking(USER, DOMAIN, shown), shown[3]["item_id"])
        asked = events.rank_request(USER, DOMAIN, slate(9), "something calm")
    diffs = harness.count(SkillDiff, 12).diffs
    harness.until(
        lambda out: any(r.ranking_id == asked.request_id for r in out.values(TOPICS["rankings"].model)), "the ranking"
    )
    with SlimSkills(connection=reached_as(shop)) as slim:
        assert slim.skill(USER, DOMAIN) is not None
    line = diffs[-1].changes[0].attribute_id
    pinned = sager(
        tenants.as_role("advocate"),
        "policy",
        "pin",
        USER,
        line,
        "--domain",
        DOMAIN,
        "--actor",
        "their advocate",
    )
    assert pinned.exit_code == 0, pinned.stderr
    last = harness.count(SkillDiff, 13).diffs[-1]
    assert last.reasoned_by.reasoner == "command by their advocate"
    harness.assert_all_stores_agree()
    assert harness.outputs.dead_letters == []
    forgotten = sager(tenants.as_role("advocate"), "policy", "forget", USER, "--everything", "--actor", "ann", "--yes")
    assert forgotten.exit_code == 0, forgotten.stderr
    doctor = sager(tenants.as_role("operator"), "doctor")
    assert doctor.exit_code == 0, doctor.stdout
    assert "the brokers have an authorizer" in doctor.stdout


def test_each_user_can_use_only_its_own_topics(tenants: Tenants) -> None:
    reads = {
        "app": ("skill-diffs", "contrasts", "memories", "skills", "selections"),
        "advocate": ("interactions", "contrasts", "profiles"),
        "serve": ("contrasts", "memories", "selections"),
        "materializer": ("profiles", "memories"),
        "analyst": ("slim-skills",),
    }
    writes = {
        "app": ("skills", "skill-diffs", "skill-commands", "slim-skills"),
        "materializer": ("skills", "skill-diffs"),
        "advocate": ("selections", "skills"),
        "serve": ("skills", "slim-skills", "skill-diffs", "global-skills"),
        "worker": ("items", "global-skills"),
    }

    wrong = [f"{role} reads {b}" for role, bs in reads.items() for b in bs if read(tenants.as_role(role), b) != DENIED]
    wrong += [
        f"{role} writes {base}: {told}"
        for role, bases in writes.items()
        for base in bases
        if (told := written(tenants.as_role(role), base)) != DENIED
    ]

    assert wrong == []
    assert read(tenants.as_role("app"), "slim-skills") == DONE, "the question itself must be able to succeed"


def test_no_role_reaches_into_another_tenant(tenants: Tenants) -> None:
    theirs = {role: tenants.as_role(role, tenants.neighbour) for role in ROLES}

    told = {role: (read(each, "skill-diffs"), written(each, "skill-commands")) for role, each in theirs.items()}
    seen = {
        role: [name for name in topics.admin(each).list_topics(timeout=10).topics if name.startswith(each.prefix)]
        for role, each in theirs.items()
    }

    assert set(told.values()) <= {(DENIED, DENIED), (DENIED, "CLUSTER_AUTHORIZATION_FAILED")}, told
    assert not any(seen.values()), "a tenant's topics are not even known to be there"
    with pytest.raises(TopicsDiffer, match="grant the user Create"):
        topics.ensure(theirs["worker"])
