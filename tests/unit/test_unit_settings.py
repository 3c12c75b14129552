"""What is wrong with a configuration is told, with what was probably meant."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from streams.settings import Settings, UnknownSetting, unknown_variables


def test_an_unknown_key_of_the_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sager.toml"
    monkeypatch.setenv("SAGER_CONFIG", str(file))
    file.write_text('partition = 8\nllm_base_url = "http://localhost:1/v1"\n')
    with pytest.raises(UnknownSetting, match=r"'partition' is no setting \(did you mean partitions\?\)"):
        Settings()
    file.write_text('partitions = 8\nllm_base_url = "http://localhost:1/v1"\n')
    assert Settings().partitions == 8


def test_unknown_variables_are_warned_of_with_the_nearest_name() -> None:
    told = unknown_variables(["SAGER_BOOTSTRAPS", "SAGER_ZZZ", "SAGER_CONFIG", "SAGER_TEST_BROKER", "sager_prefix"])
    assert told == ["SAGER_BOOTSTRAPS is no setting (did you mean SAGER_BOOTSTRAP?)", "SAGER_ZZZ is no setting"]


@pytest.mark.parametrize("name", ["BOOTSTRAP", "PARTITIONS", "DATA_DIR", "COMPRESSION"])
def test_an_empty_setting_is_refused_where_it_has_a_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"SAGER_{name}", "")
    with pytest.raises(ValidationError, match="is empty: give it a value, or unset it"):
        Settings()


def test_an_empty_setting_unsets_what_has_no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SAGER_DUCKDB", "SAGER_KAFKA_SSL_CA", "SAGER_PREFIX", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "")
    found = Settings()
    assert (found.duckdb, found.kafka_ssl_ca, found.prefix, found.llm_api_key) == (None, None, "", None)


@pytest.mark.parametrize("url", ["localhost:8080/v1", "ftp://host/v1", "http://", "http://u:secret@host:port/v1"])
def test_an_endpoint_that_is_no_address_is_refused_and_not_repeated(url, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ValidationError, match="should match pattern") as refused:
        Settings()
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["CHAIN_KEY", "PSEUDONYM_KEY"])
def test_a_short_secret_is_refused_with_a_way_to_make_a_good_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"SAGER_{name}", "7" * 31)
    with pytest.raises(ValidationError, match="has 31 characters and needs 32 or more: `openssl rand -hex 32`") as told:
        Settings()
    assert "777" not in str(told.value)

    monkeypatch.setenv(f"SAGER_{name}", "7" * 32)
    assert getattr(Settings(), name.lower()).get_secret_value() == "7" * 32
