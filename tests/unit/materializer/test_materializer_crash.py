"""`kill -9` at any moment loses and doubles nothing; two writers are not possible."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streams.materializer import MaterializerError
from streams.materializer.store import Store
from tests.unit.materializer.materializer_builders import rows

HERE = Path(__file__).parent
WRITER = f"""
import sys
sys.path[:0] = [{str(HERE.parents[2])!r}, {str(HERE)!r}]
from pathlib import Path
from tests.unit.materializer.materializer_builders import at, diff, interaction, skill, record, batch_of
from streams.materializer.store import Progress, Store

store = Store(Path(sys.argv[1]), "sager.")
store._db.execute("SET checkpoint_threshold = '200KB'")  # so that kills hit checkpoints, too
done = store.offsets()
at = done["sager.interactions", 0].next_offset if done else 0
print("ready", flush=True)
while True:
    events = [e for n in range(at, at + 50) for e in (
        interaction(f"x{{n}}"), diff(n + 1), skill(n // 20 + 1, user=f"u{{n % 20}}"))]
    at += 50
    store.write(batch_of(*events), {{("sager.interactions", 0): Progress(at, "id-1")}})
    if at == 50:
        print("wrote", flush=True)
"""


def start(path):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"ready\n"
    return writer


def test_kill_9_loses_and_doubles_nothing(tmp_path):
    path, chance = tmp_path / "live.duckdb", random.Random(7)
    for round_ in range(5):
        writer = start(path)
        if not round_:
            assert writer.stdout.readline() == b"wrote\n", "however slow it is, there is something to lose"
        time.sleep(chance.uniform(0.1, 0.6))
        writer.kill()
        writer.wait()
    with Store(path, "sager.") as store:
        [progress] = store.offsets().values()
        read = progress.next_offset
        assert read > 0
        whole = "SELECT count(*), count(DISTINCT event_id) FROM interactions"
        assert rows(store, whole) == [(read, read)]
        assert rows(store, "SELECT count(*), max(version) FROM skill_diffs") == [(read, read)]
        assert rows(store, "SELECT count(*) FROM skill_changes") == [(2 * read + 1,)]
        newest = {(f"u{n % 20}", n // 20 + 1) for n in range(read - 20, read)}
        assert set(rows(store, "SELECT user_id, version FROM skills")) == newest
        assert rows(store, "SELECT count(*), min(version) FROM skill_attributes") == [(40, min(v for _, v in newest))]


def test_a_second_process_is_told_who_holds_the_file_and_what_to_do(tmp_path):
    path = tmp_path / "live.duckdb"
    writer = start(path)
    try:
        with pytest.raises(MaterializerError, match=r"another process holds .* stop the other `sager materialize`"):
            Store(path, "sager.")
    finally:
        writer.kill()
        writer.wait()
