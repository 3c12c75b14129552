"""`sager serve`: what it does not start with, and the process over TLS."""

import json
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from urllib.error import URLError

import pytest
from typer.testing import CliRunner

from infra.kafka.secured import OpensslUnavailable, Secured
from streams.cli import app
from streams.local.broker import free_port
from streams.local.launch import environment
from streams.settings import Settings
from tests.patience import PATIENCE_SECONDS
from tests.unit.http.http_world import Tokens, published


@pytest.fixture
def file(tmp_path):
    return Tokens(tmp_path)


def refused(**settings):
    done = CliRunner().invoke(app, ["serve"], env=environment(Settings(**settings)) | {"SAGER_PARENT_PID": ""})
    assert done.exit_code == 1
    return done.stderr


def test_it_does_not_start_without_a_file_of_tokens_that_is_good(file, tmp_path):
    assert "sager token new" in refused()
    assert "No such file" in refused(http_tokens=tmp_path / "nowhere.toml")
    file.write(mode=0o644)
    assert "chmod" in refused(http_tokens=file.path)


def test_it_does_not_start_with_a_certificate_that_is_none(file):
    assert "matching PEM files" in refused(http_tokens=file.path, http_certificate=file.path, http_key=file.path)
    with pytest.raises(ValueError, match="SAGER_HTTP_CERTIFICATE go together"):
        Settings(http_key=file.path)


def test_it_serves_over_tls_and_ends_in_order(file, tmp_path):
    try:
        files = Secured(tmp_path / "pem", {})
    except OpensslUnavailable as why:
        pytest.skip(str(why))
    token, port = file.make("read-all"), free_port()
    settings = Settings(
        duckdb=published(),
        http_tokens=file.path,
        http_port=port,
        http_certificate=files.ca.with_name("broker.pem"),
        http_key=files.ca.with_name("broker.key"),
    )
    command = [sys.executable, "-P", "-m", "streams.cli", "serve"]
    process = subprocess.Popen(command, env=environment(settings), stderr=subprocess.PIPE)
    try:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while (reply := ask(port, token, files)) is None:
            assert process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.1)
        assert reply["users"] == ["ann", "bob"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
    assert b"ann" not in process.communicate()[1]


def ask(port, token, files):
    asked = urllib.request.Request(f"https://127.0.0.1:{port}/v1/users", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(asked, timeout=5, context=ssl.create_default_context(cafile=files.ca)) as reply:
            return json.load(reply)
    except URLError as error:
        if isinstance(error.reason, ssl.SSLError):
            raise
        return None
