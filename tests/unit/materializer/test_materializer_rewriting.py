"""A file is written anew beside its rows: the new one has all of them, and nothing of what was deleted."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from operators.forget import with_scope
from schemas import ForgetRequest, Forgotten, Receipt, subject_of
from streams.materializer import ddl
from streams.materializer.exceptions import MaterializerError
from streams.materializer.records import Batch
from streams.materializer.snapshot import Publisher
from streams.materializer.store import Store
from tests.unit.materializer.materializer_builders import (
    NOON,
    at,
    diff,
    interaction,
    item,
    ranking,
    rows,
    selection,
    skill,
    tombstone,
    write,
)
from tests.unit.materializer.said_builders import abstention, correction, eves_log, eves_skill, fitted, rated

ROOT = Path(__file__).parents[3]
MOMENT = NOON.replace(tzinfo=None)


def receipt(user):
    request = ForgetRequest(event_id="r", occurred_at=at(60), user_id=user, actor="advocate")
    empty = Receipt(event_id="r", occurred_at=at(60), subject=subject_of(user))
    return with_scope(empty, request, Forgotten(event_id="r", until=at(60), actor="advocate", done=True))


def forget(store, user):
    store.write(Batch(), {}, [receipt(user)])


def before(store):
    for user in ("ann", "bob", "cyd", "dan"):
        write(store, interaction(f"x-{user}", user), ranking(f"r-{user}", user), selection(f"r-{user}", user=user))
        write(store, diff(1, f"c-{user}", user), skill(1, user=user), interactions=5)
    write(store, item("dune", "Dune"), *eves_log()[:2], rated("f1"), correction("w1"), abstention("n1"))
    write(store, rated("f2", user_id="ann"), correction("w2", user_id="ann"), abstention("n2", user_id="ann"))


def meanwhile(store):
    """Of everything that can happen to a row."""
    write(store, skill(2, user="bob"), diff(2, "c2-bob", "bob"), interaction("new", "eve"), interactions=9, skills=2)
    write(store, item("dune", "Dune, again"), tombstone(skill(1, user="cyd")))
    forget(store, "dan")
    write(store, ranking("late", "bob"), selection("late", user="bob"))
    write(store, *eves_log()[2:], eves_skill(), rated("f3"), correction("w3"), abstention("n3"), fitted("late"))


def contents(store):
    store.checkpoint(MOMENT, None)
    names = [table.name for table in ddl.all_tables() if table.name not in ("meta", "snapshot_info")]
    return {name: rows(store, f"SELECT * FROM {name} ORDER BY ALL") for name in names}


def test_the_new_file_has_what_came_meanwhile_and_nothing_of_what_was_deleted_before(tmp_path):
    with Store(tmp_path / "undisturbed.duckdb", "sager.") as store:
        before(store)
        forget(store, "ann")
        meanwhile(store)
        wanted = contents(store)
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        before(store)
        store.checkpoint(MOMENT, None)
        forget(store, "ann")
        store.checkpoint(MOMENT, None)
        rewriting = store.rewrite()
        meanwhile(store)
        store.adopt(rewriting.result())
        rewriting.stop()
        assert contents(store) == wanted
        assert store.is_stained(), "what was deleted meanwhile is in the new file's free blocks"
        # Keys hold in the new file, too.
        write(store, interaction("new", "eve"))
        assert rows(store, "SELECT count(*) FROM interactions WHERE user_id = 'eve'") == [(1,)]
        store.checkpoint(MOMENT, None)
        again = store.rewrite()
        store.adopt(again.result())
        again.stop()
        assert not store.is_stained()
        assert contents(store) == wanted
    assert sorted(path.name for path in tmp_path.glob("live*")) == ["live.duckdb"]
    found = (tmp_path / "live.duckdb").read_bytes()
    assert [name for name in ("x-ann", "x-dan") if name.encode() in found] == []
    assert b"x-bob" in found


def test_a_request_to_forget_alone_is_kept_while_the_file_is_rewritten(tmp_path):
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        before(store)
        store.checkpoint(MOMENT, None)
        rewriting = store.rewrite()
        forget(store, "ann")
        store.adopt(rewriting.result())
        rewriting.stop()
        assert store.is_stained()
        assert rows(store, "SELECT count(*) FROM interactions WHERE user_id = 'ann'") == [(0,)]


@pytest.mark.parametrize("when", ["before", "after", "while"])
@pytest.mark.parametrize("user", ["!AAAAAAA-first", "~zzzzzzz-last"])
def test_no_eight_bytes_of_an_erased_id_stay_in_a_columns_statistics(tmp_path, user, when):
    """DuckDB keeps the beginning of each column's least and greatest value."""
    tombstones = [tombstone(skill(1, user=user)), tombstone(diff(1, "c-1", user))]
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        before(store)
        write(store, interaction("x-1", user), ranking("r-1", user), selection("r-1", user=user))
        write(store, diff(1, "c-1", user), skill(1, user=user), rated("f9", user_id=user))
        publisher = Publisher(store, tmp_path / "sager.duckdb", 0.0)
        publisher.publish()
        assert user[:8].encode() in (tmp_path / "sager.duckdb").read_bytes()
        if when == "before":
            write(store, *tombstones)
        forget(store, user)
        publisher.note()
        if when == "while":
            publisher.publish_if_due()
            write(store, *tombstones)
        publisher.publish()
        if when == "after":
            write(store, *tombstones)
            publisher.publish()
        publisher.close()
    found = {path.name for path in tmp_path.iterdir() if user[:8].encode() in path.read_bytes()}
    assert found == set()


