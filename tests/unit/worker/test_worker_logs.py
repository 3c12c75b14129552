"""A broker's absence fills no disk: what repeats is told now and then, with its count."""

import logging
from itertools import count

from streams.worker.run import RateLimitFilter


def record(name: str, text: str, *args: object, exc_info: object = None) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, __file__, 1, text, args, exc_info)


def test_a_message_that_repeats_is_told_now_and_then_and_counted() -> None:
    seconds = count()
    seldom = RateLimitFilter(("aiokafka",), 10, lambda: float(next(seconds)))
    attempts = [record("aiokafka.conn", "no connection to %s (attempt %s)", "node 1", n) for n in range(21)]

    told = [attempt.getMessage() for attempt in attempts if seldom.filter(attempt)]

    assert told == [
        "no connection to node 1 (attempt 0)",
        "no connection to node 1 (attempt 10) (and 9 more like it)",
        "no connection to node 1 (attempt 20) (and 9 more like it)",
    ]
