"""The benchmark of the analytics file: the files that still hold a person after an erasure."""

import threading

from benchmarks.analytics import held_by
from streams.materializer.generations import Generations
from streams.materializer.snapshot import Publisher
from streams.materializer.store import Store


def test_the_files_are_read_once_the_publication_under_way_has_ended(tmp_path, monkeypatch):
    """A publication renames its temporary file, so a concurrent reader would find it gone."""
    begun, may_end, publish = threading.Event(), threading.Event(), Generations.publish

    def slow(self: Generations) -> None:
        (tmp_path / "sager.duckdb.tmp").write_bytes(b"user-1")
        begun.set()
        may_end.wait()
        (tmp_path / "sager.duckdb.tmp").unlink()
        publish(self)

    monkeypatch.setattr(Generations, "publish", slow)
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        publisher = Publisher(store, tmp_path / "sager.duckdb", 0.0)
        publisher.publish_if_due()
        begun.wait()
        threading.Timer(0.2, may_end.set).start()

        assert held_by(tmp_path, publisher, b"user-1") == []
        publisher.close()
