"""Security of the wire without a wire: which settings go together, what the clients make of them, what is told."""

import ast
from pathlib import Path
from typing import Any

import faust
import pytest
from pydantic import ValidationError

from infra.kafka.secured import OpensslUnavailable, Secured, authority
from streams.cli.output import error_message
from streams.exceptions import SecurityMisconfigured
from streams.kafka.clients import client_config, producer_config, tls_context
from streams.settings import Settings
from streams.worker.create import credentials

ROOT = Path(__file__).parents[2]
USER = {"kafka_sasl_username": "ann", "kafka_sasl_password": "secret-of-ann"}


@pytest.fixture(scope="session")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Secured:
    try:
        return Secured(tmp_path_factory.mktemp("pem"), {"ann": "secret-of-ann"}, key_password="secret-of-the-key")
    except OpensslUnavailable as why:
        pytest.skip(str(why))


def certified(pem: Secured, **more: Any) -> dict[str, Any]:
    files = {"kafka_ssl_ca": pem.ca, "kafka_ssl_certificate": pem.certificate, "kafka_ssl_key": pem.key}
    return {"kafka_security_protocol": "SSL", **files, "kafka_ssl_key_password": pem.key_password, **more}


# --- which settings go together


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kafka_security_protocol": "SASL_SSL"}, "SAGER_KAFKA_SASL_USERNAME: is missing"),
        (
            {"kafka_security_protocol": "SASL_SSL", "kafka_sasl_username": "ann"},
            "SAGER_KAFKA_SASL_PASSWORD: is missing",
        ),
        ({"kafka_security_protocol": "SASL_PLAINTEXT", **USER, "kafka_sasl_username": ""}, "USERNAME: is missing"),
        (USER, "SAGER_KAFKA_SASL_USERNAME: is set, but only SASL_SSL and SASL_PLAINTEXT use it"),
        ({"kafka_security_protocol": "SSL", **USER}, "SAGER_KAFKA_SASL_PASSWORD: is set, but only"),
        ({"kafka_ssl_ca": "<file>"}, "SAGER_KAFKA_SSL_CA: is set, but only SASL_SSL and SSL use it"),
        ({"kafka_ssl_key_password": "secret-of-the-key"}, "SAGER_KAFKA_SSL_KEY_PASSWORD: is set, but only"),
        ({"kafka_security_protocol": "SSL", "kafka_ssl_ca": "/nowhere/ca.pem"}, "SAGER_KAFKA_SSL_CA: Path does not"),
        (
            {"kafka_security_protocol": "SSL", "kafka_ssl_certificate": "<file>"},
            "SAGER_KAFKA_SSL_KEY: and SAGER_KAFKA_",
        ),
        (
            {"kafka_security_protocol": "SSL", "kafka_ssl_key": "<file>"},
            "SAGER_KAFKA_SSL_KEY: and SAGER_KAFKA_SSL_CERT",
        ),
        ({"kafka_security_protocol": "TLS"}, "SAGER_KAFKA_SECURITY_PROTOCOL: Input should be 'PLAINTEXT', 'SSL'"),
        ({"kafka_security_protocol": "SASL_SSL", "kafka_sasl_mechanism": "MD5", **USER}, "SAGER_KAFKA_SASL_MECHANISM:"),
    ],
)
def test_what_does_not_go_together_names_its_variable(given: dict[str, str], told: str, tmp_path: Path) -> None:
    (tmp_path / "file.pem").touch()
    given = {name: str(tmp_path / "file.pem") if value == "<file>" else value for name, value in given.items()}

    with pytest.raises(ValidationError) as refused:
        Settings(**given)

    message = str(error_message(refused.value))
    assert told in message
    assert "secret" not in message


# --- what the clients make of them


def test_plain_is_the_default() -> None:
    settings = Settings()

    assert not [name for name in client_config(settings) if name.startswith(("sasl", "ssl", "security"))]
    assert credentials(settings) is None


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_and_a_password_reach_all_clients(mechanism: str) -> None:
    settings = Settings(kafka_security_protocol="SASL_PLAINTEXT", kafka_sasl_mechanism=mechanism, **USER)

    for config in (client_config(settings), producer_config(settings)):
        assert config["security.protocol"] == "SASL_PLAINTEXT"
        assert config["sasl.mechanism"] == mechanism
        assert (config["sasl.username"], config["sasl.password"]) == ("ann", "secret-of-ann")
    shown = credentials(settings)
    assert isinstance(shown, faust.SASLCredentials)
    assert (shown.protocol.value, shown.mechanism.value) == ("SASL_PLAINTEXT", mechanism)
    assert (shown.username, shown.password) == ("ann", "secret-of-ann")


