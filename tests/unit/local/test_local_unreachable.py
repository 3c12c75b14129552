"""The advice of a command that cannot reach its broker."""

import pytest

from streams.exceptions import KafkaUnreachable
from streams.kafka.clients import client_config, reach
from streams.settings import Settings

NO_BROKER = "127.0.0.1:1"


def test_without_the_embedded_broker_the_advice_names_its_log_and_not_the_command_that_runs(tmp_path):
    settings = Settings(bootstrap=NO_BROKER, embedded=True, data_dir=tmp_path)

    with pytest.raises(KafkaUnreachable) as failed:
        reach(settings, 0.2)

    assert str(tmp_path / "logs" / "broker.log") in str(failed.value)
    assert "brings its own" not in str(failed.value)


def test_without_a_kafka_the_advice_names_the_settings_and_the_command_that_needs_none():
    with pytest.raises(KafkaUnreachable, match=r"SAGER_BOOTSTRAP.*`sager up` brings its own"):
        reach(Settings(bootstrap=NO_BROKER), 0.2)


@pytest.mark.parametrize("embedded", [True, False])
def test_no_client_asks_for_addresses_of_one_family_alone(embedded):
    """librdkafka then finds none where only the loopback interface is up."""
    assert "broker.address.family" not in client_config(Settings(embedded=embedded))