def test_rows_go_on_while_the_file_is_written_anew_and_then_no_file_holds_the_person(tmp_path):
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        before(store)
        publisher = Publisher(store, tmp_path / "sager.duckdb", 0.0)
        publisher.publish()
        forget(store, "ann")
        publisher.note()
        number, is_done = 0, False
        while not is_done:
            number += 1
            write(store, interaction(f"y{number}", "bob"), interactions=number)
            publisher.note()
            publisher.publish_if_due()
            is_done = not store.is_stained()
        publisher.publish_if_changed()
        publisher.close()
        assert rows(store, "SELECT count(*) FROM interactions WHERE event_id LIKE 'y%'") == [(number,)]
    assert number > 1
    assert [path.name for path in tmp_path.iterdir() if b"x-ann" in path.read_bytes()] == []


def test_a_new_file_that_cannot_be_made_leaves_the_old_one_and_is_tried_again(tmp_path):
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        before(store)
        forget(store, "ann")
        (tmp_path / "live.duckdb.fresh").mkdir()
        publisher = Publisher(store, tmp_path / "sager.duckdb", 0.0)
        with pytest.raises((MaterializerError, OSError)):
            publisher.publish()
        assert rows(store, "SELECT count(*) FROM interactions") == [(3,)]
        (tmp_path / "live.duckdb.fresh").rmdir()
        publisher.publish()
        publisher.close()
        assert rows(store, "SELECT count(*) FROM interactions") == [(3,)]
    assert [path.name for path in tmp_path.iterdir() if b"x-ann" in path.read_bytes()] == []


def test_a_log_that_could_not_be_written_into_its_file_never_lies_beside_the_new_one(tmp_path):
    """DuckDB opens no file with the log of another: after a kill the materializer could not start any more."""
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        before(store)
        forget(store, "ann")
        store.checkpoint(MOMENT, None)
        rewriting = store.rewrite()
        write(store, interaction("new", "eve"))
        rows(store, "PRAGMA disable_checkpoint_on_shutdown")  # as on a full disk
        with pytest.raises(MaterializerError, match="disk full"):
            store.adopt(rewriting.result())
        rewriting.stop()
        assert rows(store, "SELECT user_id FROM interactions ORDER BY 1") == [("bob",), ("cyd",), ("dan",), ("eve",)]
        assert store.is_stained(), "it is tried again"


def test_what_killed_processes_have_spilled_does_not_stay(tmp_path):
    for folder in ("spill", "live.duckdb.spill"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "duckdb_temp_7_0_storage_DEFAULT-0.tmp").write_bytes(b"rows of ann")

    with Store(tmp_path / "live.duckdb", "sager.") as store:
        assert sorted(path.name for path in tmp_path.rglob("*.tmp")) == []
        rewriting = store.rewrite()
        rewriting.wait()
        (tmp_path / "live.duckdb.spill").mkdir(exist_ok=True)
        rewriting.stop()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "spill") == ["live.duckdb"]


WRITER = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}]
from pathlib import Path
from streams.materializer import generations
from streams.materializer.snapshot import Publisher
from streams.materializer.store import Progress, Store
from tests.unit.materializer.materializer_builders import batch_of, interaction
from tests.unit.materializer.test_materializer_rewriting import receipt

generations.SMALL = 0
folder = Path(sys.argv[1])
store = Store(folder / "live.duckdb", "sager.")
publisher = Publisher(store, folder / "sager.duckdb", 0.0)
done = store.offsets()
at = done["sager.interactions", 0].next_offset if done else 0
print("ready", flush=True)
while True:
    for _ in range(5):
        at += 1
        event = interaction(f"x{{at}}", f"user-{{at - 1:05}}")
        store.write(batch_of(event), {{("sager.interactions", 0): Progress(at, "id")}})
        publisher.note()
        publisher.publish_if_due()
    store.write(batch_of(), {{}}, [receipt(f"user-{{at - 1:05}}")])
    print(at - 1, flush=True)
"""


def test_kill_9_while_files_are_published_and_written_anew(tmp_path):
    chance, forgotten, kills = random.Random(11), set(), 3
    for _ in range(kills):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        forgotten.add(int(writer.stdout.readline()))  # however slow it is, there is something to lose
        time.sleep(chance.uniform(0.1, 1.0))
        writer.kill()
        forgotten |= {int(line) for line in writer.communicate()[0].splitlines()}
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        [progress] = store.offsets().values()
        found = {int(user[5:]) for (user,) in rows(store, "SELECT user_id FROM interactions")}
        missing = set(range(progress.next_offset)) - found
        assert forgotten <= missing
        assert len(missing - forgotten) <= kills, "at most the one that a kill kept from being told"
        publisher = Publisher(store, tmp_path / "sager.duckdb", 0.0)
        publisher.publish()
        publisher.close()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["live.duckdb", "sager.duckdb"]
    for path in (tmp_path / "live.duckdb", tmp_path / "sager.duckdb"):
        held = path.read_bytes()
        assert [number for number in missing if f"user-{number:05}".encode() in held] == []