def test_a_client_certificate_reaches_all_clients(pem: Secured) -> None:
    settings = Settings(**certified(pem))

    config = client_config(settings)
    shown = credentials(settings)

    assert config["security.protocol"] == "SSL"
    assert config["ssl.ca.location"] == str(pem.ca)
    assert (config["ssl.certificate.location"], config["ssl.key.location"]) == (str(pem.certificate), str(pem.key))
    assert config["ssl.key.password"] == "secret-of-the-key"
    assert isinstance(shown, faust.SSLCredentials)
    assert {dict(name[0] for name in ca["subject"])["commonName"] for ca in shown.context.get_ca_certs()} == {"ca"}


@pytest.mark.parametrize(("verify", "told"), [(True, "https"), (False, "none")])
def test_host_names_are_verified_unless_told_otherwise(pem: Secured, verify: bool, told: str) -> None:
    settings = Settings(**certified(pem, kafka_ssl_verify_hostname=verify))

    context = tls_context(settings)

    assert context is not None
    assert context.check_hostname is verify
    assert context.verify_mode.name == "CERT_REQUIRED"  # the certificate itself is, in either case
    assert client_config(settings)["ssl.endpoint.identification.algorithm"] == told
    assert Settings().kafka_ssl_verify_hostname


def test_the_embedded_broker_is_spoken_to_plainly_whatever_is_set_for_another() -> None:
    settings = Settings(kafka_security_protocol="SASL_SSL", **USER).model_copy(update={"embedded": True})

    assert "security.protocol" not in client_config(settings)
    assert credentials(settings) is None


def test_every_client_is_made_from_the_common_settings() -> None:
    """A client with settings of its own would do without TLS. The embedded broker's own knows none."""
    own = []
    for file in [
        *ROOT.glob("streams/**/*.py"),
        *ROOT.glob("evaluation/**/*.py"),
        *ROOT.glob("benchmarks/**/*.py"),
        ROOT / "tests" / "harness.py",
    ]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        known = {
            ast.unparse(target)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and _is_common(node.value)
            for target in node.targets
        }
        foreign = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("confluent_kafka")
            for alias in node.names
        }
        for node in ast.walk(tree):
            made = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if made in foreign & {"Producer", "Consumer", "AdminClient"} and isinstance(node, ast.Call):
                is_common = _is_common(node.args[0]) or ast.unparse(node.args[0]) in known
                own += [] if is_common else [file.relative_to(ROOT).as_posix()]

    # The plain loop and the app of the strikes talk to the embedded broker only.
    assert sorted(own) == [*["benchmarks/plain_loop.py"] * 2, "benchmarks/strikes.py", "streams/local/broker.py"]


def _is_common(made: ast.expr) -> bool:
    return isinstance(made, ast.Call) and ast.unparse(made.func) in ("client_config", "producer_config")


# --- files that are not what they have to be


def test_an_authority_that_is_none_is_told(pem: Secured) -> None:
    settings = Settings(kafka_security_protocol="SSL", kafka_ssl_ca=pem.key)

    with pytest.raises(SecurityMisconfigured, match=r"SAGER_KAFKA_SSL_CA names .*client\.key.*PEM"):
        client_config(settings)


@pytest.mark.parametrize("password", ["secret-but-wrong", "secret" * 1_000, None])
def test_a_wrong_password_of_the_key_is_told_without_it(pem: Secured, password: str | None) -> None:
    settings = Settings(**certified(pem, kafka_ssl_key_password=password))

    with pytest.raises(SecurityMisconfigured, match="SAGER_KAFKA_SSL_KEY_PASSWORD") as refused:
        credentials(settings)

    assert "secret" not in str(refused.value)


def test_a_key_of_another_certificate_is_told(pem: Secured, tmp_path: Path) -> None:
    other = authority(tmp_path, "other").with_suffix(".key")

    with pytest.raises(SecurityMisconfigured, match="key values mismatch"):
        client_config(Settings(**certified(pem, kafka_ssl_key=other)))


# --- the test cluster itself
