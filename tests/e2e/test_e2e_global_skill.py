"""`sager global-skill` from the workers' table to the topic, as a user has them."""

import json

import pytest
from confluent_kafka import Producer

from operators.global_skill import GlobalLimits
from operators.statinit import observe
from schemas import GlobalSkill, Profile, compound_key, encode, topic_of
from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.operations.global_skills import build, publish, read_populations, read_published
from tests.builders import NOW, an_interaction, facts
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

    def test_every_user_counts_once_by_their_newest_profile_and_deleted_ones_not_at_all(self, settings):
        written_by_workers(settings, users=8, keep=6)
        written_by_workers(settings, users=3, domain="plays")

        found = read_populations(settings).populations
        assert {domain: population.users for domain, population in found.items()} == {"films": 6, "plays": 3}
        assert set(read_populations(settings, "plays").populations) == {"plays"}

    def test_a_profile_that_cannot_be_read_is_counted_and_the_rest_goes_on(self, settings):
        written_by_workers(settings, users=5)
        producer = Producer(producer_config(settings))
        record(producer, settings, "u9", "films", b"\xff{nonsense")
        producer.produce(settings.topic(Profile.TOPIC), key=b"\xff", value=b"{}", partition=0)
        assert producer.flush(30) == 0

        read = read_populations(settings)
        assert (read.unreadable, read.populations["films"].users) == (2, 5)

    def test_the_newest_global_skill_holds(self, settings):
        written_by_workers(settings, users=5)
        skills = build(read_populations(settings).populations.values(), NOW, GlobalLimits())
        publish(settings, skills)
        publish(settings, [skills[0].model_copy(update={"users": 99})])

        assert read_published(settings)["films"].users == 99
        assert topic_of(GlobalSkill).key_of(skills[0]) == b"films"

    def test_fewer_users_than_the_floor_leave_no_trace_but_their_number(self, settings, env):
        written_by_workers(settings, users=3)
        done = sager("global-skill", "build", "--json", env=env)

        assert done.returncode == 0, done.stderr
        assert "no taste is shared by 5 of its 3 users" in done.stderr
        [skill] = json.loads(done.stdout)
        assert skill["attributes"] == []
        assert "comedy" not in done.stdout

    def test_nothing_there_is_told_with_what_to_do(self, settings, env):
        nothing = sager("global-skill", "build", env=env)
        topics.ensure(settings)
        nobody = sager("global-skill", "build", "--domain", "films", env=env)

        assert "SAGER_PREFIX" in nothing.stderr
        assert "no user has a history in the domain 'films'" in nobody.stderr
        assert [done.returncode for done in (nothing, nobody)] == [1, 1]


@pytest.mark.parametrize("command", ["global-skill", "global-skill build"])
def test_help_shows_an_example(command):
    done = sager(*command.split(), "--help")

    assert done.returncode == 0
    assert f"sager {command}" in done.stdout.split("Example")[1]


@pytest.mark.parametrize("args", [["global-skill", "build", "--floor", "0"]])
def test_a_wrong_command_line_is_code_2(args):
    assert sager(*args).returncode == 2
