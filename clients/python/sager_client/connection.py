"""The connection to a deployment: constructor arguments, `SAGER_*` variables, defaults."""

import os
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FilePath, ValidationError, model_validator

from .errors import Misconfigured
from .schemas.topics import DEFAULT_PREFIX, TOPICS


class Connection(BaseModel):
    """A deployment's address and security; missing values come from `SAGER_*` variables.

    Raises:
        Misconfigured: a value is wrong, or two values contradict each other.

    >>> Connection(bootstrap="kafka:9092", prefix="shop.").topic("rankings")
    'shop.rankings'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    bootstrap: str = "localhost:9092"
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,100}$")] = DEFAULT_PREFIX
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "gzip"
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    kafka_sasl_username: str | None = None
    kafka_sasl_password: str | None = Field(default=None, repr=False)
    kafka_ssl_ca: FilePath | None = None
    kafka_ssl_certificate: FilePath | None = None
    kafka_ssl_key: FilePath | None = None
    kafka_ssl_key_password: str | None = Field(default=None, repr=False)
    kafka_ssl_verify_hostname: bool = True

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, given: dict[str, Any], validate: Callable[[Any], Self]) -> Self:
        environment = {name: os.environ.get(f"SAGER_{name.upper()}") for name in cls.model_fields}
        known = {
            name: value
            for source in (environment, given)
            for name, value in source.items()
            # Compose files pass unset variables as empty ones; only a prefix may be empty on purpose.
            if value is not None and (value != "" or name == "prefix")
        }
        try:
            return validate(known)
        except ValidationError as error:  # its text would quote the value
            first = error.errors()[0]
            raise _wrong(str(first["loc"][0]), first["msg"]) from None

    def topic(self, base: str) -> str:
        """Return the full name of a topic of the registry."""
        return TOPICS[base].name(self.prefix)

    def librdkafka(self, **more: Any) -> dict[str, Any]:
        """Return librdkafka's settings, and `more`. They contain secrets: never log them."""
        found: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap,
            "client.id": "sager-client",
            "socket.keepalive.enable": "true",
            # Otherwise librdkafka logs every lost connection to stderr.
            "log_level": 2,
            "security.protocol": self.kafka_security_protocol,
        }
        if self._tls:
            found |= {
                "ssl.ca.location": self.kafka_ssl_ca,
                "ssl.certificate.location": self.kafka_ssl_certificate,
                "ssl.key.location": self.kafka_ssl_key,
                "ssl.key.password": self.kafka_ssl_key_password,
                "ssl.endpoint.identification.algorithm": "https" if self.kafka_ssl_verify_hostname else "none",
            }
        if self._sasl:
            found |= {
                "sasl.mechanism": self.kafka_sasl_mechanism,
                "sasl.username": self.kafka_sasl_username,
                "sasl.password": self.kafka_sasl_password,
            }
        return {name: str(value) for name, value in found.items() if value is not None} | more

    @property
    def _tls(self) -> bool:
        return self.kafka_security_protocol in ("SSL", "SASL_SSL")

    @property
    def _sasl(self) -> bool:
        return self.kafka_security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    @model_validator(mode="after")
    def _check_security(self) -> Self:
        protocol = f"(SAGER_KAFKA_SECURITY_PROTOCOL is {self.kafka_security_protocol})"
        for name in ("kafka_sasl_username", "kafka_sasl_password"):
            if self._sasl and not getattr(self, name):
                raise _wrong(name, f"is missing: SASL needs it {protocol}")
            if not self._sasl and getattr(self, name):
                raise _wrong(name, f"is set, but only SASL_SSL and SASL_PLAINTEXT use it {protocol}")
        for name in ("kafka_ssl_ca", "kafka_ssl_certificate", "kafka_ssl_key", "kafka_ssl_key_password"):
            if getattr(self, name) and not self._tls:
                raise _wrong(name, f"is set, but only SASL_SSL and SSL use it {protocol}")
        if bool(self.kafka_ssl_key) is not bool(self.kafka_ssl_certificate):
            raise _wrong("kafka_ssl_key", "and SAGER_KAFKA_SSL_CERTIFICATE go together; one of them is not set")
        return self


def _wrong(name: str, text: str) -> Misconfigured:
    return Misconfigured(f"SAGER_{name.upper()} {text}")


def connection_of(bootstrap: str | None, connection: Connection | None) -> Connection:
    """Return the connection that the arguments of a constructor name."""
    if bootstrap is not None and connection is not None:
        raise TypeError("give bootstrap= or connection=, not both")
    return connection or Connection(bootstrap=bootstrap or "")
