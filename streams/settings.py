"""Configuration: `SAGER_*` environment variables, and an optional TOML file named by `SAGER_CONFIG`."""

import difflib
import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, FilePath, SecretStr, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from operators.numbers import DeclaredNumber
from operators.options import Category, EvolveMode
from streams.logs import LogFormat

SignalName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
NumberName = Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,19}$")]  # as in items
Weight = Annotated[float, Field(ge=-1, le=1)]
# PLAIN sends the password, SCRAM proves knowledge of it.
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
# How producers compress batches; every common client reads gzip.
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Author = Literal["rules", "llm"]

# Variables of clients of the HTTP API, which may run on another machine.
CLIENT_VARIABLES = ("SAGER_URL", "SAGER_TOKEN", "SAGER_MCP_USER", "SAGER_MCP_DOMAIN")
# Our variables that are no settings; those of the tests begin with SAGER_TEST_.
OTHER_VARIABLES = ("SAGER_CONFIG", "SAGER_PARENT_PID", *CLIENT_VARIABLES)
SECRET_LENGTH = 32  # characters that a secret of the deployment has at least


class UnknownSetting(SettingsError):
    """The TOML file has a key that is no setting."""


class SecurityProtocol(StrEnum):
    """Kafka's `security.protocol`."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def tls(self) -> bool:
        """True if connections are encrypted."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def sasl(self) -> bool:
        """True if brokers authenticate clients by user name and password."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class OnLlmFailure(StrEnum):
    """What happens to a contrast that the LLM does not answer."""

    RULES = "rules"
    WAIT = "wait"
    DEAD_LETTER = "dead-letter"


class Settings(BaseSettings):
    """All settings. `sager config` prints the effective values."""

    model_config = SettingsConfigDict(
        env_prefix="SAGER_", extra="ignore", frozen=True, populate_by_name=True, hide_input_in_errors=True
    )

    bootstrap: str = Field("localhost:9092", description="Kafka's bootstrap servers, comma separated.")
    prefix: str = Field("sager.", pattern=r"^[A-Za-z0-9._-]*$", max_length=100, description="Topic prefix, per tenant.")
    app_id: str = Field("sager", pattern=r"^[A-Za-z0-9._-]+$", description="The workers' group, per tenant.")
    partitions: int = Field(4, ge=1, le=1_000, description="Partitions of user-keyed topics; can never change later.")
    replication: int = Field(1, ge=1, le=10, description="Replication factor of the topics that we create.")
    compression: Compression = Field("gzip", description="none, gzip, snappy, lz4 or zstd.")
    embedded: bool = Field(False, description="The broker is the embedded one: work around its end offsets.")

    kafka_security_protocol: SecurityProtocol = Field(
        SecurityProtocol.PLAINTEXT, description="Or SSL, SASL_PLAINTEXT, SASL_SSL."
    )
    kafka_sasl_mechanism: SaslMechanism = Field("SCRAM-SHA-512", description="Or PLAIN, SCRAM-SHA-256.")
    kafka_sasl_username: str | None = Field(None, validate_default=True, description="SASL's user name.")
    kafka_sasl_password: SecretStr | None = Field(None, validate_default=True, description="Its password.")
    kafka_ssl_ca: FilePath | None = Field(None, description="PEM file of the brokers' authorities. [the system's]")
    kafka_ssl_certificate: FilePath | None = Field(None, description="PEM file of our client certificate.")
    kafka_ssl_key: FilePath | None = Field(None, validate_default=True, description="PEM file of its private key.")
    kafka_ssl_key_password: SecretStr | None = Field(None, description="The private key's password.")
    kafka_ssl_verify_hostname: bool = Field(True, description="A broker's certificate must name its host.")

    chain_key: SecretStr | None = Field(None, description="Secret that seals versions; the same for all processes.")
    pseudonym_key: SecretStr | None = Field(None, description="Secret of pseudonyms. [from SAGER_CHAIN_KEY]")

    data_dir: Path = Field(Path(".sager"), description="Folder of tables, DuckDB files and logs; one per worker.")
    group: str | None = Field(None, description="System group that may also read the data folder. [none]")
    store: Literal["memory", "rocksdb"] = Field("memory", description="Where tables live: memory, or rocksdb on disk.")
    standby_replicas: int = Field(0, ge=0, le=3, description="Spare copies of each table; the same for all workers.")
    duckdb: Path | None = Field(None, description="Analysts' DuckDB file; default DATA_DIR/sager.duckdb.")
    publish_seconds: float = Field(1.0, ge=0.2, description="How often analysts get a fresh DuckDB file.")
    batch_rows: int = Field(2_000, ge=1, description="Most records in one DuckDB transaction.")
    batch_seconds: float = Field(0.5, gt=0, description="Longest wait before a DuckDB transaction.")

    reasoner: Author = Field("rules", description="The reasoner: rules, or llm.")
    on_llm_failure: OnLlmFailure = Field(OnLlmFailure.RULES, description="Without answer: rules, wait, dead-letter.")
    verdict_weight: float = Field(0.25, ge=0, le=1, description="A model's verdict, as a part of a choice.")
    llm_base_url: str | None = Field(
        None,
        pattern=r"^https?://([^\s/@]*@)?[^\s/:@]+(:\d+)?(/\S*)?$",
        description="An OpenAI-compatible endpoint; OPENAI_BASE_URL is read too. [OpenAI's own]",
        validation_alias=AliasChoices("SAGER_LLM_BASE_URL", "OPENAI_BASE_URL", "llm_base_url"),
    )
    llm_api_key: SecretStr | None = Field(
        None,
        description="Its key; OPENAI_API_KEY is read too.",
        validation_alias=AliasChoices("SAGER_LLM_API_KEY", "OPENAI_API_KEY", "llm_api_key"),
    )
    llm_model: str = Field("gpt-4o-mini", description="The model's name at the endpoint.")
    llm_timeout_seconds: float = Field(30.0, gt=0, description="Timeout of one call to the model.")
    llm_attempts: int = Field(3, ge=1, le=10, description="Calls per contrast before it is given up.")
    llm_sizes_in_schema: bool = Field(False, description="Send maxLength and maxItems: for llama.cpp and vLLM.")
    llm_retry_seconds: float = Field(30.0, ge=0, description="Longest wait between two attempts.")
    llm_breaker_failures: int = Field(5, ge=0, description="Failures in a row that open the breaker; 0: never.")
    llm_breaker_seconds: float = Field(1.0, gt=0, description="First pause of an open breaker; it doubles.")
    llm_breaker_max_seconds: float = Field(60.0, gt=0, description="Longest pause, unless Retry-After asks for more.")
    llm_price_prompt: float = Field(0.0, ge=0, description="USD per million prompt tokens, for cost reports.")
    llm_price_completion: float = Field(0.0, ge=0, description="USD per million completion tokens.")
    llm_daily_budget: float = Field(0.0, ge=0, description="USD a day; more raises an alert. [0: no limit]")

    retrieve: bool = Field(True, description="Read collaborative facets when ranking.")
    propagate: bool = Field(True, description="Let choices flow through the user-item graph.")
    support_floor: int = Field(2, ge=1, le=31, description="Fewest other users behind a facet or companion.")
    fan_out: int = Field(5, ge=0, le=16, description="Further items of the user that a choice updates.")
    graph_flush_seconds: float = Field(2.0, ge=0, le=60, description="Interval between writes of changed graph items.")
    weights_flush_seconds: float = Field(1.0, ge=0, le=60, description="Interval between published weights.")
    graph_items: int = Field(1_000_000, ge=100, description="Items that the graph keeps; the oldest leave first.")
    enrich: Literal["off", "llm"] = Field("off", description="llm: a model quotes facts from items' texts, once each.")
    extract_by: Author = Field("rules", description="Selects the slim skill's lines: rules, or llm.")
    task_slim: bool = Field(True, description="Likes that a request asks for come first in its slim skill.")
    ranker: Literal["deterministic", "listwise"] = Field("deterministic", description="Or listwise, by an LLM.")
    rank_orders: int = Field(2, ge=1, le=8, description="Presentation orders that an LLM's ranking averages.")
    rank_reasons: bool = Field(False, description="Store an LLM's reason for each ranked item, of lists up to 20.")
    rank_skill: Literal["full", "none"] = Field("full", description="Lines that rank; a model reads the slim skill.")
    statinit: bool = Field(True, description="Start skills from a user's history.")
    cold_start: bool = Field(True, description="Start users without history from the domain's global skill.")
    evolve_mode: EvolveMode = Field(EvolveMode.EVIDENCE, description="evidence, or paper: tiers by its rule.")
    warmup_rounds: int | None = Field(None, ge=0, description="Choices after which a skill is frozen. [never]")

    in_flight: int = Field(64, ge=1, le=4_096, description="Contrasts, rank requests and model calls at once.")
    slim_tokens: int = Field(30, ge=10, le=200, description="Token budget of a slim skill.")
    open_rankings: int = Field(128, ge=8, le=512, description="Rankings per user that wait for a selection.")
    waiting_selections: int = Field(256, ge=8, le=512, description="Selections per user without a ranking.")
    parsers: dict[str, str] = Field(default_factory=dict, description='Parser per domain, as {"films": "movietv"}.')
    numbers: dict[str, dict[NumberName, DeclaredNumber]] = Field(
        default_factory=dict, description="Units, words, directions and codes per domain (docs/domains.md)."
    )
    signals: dict[SignalName, Weight] = Field(
        default_factory=dict, max_length=64, description='Weights, -1 to 1, as {"shared": 0.5}.'
    )
    listen_tokens: int = Field(1_000, ge=50, le=8_000, description="Tokens of a conversation processed together.")
    listen_silence_seconds: float = Field(300.0, ge=0.5, le=86_400, description="Silence that ends a chunk.")
    listen_memory: bool = Field(False, description="Show the card to the model that reads conversations.")
    session_idle_seconds: float = Field(7_200, ge=60, le=604_800, description="Silence that ends a session.")
    session_weight: float = Field(0.5, ge=0, le=8, description="Weight of a session's choices beside the long term.")
    privacy: bool = Field(True, description="Keep personal data and sensitive categories out of skills.")
    sensitive: dict[str, frozenset[Category]] = Field(
        default_factory=dict, description='As {"books": ["religion"]}: learnable.'
    )

    vouched: FilePath | None = Field(None, description="File of values that may always reach models, one a line.")

    session_seconds: float = Field(10.0, ge=1, description="A worker silent for this long counts as dead.")
    rebalance_seconds: float = Field(60.0, ge=1, description="Longest wait for in-flight events on a rebalance.")
    commit_seconds: float = Field(0.5, gt=0, description="How often finished events are committed.")
    linger_seconds: float = Field(0.002, ge=0, description="How long the producer waits to fill a batch.")
    shutdown_seconds: float = Field(30.0, gt=0, description="Deadline of a graceful shutdown.")
    watchdog_seconds: float = Field(120.0, gt=0, description="Exit after lag without progress for this long.")

    http_tokens: Path | None = Field(None, description="TOML file of the API's tokens; /metrics requires one, too.")
    http_host: str = Field("127.0.0.1", description="Where `sager serve` listens.")
    http_port: int = Field(8088, ge=1, le=65_535, description="Its port.")
    http_certificate: FilePath | None = Field(None, description="PEM file of its certificate, for TLS.")
    http_key: FilePath | None = Field(None, validate_default=True, description="PEM file of its private key.")
    http_rate: float = Field(20.0, gt=0, description="Per-token rate limit, requests a second.")
    http_burst: int = Field(40, ge=1, description="Burst of that rate limit.")
    http_failures: float = Field(30.0, gt=0, description="Failed attempts a minute per address; then 429.")
    http_request_seconds: float = Field(10.0, gt=0, description="Time to send a request; then 408.")
    http_idle_seconds: float = Field(30.0, gt=0, description="A connection idle for this long is closed.")
    http_connections: int = Field(512, ge=1, description="Connections at once, an address half; then 503.")
    http_wait_seconds: float = Field(10.0, ge=0, le=60, description="Longest wait for a worker to apply a change.")

    webhooks: Path | None = Field(None, description="TOML file of the endpoints of `sager webhooks`.")

    console_hosts: str | None = Field(None, description="Further host names of the console, comma separated.")

    metrics_host: str = Field("127.0.0.1", description="Where metrics and health are served.")
    metrics_port: int = Field(0, ge=0, le=65_535, description="Port of metrics and health; 0: none.")
    log_format: LogFormat = Field("text", description="How all processes log: text, or json, an object a line.")
    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="Lowest level that is logged.")

    @field_validator("*", mode="before")
    @classmethod
    def _check_not_empty(cls, value: Any, info: ValidationInfo) -> Any:
        # SAGER_DUCKDB= unsets a value without a default. An empty value elsewhere is a mistake.
        name = info.field_name or ""
        if value != "" or name == "prefix":
            return value
        default = cls.model_fields[name].default
        if default is not None:
            raise PydanticCustomError("empty", "is empty: give it a value, or unset it to have the default")
        return None

    @field_validator("chain_key", "pseudonym_key")
    @classmethod
    def _check_length(cls, value: SecretStr | None) -> SecretStr | None:
        # A short secret can be guessed from the seals and pseudonyms on topics that others may read.
        if value is not None and (length := len(value)) < SECRET_LENGTH:
            raise PydanticCustomError(
                "short_secret",
                f"has {length} characters and needs {SECRET_LENGTH} or more: `openssl rand -hex 32` makes a good one",
            )
        return value

    @field_validator(
        *("kafka_sasl_username", "kafka_sasl_password"),
        *("kafka_ssl_ca", "kafka_ssl_certificate", "kafka_ssl_key", "kafka_ssl_key_password"),
    )
    @classmethod
    def _check_security(cls, value: Any, info: ValidationInfo) -> Any:
        # Passwords and certificates that the protocol never uses would leave the connection open unnoticed.
        protocol: SecurityProtocol | None = info.data.get("kafka_security_protocol")
        if protocol is None:
            return value
        is_sasl = "sasl" in (info.field_name or "")
        users = "SASL_SSL and SASL_PLAINTEXT" if is_sasl else "SASL_SSL and SSL"
        wrong = ""
        if value and not (protocol.sasl if is_sasl else protocol.tls):
            wrong = f"is set, but only {users} use it"
        elif is_sasl and protocol.sasl and not value:
            wrong = "is missing: SASL needs it"
        if wrong:
            raise PydanticCustomError("security", f"{wrong} (SAGER_KAFKA_SECURITY_PROTOCOL is {protocol.value})")
        return value

    @field_validator("kafka_ssl_key", "http_key")
    @classmethod
    def _check_key_has_certificate(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        other = "http_certificate" if info.field_name == "http_key" else "kafka_ssl_certificate"
        if other in info.data and (value is None) is not (info.data[other] is None):
            raise PydanticCustomError("pair", f"and SAGER_{other.upper()} go together; one of them is not set")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read arguments first, then the environment, then the TOML file."""
        file = os.environ.get("SAGER_CONFIG")
        toml = (KnownToml(settings_cls, Path(file)),) if file else ()
        return (init_settings, env_settings, *toml)

    @property
    def chain_key_bytes(self) -> bytes:
        """The bytes of `chain_key`, which seal versions; empty without a key."""
        return self.chain_key.get_secret_value().encode() if self.chain_key else b""

    @property
    def event_key_bytes(self) -> bytes:
        """The key of digests of erased events; empty without a key."""
        from operators.seals import derived_key  # noqa: PLC0415 - commands that seal nothing start without it

        return derived_key(self.chain_key_bytes, "forgotten events") if self.chain_key else b""

    @property
    def duckdb_file(self) -> Path:
        """The DuckDB file that analysts open, read-only."""
        return self.duckdb or self.data_dir / "sager.duckdb"

    def llm_cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of these tokens in US dollars."""
        return (prompt_tokens * self.llm_price_prompt + completion_tokens * self.llm_price_completion) / 1_000_000

    def topic(self, base: str) -> str:
        """Return the full name of a topic of the registry."""
        return self.prefix + base


class KnownToml(TomlConfigSettingsSource):
    """A TOML file; each of its keys must be a setting."""

    def _read_files(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super()._read_files(*args, **kwargs)
        known = Settings.model_fields
        unknown = [f"{key!r} is no setting{nearest(key, known)}" for key in found if key not in known]
        if unknown:
            raise UnknownSetting(
                f"{os.environ.get('SAGER_CONFIG')}: {'; '.join(unknown)}. Keys are the variables' names without "
                "SAGER_, in lower case; `sager config` lists them"
            )
        return found


def unknown_variables(environment: Iterable[str]) -> list[str]:
    """Return a warning for each SAGER_* variable that is no setting."""
    known = {f"SAGER_{name.upper()}" for name in Settings.model_fields}.union(OTHER_VARIABLES)
    return [
        f"{name} is no setting{nearest(name.upper(), known)}"
        for name in sorted(environment)
        if name.upper().startswith("SAGER_") and name.upper() not in known and not name.startswith("SAGER_TEST_")
    ]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a suggestion in brackets; empty if no name is near."""
    found = difflib.get_close_matches(name, sorted(known), 1, 0.8)  # high: all variables share their beginning
    return f" (did you mean {found[0]}?)" if found else ""
