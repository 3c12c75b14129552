"""The settings that all processes of a deployment must share, compared without their values."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from prometheus_client import generate_latest

from streams import agreement
from streams.metrics import SHARED_SETTINGS
from streams.operations.doctor.agreement import settings_agree
from streams.operations.doctor.findings import Status
from streams.settings import Settings

KEY = "a key of more than thirty-two characters"


@contextmanager
def process(settings: Settings, names: tuple[str, ...]) -> Iterator[str]:
    """A process with these settings, as it answers at /metrics; gives its address."""
    agreement.publish(settings, names)
    body = generate_latest(SHARED_SETTINGS)

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
        server.shutdown()


def test_the_setting_that_differs_is_named_and_its_value_is_not() -> None:
    worker = Settings(chain_key=KEY, sensitive={"books": ["religion"]})
    materializer = worker.model_copy(update={"chain_key": None})
    with process(worker, agreement.ALL) as one, process(materializer, agreement.FILTERS) as other:
        found = list(settings_agree(worker.model_copy(update={"console_metrics": f"{one},{other}"})))

    assert [each.status for each in found] == [Status.ERROR]
    assert "SAGER_CHAIN_KEY" in found[0].found
    assert KEY not in f"{found}"


def test_processes_with_the_same_settings_agree() -> None:
    settings = Settings(chain_key=KEY, parsers={"a": "movietv", "b": "yelp"})
    again = Settings(chain_key=KEY, parsers={"b": "yelp", "a": "movietv"})
    with process(settings, agreement.ALL) as one, process(again, agreement.FILTERS) as other:
        found = list(settings_agree(settings.model_copy(update={"console_metrics": f"{one},{other}"})))

    assert [(each.status, each.found[:1]) for each in found] == [(Status.OK, "2")]


def test_a_command_with_another_key_than_the_processes_is_warned() -> None:
    with process(Settings(chain_key=KEY), agreement.ALL) as one:
        found = list(settings_agree(Settings(console_metrics=one)))

    assert [each.status for each in found] == [Status.WARNING]
    assert "this command" in found[0].found


def test_a_file_of_values_is_compared_by_its_content(tmp_path: Path) -> None:
    here, there = tmp_path / "a.txt", tmp_path / "b.txt"
    here.write_text("noir\n")
    there.write_text("noir\n")

    assert agreement.fingerprint(Settings(vouched=here), "vouched") == agreement.fingerprint(
        Settings(vouched=there), "vouched"
    )


def test_every_shared_setting_is_a_setting() -> None:
    assert set(agreement.EVERY) <= set(agreement.FILTERS) <= set(agreement.ALL) <= set(Settings.model_fields)
