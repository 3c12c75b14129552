"""The golden records: an example of every event, one a line in `contract/golden.txt`: name, space, bytes."""

import json
from pathlib import Path
from typing import Any

_LINES = (Path(__file__).parent / "contract" / "golden.txt").read_bytes().splitlines()
GOLDEN = {name.decode(): record for name, _, record in (line.partition(b" ") for line in _LINES)}


def wire(name: str) -> bytes:
    return GOLDEN[name]


def golden(name: str) -> Any:
    return json.loads(wire(name))
