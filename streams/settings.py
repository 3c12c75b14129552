"""Configuration: `SAGER_*` environment variables, and an optional TOML file named by `SAGER_CONFIG`."""

import difflib
import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, FilePath, SecretStr, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from operators.options import Category, EvolveMode, RankSkill
from streams.logs import LogFormat

PRICED_TOKENS = 1_000_000
"""LLM prices are per this many tokens."""

SignalName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Weight = Annotated[float, Field(ge=-1, le=1)]

CLIENT_VARIABLES = ("SAGER_URL", "SAGER_TOKEN", "SAGER_MCP_USER", "SAGER_MCP_DOMAIN")
"""Variables of clients of the HTTP API, which may run on another machine."""
OTHER_VARIABLES = ("SAGER_CONFIG", "SAGER_PARENT_PID", *CLIENT_VARIABLES)
"""Variables of ours that are no settings; beside them those of the tests, which begin with SAGER_TEST_."""
MAY_BE_EMPTY = frozenset({"prefix"})
SECRET_LENGTH = 32
"""Characters that a secret of the deployment has at least."""
NEAR = 0.8
"""Similarity from which a name is suggested; all variables share their beginning."""


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


class SaslMechanism(StrEnum):
    """Kafka's `sasl.mechanism`: PLAIN sends the password, SCRAM proves knowledge of it."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


class Compression(StrEnum):
    """How producers compress batches. Every common client reads gzip; KafkaJS reads no other without an add-on."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Store(StrEnum):
    """The store of a worker's tables; the changelog topics hold them in either case."""

    MEMORY = "memory"
    ROCKSDB = "rocksdb"


class ReasonerName(StrEnum):
    """The reasoner that turns contrasts into proposals."""

    RULES = "rules"
    LLM = "llm"


class OnLlmFailure(StrEnum):
    """The handling of a contrast when the LLM gives no answer."""

    RULES = "rules"
    WAIT = "wait"
    DEAD_LETTER = "dead-letter"


class By(StrEnum):
    """The author of slim skills for a request: a rule, or the LLM."""

    RULES = "rules"
    LLM = "llm"


class RankerName(StrEnum):
    """The method that answers rank requests."""

    DETERMINISTIC = "deterministic"
    LISTWISE = "listwise"


