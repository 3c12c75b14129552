"""The live page: differences between looks, processes that restart or are away; nothing is asked while nobody looks."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from streams.console.board import polls, scrape
from streams.console.board.live import live
from streams.console.board.polls import GAP_SECONDS, Polls
from streams.console.board.rates import BEYOND, between
from streams.console.board.scrape import Reading, parse
from streams.settings import Settings
from tests.console_metrics import Processes, worker

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
TAKEN = ("sager_records_taken_total", (("topic", "items"),))


class Clock:
    """Seconds, and looks at one process that counts."""

    def __init__(self) -> None:
        self.seconds, self.looks = 0.0, 0

    async def fetch(self) -> list[Reading]:
        self.looks += 1
        return [Reading("worker", parse(worker(self.looks))), Reading("gone", away="nothing listens there")]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def looked(clock) -> Polls:
    return Polls(clock.fetch, lambda: clock.seconds, lambda: NOW)


def test_counters_of_a_process_that_began_again_count_from_zero():
    before, after = Reading("a", {TAKEN: 100.0}), Reading("a", {TAKEN: 8.0})
    assert between([before], [after], 4).per_second(TAKEN[0], "topic") == {"items": 2.0}


def test_a_process_that_was_away_counts_for_nothing_until_it_was_seen_twice():
    here = Reading("a", {TAKEN: 100.0})
    for before in ([], [Reading("a", away="it did not answer")]):
        assert between(before, [here], 1).increases == {}
    assert between([here], [Reading("a", away="it did not answer")], 1).increases == {}


def test_a_quantile_above_every_bound_is_no_number():
    name = "sager_end_to_end_seconds"
    rises = {"1": 0.0, "120": 0.0, "+Inf": 9.0}
    after = Reading("a", {(f"{name}_bucket", (("le", le),)): value for le, value in rises.items()})
    span = between([Reading("a", dict.fromkeys(after.samples, 0.0))], [after], 1)
    assert span.quantile(name, 0.5) == BEYOND
    assert span.quantile(name, 0.5, stage="rank") is None
    seen = polls.Seen((after,), span)
    assert any(tile.value == "over 2 min" for tile in live(seen).tiles)


async def test_looks_are_shared_and_rates_come_with_the_second(clock, looked):
    first = await looked.look()
    assert live(first).measuring
    assert await looked.look() is first
    clock.seconds = 3.0
    several = await asyncio.gather(*(looked.look() for _ in range(5)))
    assert clock.looks == 2
    told = live(several[0])
    assert not told.measuring
    assert all(figure.has_data for figure in told.figures)
    by_stage = {row[0]: row for row in told.tables[0].rows}
    assert float(by_stage["rank"][1]) == pytest.approx(13 * 11 / 3, rel=0.15)


async def test_after_a_pause_rates_begin_anew(clock, looked):
    for seconds in (0.0, 3.0, 3.0 + GAP_SECONDS + 1):
        clock.seconds = seconds
        seen = await looked.look()
    assert (seen.span, seen.points) == (None, ())


def test_who_is_away_is_told_with_why_and_the_others_are_there():
    told = live(polls.Seen((Reading("w", parse(worker(1))), Reading("gone", away="nothing listens there"))))
    assert [(each.name, each.role, each.state) for each in told.processes] == [
        ("w", "worker", "ready"),
        ("gone", "?", "away"),
    ]
    assert told.tiles[0].value == "1 of 2"
    assert ("dead letter", "contrast, not-json", "3") in told.tables[2].rows


def test_nothing_at_all_is_a_page_too():
    told = live(polls.Seen())
    assert told.processes == ()
    assert not any(figure.has_data for figure in told.figures)


async def test_processes_are_asked_over_http_with_the_token_and_only_when_somebody_looks():
    with Processes() as there:
        settings = Settings(console_metrics=there.urls)
        looking = polls.of(settings)
        assert there.asked == {"worker": 0, "materializer": 0}
        seen = await looking.look()
        assert [bool(reading.away) for reading in seen.readings] == [False, False, True, False]
        there.wants = "sager_secret"
        [refused, *_] = await scrape.fetch(there.urls.split(","), None)
        assert "SAGER_CONSOLE_METRICS_TOKEN" in refused.away
        [let_in, *_] = await scrape.fetch(there.urls.split(","), "sager_secret")
        assert not let_in.away


@pytest.mark.parametrize(
    "body", ["<html>", "sager_x{", 'sager_x{a="b"} abc', "sager_x NaN\nsager_y +Inf", "\x00" * 9, ""]
)
def test_what_is_no_metric_gives_no_samples_or_is_refused(body):
    with suppress(ValueError):
        assert parse(body) == {}


def test_addresses_of_metrics_are_told_without_what_is_secret():
    with pytest.raises(ValueError, match="pattern"):
        Settings(console_metrics="http://user:secret@worker/metrics")
    with pytest.raises(ValueError, match="pattern"):
        Settings(console_metrics="file:///etc/passwd")
