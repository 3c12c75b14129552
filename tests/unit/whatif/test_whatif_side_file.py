"""The file of replays: several in one, each whole or not at all, and no other file is touched."""

from pathlib import Path

import duckdb
import pytest

from streams.whatif import side_file
from streams.whatif.side_file import NotAReplay, SideFile

SKILL = ("ann", "books", 2, 2, True, 5, 5, 5, 10, 10, "{}", "{}")


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute(query).fetchall()


RUN = (None, True, "p.", "{}", "{}", 1, 1, 1, 0, 0, 0, 0, 0)


def fail(path: Path, run: str) -> None:
    with SideFile(path, run) as file:
        file.add(side_file.SKILLS, [SKILL])
        raise ZeroDivisionError


def test_every_table_column_and_view_is_explained(tmp_path: Path) -> None:
    with SideFile(tmp_path / "side.duckdb", "one") as file:
        file.keep(RUN)

    without = """
        SELECT table_name, column_name FROM duckdb_columns()
        WHERE comment IS NULL AND NOT internal AND table_name <> 'replay_arms'
    """
    assert rows(tmp_path / "side.duckdb", without) == []
    assert rows(tmp_path / "side.duckdb", "SELECT 1 FROM duckdb_views() WHERE NOT internal AND comment IS NULL") == []


def test_a_replay_that_fails_leaves_only_what_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "side.duckdb"
    with pytest.raises(ZeroDivisionError):
        fail(path, "one")
    assert not path.exists()

    with SideFile(path, "one") as file:
        file.add(side_file.SKILLS, [SKILL])
        file.keep(RUN)
    with pytest.raises(ZeroDivisionError):
        fail(path, "two")
    assert rows(path, "SELECT run FROM replay_skills") == [("one",)]


def test_neither_a_name_nor_another_file_is_written_over(tmp_path: Path) -> None:
    path, other = tmp_path / "side.duckdb", tmp_path / "other.duckdb"
    with SideFile(path, "one") as file:
        file.keep(RUN)
        file.keep(RUN)
    with duckdb.connect(str(other)) as con:
        con.execute("CREATE TABLE skills (user_id VARCHAR)")

    with pytest.raises(NotAReplay, match="--name"):
        SideFile(path, "one")
    with pytest.raises(NotAReplay, match="--out"):
        SideFile(other, "one")
    assert rows(other, "SELECT count(*) FROM duckdb_tables()") == [(1,)]