class Settings(BaseSettings):
    """All settings. `sager config` prints the effective values."""

    model_config = SettingsConfigDict(
        env_prefix="SAGER_", extra="ignore", frozen=True, populate_by_name=True, hide_input_in_errors=True
    )

    bootstrap: str = Field(default="localhost:9092", description="Kafka's bootstrap servers, comma separated.")
    prefix: str = Field(
        default="sager.", pattern=r"^[A-Za-z0-9._-]*$", max_length=100, description="Topic prefix, one per tenant."
    )
    app_id: str = Field(default="sager", pattern=r"^[A-Za-z0-9._-]+$", description="Consumer group of the workers.")
    partitions: int = Field(default=4, ge=1, le=1_000, description="Partitions of every user-keyed topic.")
    replication: int = Field(default=1, ge=1, le=10, description="Replication factor of the topics that we create.")
    compression: Compression = Field(
        default=Compression.GZIP, description="How producers compress: none, gzip, snappy, lz4 or zstd."
    )
    embedded: bool = Field(default=False, description="The broker is the embedded one: work around its end offsets.")

    kafka_security_protocol: SecurityProtocol = Field(
        default=SecurityProtocol.PLAINTEXT, description="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."
    )
    kafka_sasl_mechanism: SaslMechanism = Field(
        default=SaslMechanism.SCRAM_SHA_512, description="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."
    )
    kafka_sasl_username: str | None = Field(default=None, validate_default=True, description="SASL's user name.")
    kafka_sasl_password: SecretStr | None = Field(default=None, validate_default=True, description="Its password.")
    kafka_ssl_ca: FilePath | None = Field(
        default=None, description="PEM file of the authorities that signed the brokers' certificates. [the system's]"
    )
    kafka_ssl_certificate: FilePath | None = Field(
        default=None, description="PEM file of our own certificate, where brokers ask for one."
    )
    kafka_ssl_key: FilePath | None = Field(
        default=None, validate_default=True, description="PEM file of its private key."
    )
    kafka_ssl_key_password: SecretStr | None = Field(default=None, description="The private key's password.")
    kafka_ssl_verify_hostname: bool = Field(
        default=True, description="A broker's certificate must bear the name that we connect to."
    )

    chain_key: SecretStr | None = Field(
        default=None,
        description="Secret that seals every version of a skill, 32 characters or more; the same for all processes.",
    )
    pseudonym_key: SecretStr | None = Field(
        default=None,
        description="Secret of the pseudonyms under which users meet in the graph; the same for all "
        "workers; 32 characters or more. [SAGER_CHAIN_KEY's, else one that is made and kept in the data folder]",
    )

    data_dir: Path = Field(default=Path(".sager"), description="Where tables, DuckDB files and logs live.")
    group: str | None = Field(
        default=None, description="Group that may read what is in it, besides the processes' own user. [nobody]"
    )
    store: Store = Field(default=Store.MEMORY, description="Where tables live: memory, or rocksdb on disk.")
    standby_replicas: int = Field(
        default=0, ge=0, le=3, description="How many other workers keep a copy of each table, to take over from."
    )
    duckdb: Path | None = Field(default=None, description="Analysts' DuckDB file; default DATA_DIR/sager.duckdb.")
    publish_seconds: float = Field(default=1.0, ge=0.2, description="How often analysts get a fresh DuckDB file.")
    batch_rows: int = Field(default=2_000, ge=1, description="Most records in one DuckDB transaction.")
    batch_seconds: float = Field(default=0.5, gt=0, description="Longest wait before a DuckDB transaction.")

    reasoner: ReasonerName = Field(default=ReasonerName.RULES, description="The reasoner: rules, or llm.")
    on_llm_failure: OnLlmFailure = Field(
        default=OnLlmFailure.RULES, description="Without an answer: rules in its stead, wait, or dead-letter."
    )
    llm_base_url: str | None = Field(
        default=None,
        description="An OpenAI-compatible endpoint; OPENAI_BASE_URL is read too. [OpenAI's own]",
        validation_alias=AliasChoices("SAGER_LLM_BASE_URL", "OPENAI_BASE_URL", "llm_base_url"),
    )
    llm_api_key: SecretStr | None = Field(
        default=None,
        description="Its key; OPENAI_API_KEY is read too.",
        validation_alias=AliasChoices("SAGER_LLM_API_KEY", "OPENAI_API_KEY", "llm_api_key"),
    )
    llm_model: str = Field(default="gpt-4o-mini", description="The model's name at the endpoint.")
    llm_timeout_seconds: float = Field(default=30.0, gt=0, description="For one call.")
    llm_attempts: int = Field(default=3, ge=1, le=10, description="Calls per contrast before it is given up.")
    llm_sizes_in_schema: bool = Field(
        default=False, description="Send maxLength and maxItems too: llama.cpp and vLLM want them, OpenAI refuses them."
    )
    llm_retry_seconds: float = Field(default=30.0, ge=0, description="Longest wait between two attempts.")
    llm_breaker_failures: int = Field(
        default=5, ge=0, description="Consecutive failures that open the circuit breaker; 0: never."
    )
    llm_breaker_seconds: float = Field(default=1.0, gt=0, description="First pause of an open breaker; it doubles.")
    llm_breaker_max_seconds: float = Field(
        default=60.0, gt=0, description="Longest pause, unless Retry-After asks for more."
    )
    llm_price_prompt: float = Field(default=0.0, ge=0, description="USD per million prompt tokens, to tell costs.")
    llm_price_completion: float = Field(default=0.0, ge=0, description="USD per million completion tokens.")
    llm_daily_budget: float = Field(
        default=0.0, ge=0, description="USD a day of all workers; more raises an alert and stops nothing. [0: no limit]"
    )

    retrieve: bool = Field(default=True, description="Read collaborative facets when ranking.")
    propagate: bool = Field(default=True, description="Let choices flow through the user-item graph.")
    support_floor: int = Field(default=2, ge=1, le=31, description="Fewest other users behind anything told of them.")
    fan_out: int = Field(default=5, ge=0, le=16, description="Further items that hear of a choice.")
    graph_flush_seconds: float = Field(
        default=2.0, ge=0, le=60, description="How often an item that heard of choices is written; the graph's age."
    )
    weights_flush_seconds: float = Field(
        default=1.0, ge=0, le=60, description="How often weights that choices have moved are published."
    )
    graph_items: int = Field(
        default=1_000_000, ge=100, description="Items that the graph keeps; beyond, the longest silent ones go."
    )
    extract_by: By = Field(default=By.RULES, description="Who picks a slim skill for a request: rules, or llm.")
    task_slim: bool = Field(default=True, description="Likes that a request asks for come first in its slim skill.")
    ranker: RankerName = Field(
        default=RankerName.DETERMINISTIC,
        description="Who answers rank requests: deterministic; or listwise, an LLM.",
    )
    rank_orders: int = Field(default=2, ge=1, le=8, description="Presentation orders that an LLM's ranking averages.")
    rank_skill: RankSkill = Field(
        default=RankSkill.FULL,
        description="The skill's lines that rank: full, slim, none. An LLM gets slim or none.",
    )
    statinit: bool = Field(default=True, description="Start skills from a user's history.")
    cold_start: bool = Field(default=True, description="Start users without history from the domain's global skill.")
    evolve_mode: EvolveMode = Field(
        default=EvolveMode.COUNTS,
        description="counts; to compare: incremental (one tier a choice, as in the paper).",
    )
    warmup_rounds: int | None = Field(
        default=None, ge=0, description="A skill is frozen after this many choices, as in the paper's tests. [never]"
    )
    gate: bool = Field(default=True, description="Skip LLM calls for choices that teach nothing.")

    in_flight: int = Field(
        default=64, ge=1, le=4_096, description="Contrasts evolved, requests ranked and model calls made at once."
    )
    slim_tokens: int = Field(default=30, ge=10, le=200, description="Token budget of a slim skill.")
    open_rankings: int = Field(default=128, ge=8, le=512, description="Rankings per user that wait for a selection.")
    waiting_selections: int = Field(default=256, ge=8, le=512, description="Selections per user without a ranking.")
    parsers: dict[str, str] = Field(default_factory=dict, description='Parser per domain, as {"films": "movietv"}.')
    signals: dict[SignalName, Weight] = Field(
        default_factory=dict,
        max_length=64,
        description='What signals of feedback count, -1 to 1, as {"shared": 0.5}; known kinds may be set otherwise.',
    )
    listen_tokens: int = Field(
        default=1_000, ge=50, le=8_000, description="Tokens of a conversation that are thought over together."
    )
    listen_silence_seconds: float = Field(
        default=300.0, ge=0.5, le=86_400, description="After how long without a turn a conversation is thought over."
    )
    session_idle_seconds: float = Field(
        default=7_200, ge=60, le=604_800, description="How long after its last event a person's session is over."
    )
    privacy: bool = Field(default=True, description="Keep personal data and sensitive categories out of what is kept.")
    sensitive: dict[str, frozenset[Category]] = Field(
        default_factory=dict, description='Categories that a domain may learn, as {"books": ["religion"]}.'
    )

    vouched: FilePath | None = Field(
        default=None, description="File of values that may reach models whatever they look like, one a line."
    )

    session_seconds: float = Field(default=10.0, ge=1, description="A worker silent for this long counts as dead.")
    rebalance_seconds: float = Field(
        default=60.0, ge=1, description="Longest wait for in-flight events on a rebalance."
    )
    commit_seconds: float = Field(default=0.5, gt=0, description="How often finished events are committed.")
    linger_seconds: float = Field(default=0.002, ge=0, description="How long the producer waits to fill a batch.")
    shutdown_seconds: float = Field(default=30.0, gt=0, description="Deadline of a graceful shutdown.")
    watchdog_seconds: float = Field(default=120.0, gt=0, description="Exit after lag without progress for this long.")

    http_tokens: Path | None = Field(
        default=None, description="TOML file of the tokens of the HTTP API; with it, /metrics asks for one too."
    )
    http_host: str = Field(default="127.0.0.1", description="Where `sager serve` listens.")
    http_port: int = Field(default=8088, ge=1, le=65_535, description="Its port.")
    http_certificate: FilePath | None = Field(default=None, description="PEM file of its certificate, for TLS.")
    http_key: FilePath | None = Field(
        default=None, validate_default=True, description="PEM file of that certificate's private key."
    )
    http_rate: float = Field(default=20.0, gt=0, description="Per-token rate limit, requests a second.")
    http_burst: int = Field(default=40, ge=1, description="Burst of that rate limit.")
    http_failures: float = Field(
        default=30.0, gt=0, description="Requests a minute without a good token that an address may make; then 429."
    )
    http_request_seconds: float = Field(
        default=10.0, gt=0, description="How long a client may take to send a request; then 408."
    )
    http_idle_seconds: float = Field(
        default=30.0, gt=0, description="A connection without a request, or whose client does not read, is closed then."
    )
    http_connections: int = Field(default=512, ge=1, description="Connections at once, in all; then 503.")
    http_connections_per_address: int = Field(default=64, ge=1, description="Connections at once from an address.")
    http_wait_seconds: float = Field(
        default=10.0, ge=0, le=60, description="Longest wait for a worker to apply a change."
    )
    http_confirmation_key: SecretStr | None = Field(
        default=None,
        description="Secret of confirmations, 32 characters or more, shared by servers behind one address. "
        "[each process has its own]",
    )

    mcp_hosts: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9.\-]+(,[A-Za-z0-9.\-]+)*$",
        description="Names under which /mcp is reached, besides the loopback's, comma separated. [none]",
    )
    webhooks: Path | None = Field(
        default=None, description="TOML file of the endpoints of `sager webhooks`, which holds their secrets."
    )

    console_hosts: str | None = Field(
        default=None, description="Names, by commas, under which the console answers beside those of this machine."
    )
    console_metrics: str | None = Field(
        default=None,
        pattern=r"^https?://[^,\s@]+(,https?://[^,\s@]+)*$",
        description="Addresses of the processes' /metrics, comma separated, for the console's live page. [none]",
    )
    console_metrics_token: SecretStr | None = Field(
        default=None, description="Token with the scope operate, where those processes ask for one."
    )

    metrics_host: str = Field(default="127.0.0.1", description="Where metrics and health are served.")
    metrics_port: int = Field(default=0, ge=0, le=65_535, description="Port of metrics and health; 0: none.")
    log_format: LogFormat = Field(
        default=LogFormat.TEXT, description="How all processes log: text, or json, an object a line."
    )
    log_level: str = Field(
        default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="Lowest level that is logged."
    )

    @field_validator("*", mode="before")
    @classmethod
    def _is_not_empty(cls, value: Any, info: ValidationInfo) -> Any:
        """An empty variable unsets what has no default, as in `SAGER_DUCKDB=`; elsewhere it is a slip."""
        name = info.field_name or ""
        if value != "" or name in MAY_BE_EMPTY:
            return value
        default = cls.model_fields[name].default
        if default is not None:
            raise PydanticCustomError("empty", "is empty: give it a value, or unset it to have the default")
        return None

    @field_validator("chain_key", "pseudonym_key", "http_confirmation_key")
    @classmethod
    def _is_long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        """A short secret can be found by trial: its seals and pseudonyms are on topics that others may read."""
        if value is not None and (length := len(value)) < SECRET_LENGTH:
            raise PydanticCustomError(
                "short_secret",
                f"has {length} characters and needs {SECRET_LENGTH} or more: `openssl rand -hex 32` makes a good one",
            )
        return value

    @field_validator("llm_base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        """Not shown in the message: it may hold a password."""
        if value is not None:
            try:
                parts = urlsplit(value)
                is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
            except ValueError:
                is_one = False
            if not is_one:
                raise PydanticCustomError("address", "is no address of a server, such as http://localhost:8080/v1")
        return value

    @field_validator("kafka_sasl_username", "kafka_sasl_password")
    @classmethod
    def _goes_with_sasl(cls, value: str | SecretStr | None, info: ValidationInfo) -> str | SecretStr | None:
        """SASL needs both; without SASL they would lie idle, and the wire would be open unnoticed."""
        protocol = info.data.get("kafka_security_protocol")
        if protocol is not None and bool(value) is not protocol.sasl:
            wrong = (
                "is missing: SASL needs it" if protocol.sasl else "is set, but only SASL_SSL and SASL_PLAINTEXT use it"
            )
            raise PydanticCustomError("sasl", f"{wrong} (SAGER_KAFKA_SECURITY_PROTOCOL is {protocol.value})")
        return value

    @field_validator("kafka_ssl_ca", "kafka_ssl_certificate", "kafka_ssl_key", "kafka_ssl_key_password")
    @classmethod
    def _goes_with_tls(cls, value: Path | SecretStr | None, info: ValidationInfo) -> Path | SecretStr | None:
        """Without TLS they would lie idle, and the wire would be open unnoticed."""
        protocol = info.data.get("kafka_security_protocol")
        if protocol is not None and value is not None and not protocol.tls:
            raise PydanticCustomError(
                "tls", f"is set, but only SASL_SSL and SSL use it (SAGER_KAFKA_SECURITY_PROTOCOL is {protocol.value})"
            )
        return value

    @field_validator("kafka_ssl_key", "http_key")
    @classmethod
    def _goes_with_a_certificate(cls, value: Path | None, info: ValidationInfo) -> Path | None:
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
        """Arguments first, then the environment, then the TOML file."""
        file = os.environ.get("SAGER_CONFIG")
        toml = (KnownToml(settings_cls, Path(file)),) if file else ()
        return (init_settings, env_settings, *toml)

    @property
    def chain_key_bytes(self) -> bytes:
        """The bytes of `chain_key`, which seal versions; empty without a key."""
        return self.chain_key.get_secret_value().encode() if self.chain_key else b""

    @property
    def event_key_bytes(self) -> bytes:
        """The key of digests of erased events, derived from `chain_key`; empty without a key."""
        from operators.seals import derived_key  # noqa: PLC0415 - commands that seal nothing start without it

        return derived_key(self.chain_key_bytes, "forgotten events") if self.chain_key else b""

    @property
    def duckdb_file(self) -> Path:
        """The DuckDB file that analysts open, read-only."""
        return self.duckdb or self.data_dir / "sager.duckdb"

    def llm_cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of these tokens in US dollars; 0 without configured prices."""
        return (prompt_tokens * self.llm_price_prompt + completion_tokens * self.llm_price_completion) / PRICED_TOKENS

    def topic(self, base: str) -> str:
        """Return the full name of a topic of the registry."""
        return self.prefix + base


class KnownToml(TomlConfigSettingsSource):
    """A TOML file all of whose keys are settings.

    Raises:
        UnknownSetting: one is not.
    """

    def _read_files(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super()._read_files(*args, **kwargs)
        known = _toml_keys()
        unknown = [f"{key!r} is no setting{nearest(key, known)}" for key in found if key not in known]
        if unknown:
            raise UnknownSetting(
                f"{os.environ.get('SAGER_CONFIG')}: {'; '.join(unknown)}. Keys are the variables' names without "
                "SAGER_, in lower case; `sager config` lists them"
            )
        return found


def unknown_variables(environment: Iterable[str]) -> list[str]:
    """Return a warning for each SAGER_* variable that is no setting.

    >>> unknown_variables(["SAGER_PARTITION", "SAGER_PREFIX", "HOME"])
    ['SAGER_PARTITION is no setting (did you mean SAGER_PARTITIONS?)']
    """
    known = {f"SAGER_{name.upper()}" for name in Settings.model_fields}.union(OTHER_VARIABLES)
    return [
        f"{name} is no setting{nearest(name.upper(), known)}"
        for name in sorted(environment)
        if name.upper().startswith("SAGER_") and name.upper() not in known and not name.startswith("SAGER_TEST_")
    ]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a suggestion in brackets; empty if no name is near."""
    found = difflib.get_close_matches(name, sorted(known), 1, NEAR)
    return f" (did you mean {found[0]}?)" if found else ""


def _toml_keys() -> set[str]:
    keys = set(Settings.model_fields)
    for field in Settings.model_fields.values():
        if isinstance(field.validation_alias, AliasChoices):
            keys.update(str(choice) for choice in field.validation_alias.choices)
    return keys
