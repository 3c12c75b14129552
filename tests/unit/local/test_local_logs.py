"""An object a line."""

import json
import logging
import subprocess
import sys
from datetime import datetime


def test_every_line_is_an_object_also_of_an_error() -> None:
    program = """
import logging
from streams.logs import LogFormat, configure
configure("INFO", LogFormat.JSON)
logging.getLogger("sager.x").info("a %s\\nb", "line")
try: 1 / 0
except ZeroDivisionError: logging.getLogger("sager.y").exception("it failed")
logging.getLogger("sager.z").debug("not this")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    first, second = map(json.loads, done.stderr.splitlines())

    assert (first["level"], first["logger"], first["message"]) == ("INFO", "sager.x", "a line\nb")
    assert datetime.fromisoformat(first["time"]).utcoffset() is not None
    assert logging.getLevelName(second["level"]) == logging.ERROR
    assert "ZeroDivisionError" in second["exception"]
