"""`sager global-skill` from the workers' table to the topic, as a user has them."""

import json

import pytest
from confluent_kafka import Producer

from operators.learning.prior import observe
from schemas import Profile, compound_key, encode
from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.operations.global_skills import read_published
from tests.builders import an_interaction, facts
from tests.e2e.cli_user import sager


@pytest.fixture
def env(settings):
    return {
        "SAGER_BOOTSTRAP": settings.bootstrap,
        "SAGER_PREFIX": settings.prefix,
        "SAGER_EMBEDDED": str(settings.embedded).lower(),
        "SAGER_DATA_DIR": str(settings.data_dir),
    }


def written_by_workers(settings, domain="films", users=8, keep=None):
    """What the agent `prior` leaves in the changelog: every state of every profile, the old ones too."""
    topics.ensure(settings)
    producer = Producer(producer_config(settings))
    for number in range(users):
        user, profile = f"u{number}", None
        # Everybody took horror first, which for half of them was a passing fancy.
        for value in ["horror"] * 3 + ["comedy" if number % 2 else "drama"] * 12:
            event = an_interaction(user_id=user, domain=domain)
            profile = observe(profile, event, facts(f"genre: {value}"))
            record(producer, settings, user, domain, encode(profile))
        if keep is not None and number >= keep:
            record(producer, settings, user, domain, None)
    assert producer.flush(30) == 0


def record(producer, settings, user, domain, value):
    producer.produce(
        settings.topic(Profile.TOPIC),
        key=compound_key(user, domain),
        value=value,
        partition=partition_of(user, settings.partitions),
    )


@pytest.mark.broker
class TestGlobalSkill:
    def test_build_publishes(self, settings, env):
        written_by_workers(settings)

        dry = sager("global-skill", "build", "--floor", "4", "--dry-run", env=env)
        assert dry.returncode == 0, dry.stderr
        assert "nothing was published" in dry.stdout
        assert read_published(settings) == {}

        done = sager("global-skill", "build", "--floor", "4", env=env)
        assert done.returncode == 0, done.stderr
        assert "published on" in done.stdout
        built = read_published(settings)["films"]
        assert built.users == 8
        assert built.shares["preference:genre:comedy"] == 0.5
        assert {line.value for line in built.attributes} >= {"comedy", "drama"}
        assert built.reasoned_by.reasoner == "rules"

    def test_fewer_users_than_the_floor_leave_no_trace_but_their_number(self, settings, env):
        written_by_workers(settings, users=3)
        done = sager("global-skill", "build", "--json", env=env)

        assert done.returncode == 0, done.stderr
        assert "no taste is shared by 5 of its 3 users" in done.stderr
        [skill] = json.loads(done.stdout)
        assert skill["attributes"] == []
        assert "comedy" not in done.stdout
