"""Processes that tell made-up metrics: each look finds that more has happened, as if some seconds had gone by."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

STAGES = {"prior": 2, "contrast": 9, "evolve": 8, "rank": 11, "propagate": 8}
TOPICS = {"selections": 9, "rankings": 11, "rank-requests": 11, "contrasts": 8, "interactions": 2, "items": 1}
MANY = 13.0
"""How much more there is at each look, per unit of what is above."""


def worker(looks: int) -> str:
    busy = MANY * (looks + (0.2 if looks % 3 else 0.5))
    lines = ["# TYPE sager_ready gauge", "sager_ready 1", "# TYPE sager_build_info gauge"]
    lines += ['sager_build_info{version="1.2.3"} 1']
    for name in ("sager_records_taken", "sager_records_sent"):
        lines.append(f"# TYPE {name} counter")
        lines += [f'{name}_total{{topic="{each}"}} {busy * share}' for each, share in TOPICS.items()]
    lines.append("# TYPE sager_events counter")
    lines += [f'sager_events_total{{stage="{each}",outcome="done"}} {busy * share}' for each, share in STAGES.items()]
    for name, shown in (("sager_in_flight", 1), ("sager_in_flight_limit", 64), ("sager_queued", 0)):
        lines.append(f"# TYPE {name} gauge")
        lines += [f'{name}{{stage="{each}"}} {shown}' for each in STAGES]
    slower = 1 + looks % 4
    lines.append("# TYPE sager_lag_records gauge")
    lines += [f'sager_lag_records{{topic="{each}"}} {slower * share}' for each, share in TOPICS.items()]
    lines += ["# TYPE sager_dead_letters counter", 'sager_dead_letters_total{stage="contrast",reason="not-json"} 3']
    lines += ["# TYPE sager_llm_calls counter", f'sager_llm_calls_total{{prompt="evolve.v2",outcome="ok"}} {busy}']
    lines += ["# TYPE sager_llm_circuit_state gauge", "sager_llm_circuit_state 0"]
    return "\n".join(lines) + "\n"


def materializer(looks: int) -> str:
    lines = ["# TYPE sager_ready gauge", "sager_ready 1", "# TYPE sager_build_info gauge"]
    lines += ['sager_build_info{version="1.2.3"} 1', "# TYPE sager_materializer_snapshot_timestamp_seconds gauge"]
    lines += [f"sager_materializer_snapshot_timestamp_seconds {1.7e9 + looks}"]
    lines += ["# TYPE sager_materializer_lag_records gauge", 'sager_materializer_lag_records{topic="skill-diffs"} 4']
    return "\n".join(lines) + "\n"


class Processes:
    """A worker and a materializer that answer, and one that is away; `urls` are their addresses."""

    def __init__(self) -> None:
        self.asked = {"worker": 0, "materializer": 0}
        told = {"worker": worker, "materializer": materializer}
        self._servers = [
            ThreadingHTTPServer(("127.0.0.1", 0), _answering(self, name, tell)) for name, tell in told.items()
        ]
        # It keeps its port and refuses connections, as it never listens.
        self._away = socket.socket()
        self._away.bind(("127.0.0.1", 0))
        ports = [server.server_port for server in self._servers] + [self._away.getsockname()[1]]
        self.urls = ",".join(f"http://127.0.0.1:{port}/metrics" for port in ports)

    def __enter__(self) -> Self:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
        self._away.close()


def _answering(known: Processes, name: str, tell):  # type: ignore[no-untyped-def]
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.asked[name] += 1
            body = tell(known.asked[name]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    return Answer
