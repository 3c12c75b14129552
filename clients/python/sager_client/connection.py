"""The connection to a deployment: constructor arguments, `SAGER_*` variables, defaults."""

import os
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .errors import Misconfigured
from .schemas.topics import DEFAULT_PREFIX, TOPICS

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_CHOICES = {
    "compression": ("none", "gzip", "snappy", "lz4", "zstd"),
    "kafka_security_protocol": ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "kafka_sasl_mechanism": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    "kafka_ssl_verify_hostname": (*_TRUE, *_FALSE),
}
_DEFAULTS: dict[str, Any] = {
    "bootstrap": "localhost:9092",
    "prefix": DEFAULT_PREFIX,
    "compression": "gzip",
    "kafka_security_protocol": "PLAINTEXT",
    "kafka_sasl_mechanism": "SCRAM-SHA-512",
    "kafka_ssl_verify_hostname": True,
}


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A deployment's address and security; missing values come from `SAGER_*` variables.

    Raises:
        Misconfigured: a value is wrong, or two values contradict each other.

    >>> Connection(bootstrap="kafka:9092", prefix="shop.").topic("rankings")
    'shop.rankings'
    """

    bootstrap: str = ""
    prefix: str | None = None
    compression: str = ""
    kafka_security_protocol: str = ""
    kafka_sasl_mechanism: str = ""
    kafka_sasl_username: str | None = None
    kafka_sasl_password: str | None = field(default=None, repr=False)
    kafka_ssl_ca: str | Path | None = None
    kafka_ssl_certificate: str | Path | None = None
    kafka_ssl_key: str | Path | None = None
    kafka_ssl_key_password: str | None = field(default=None, repr=False)
    kafka_ssl_verify_hostname: bool | None = None

    def __post_init__(self) -> None:
        for name in [each.name for each in fields(self)]:
            if getattr(self, name) in (None, ""):
                found = os.environ.get(f"SAGER_{name.upper()}")
                # Compose files pass unset variables as empty ones; only a prefix may be empty on purpose.
                is_set = found or (found is not None and name == "prefix")
                object.__setattr__(self, name, found if is_set else _DEFAULTS.get(name))
        self._check_values()
        self._check_security()
        object.__setattr__(self, "kafka_ssl_verify_hostname", str(self.kafka_ssl_verify_hostname).lower() in _TRUE)

    def topic(self, base: str) -> str:
        """Return the full name of a topic of the registry."""
        return TOPICS[base].name(self.prefix or "")

    def librdkafka(self, **more: Any) -> dict[str, Any]:
        """Return librdkafka's settings, and `more`. They contain secrets: never log them."""
        found: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap,
            "client.id": "sager-client",
            "socket.keepalive.enable": True,
            # Otherwise librdkafka logs every lost connection to stderr.
            "log_level": 2,
            "security.protocol": self.kafka_security_protocol,
        }
        if self._tls:
            found |= {
                "ssl.ca.location": self.kafka_ssl_ca and str(self.kafka_ssl_ca),
                "ssl.certificate.location": self.kafka_ssl_certificate and str(self.kafka_ssl_certificate),
                "ssl.key.location": self.kafka_ssl_key and str(self.kafka_ssl_key),
                "ssl.key.password": self.kafka_ssl_key_password,
                "ssl.endpoint.identification.algorithm": "https" if self.kafka_ssl_verify_hostname else "none",
            }
        if self._sasl:
            found |= {
                "sasl.mechanism": self.kafka_sasl_mechanism,
                "sasl.username": self.kafka_sasl_username,
                "sasl.password": self.kafka_sasl_password,
            }
        return {name: value for name, value in found.items() if value is not None} | more

    @property
    def _tls(self) -> bool:
        return self.kafka_security_protocol in ("SSL", "SASL_SSL")

    @property
    def _sasl(self) -> bool:
        return self.kafka_security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def _check_values(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]{0,100}", self.prefix or ""):
            raise _wrong("prefix", f"must be letters, digits, `.`, `_`, `-`, at most 100, and is {self.prefix!r}")
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            if value not in known and str(value).lower() not in known:
                raise _wrong(name, f"must be one of {', '.join(known)}, and is {value!r}")

    def _check_security(self) -> None:
        protocol = f"(SAGER_KAFKA_SECURITY_PROTOCOL is {self.kafka_security_protocol})"
        for name in ("kafka_sasl_username", "kafka_sasl_password"):
            if self._sasl and not getattr(self, name):
                raise _wrong(name, f"is missing: SASL needs it {protocol}")
            if not self._sasl and getattr(self, name):
                raise _wrong(name, f"is set, but only SASL_SSL and SASL_PLAINTEXT use it {protocol}")
        for name in ("kafka_ssl_ca", "kafka_ssl_certificate", "kafka_ssl_key", "kafka_ssl_key_password"):
            value = getattr(self, name)
            if value and not self._tls:
                raise _wrong(name, f"is set, but only SASL_SSL and SSL use it {protocol}")
            if value and name != "kafka_ssl_key_password" and not Path(value).is_file():
                raise _wrong(name, f"names {value}, which is no file")
        if bool(self.kafka_ssl_key) is not bool(self.kafka_ssl_certificate):
            raise _wrong("kafka_ssl_key", "and SAGER_KAFKA_SSL_CERTIFICATE go together; one of them is not set")


def _wrong(name: str, text: str) -> Misconfigured:
    return Misconfigured(f"SAGER_{name.upper()} {text}")


def connection_of(bootstrap: str | None, connection: Connection | None) -> Connection:
    """Return the connection that the arguments of a constructor name."""
    if bootstrap is not None and connection is not None:
        raise TypeError("give bootstrap= or connection=, not both")
    return connection or Connection(bootstrap=bootstrap or "")
