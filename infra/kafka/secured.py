"""TLS and SASL for a test cluster, with temporary certificates.

The ``openssl`` command (3.0 or newer) creates the certificates, which are valid for two days.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

DAYS = 2
ITERATIONS = 4096
SCRAM = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class OpensslUnavailable(RuntimeError):
    """The command ``openssl`` is missing or too old. A test may skip."""


class Secured:
    """The files and settings of listeners with TLS and SASL.

    Anyone who can read the folder can impersonate a broker. The users' passwords are valid for PLAIN, SCRAM-SHA-256 and
    SCRAM-SHA-512, and are used when a broker's data folder is new.
    """

    def __init__(self, folder: Path, users: Mapping[str, str], key_password: str | None = None) -> None:
        self.users = dict(users)
        self.key_password = key_password or secrets.token_urlsafe(16)
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self.ca = authority(folder, "ca")
        self.certificate, self.key = folder / "client.pem", folder / "client.key"
        self._server = folder / "server.pem"
        certificate, key = folder / "broker.pem", folder / "broker.key"
        _openssl(*_signed_by(self.ca), "-nodes", "-subj", "/CN=broker", *_out(certificate, key), *_NAMES)
        self._server.touch(mode=0o600)
        self._server.write_bytes(key.read_bytes() + certificate.read_bytes())
        _openssl(
            *[*_signed_by(self.ca), "-subj", "/CN=client", *_out(self.certificate, self.key)],
            *["-passout", "env:KEY_PASSWORD"],
            environment={"KEY_PASSWORD": self.key_password},
        )

    def properties(self) -> dict[str, str]:
        """Settings of SECURED (passwords) and MUTUAL (client certificates)."""
        plain = " ".join(f'user_{name}="{password}"' for name, password in self.users.items())
        modules = {
            "plain": f"org.apache.kafka.common.security.plain.PlainLoginModule required {plain};",
            **{name.lower(): "org.apache.kafka.common.security.scram.ScramLoginModule required;" for name in SCRAM},
        }
        return {
            "listener.security.protocol.map": "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_SSL,MUTUAL:SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.secured.sasl.enabled.mechanisms": ",".join(name.upper() for name in modules),
            **{f"listener.name.secured.{name}.sasl.jaas.config": module for name, module in modules.items()},
        }

    def format_arguments(self) -> list[str]:
        """The users as salted hashes, since command lines are public."""
        found = []
        for name, password in self.users.items():
            for mechanism, algorithm in SCRAM.items():
                salt = secrets.token_bytes(16)
                salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, ITERATIONS)
                encoded = [base64.b64encode(value).decode() for value in (salt, salted)]
                credential = 'salt="{}",saltedpassword="{}"'.format(*encoded)
                found += ["--add-scram", f"{mechanism}=[name={name},iterations={ITERATIONS},{credential}]"]
        return found


def authority(folder: Path, name: str) -> Path:
    """A new certificate authority; its ``.key`` is beside it."""
    certificate = folder / f"{name}.pem"
    _openssl(*_NEW, "-nodes", "-subj", f"/CN={name}", *_out(certificate, certificate.with_suffix(".key")))
    return certificate


_NEW = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", str(DAYS)]
# The brokers' certificate lacks the name `localhost`, so that a test can use a wrong name.
_NAMES = ["-addext", "subjectAltName=IP:127.0.0.1"]


def _signed_by(ca: Path) -> list[str]:
    return [*_NEW, "-CA", str(ca), "-CAkey", str(ca.with_suffix(".key"))]


def _out(certificate: Path, key: Path) -> list[str]:
    return ["-out", str(certificate), "-keyout", str(key)]


def _openssl(*arguments: str, environment: Mapping[str, str] | None = None) -> None:
    command = shutil.which("openssl")
    if command is None:
        raise OpensslUnavailable("openssl is missing, which creates the certificates (Debian: apt install openssl)")
    done = subprocess.run(
        [command, *arguments],
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise OpensslUnavailable(f"openssl 3.0 or newer is needed to create certificates: {done.stderr.strip()}")
