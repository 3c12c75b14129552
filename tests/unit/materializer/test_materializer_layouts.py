"""Files of older layouts become files of today's, with their rows; nothing tells them from a fresh one."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest

from schemas import PolicySkill, SkillDiff, decode
from streams.materializer import ddl
from streams.materializer.exceptions import MaterializerError
from streams.materializer.migrations import MIGRATIONS
from streams.materializer.store import Store
from tests.unit.materializer.materializer_builders import derived, diff, ranking, rows, selection, slim, write
from tests.unit.materializer.test_materializer_rows import CONTRAST, RANK_REQUEST

LAYOUTS = Path(__file__).parent / "layouts"
SCHEMA = {
    "tables": "SELECT table_name, comment, column_count, has_primary_key FROM duckdb_tables() ORDER BY ALL",
    "columns": """
        SELECT table_name, column_index, column_name, data_type, is_nullable, comment FROM duckdb_columns()
        WHERE NOT internal ORDER BY ALL
    """,
    "keys": "SELECT table_name, constraint_text FROM duckdb_constraints() ORDER BY ALL",
    "views": "SELECT view_name, comment, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
    "macros": """
        SELECT function_name, comment, parameters, macro_definition FROM duckdb_functions() WHERE NOT internal
        ORDER BY ALL
    """,
}


def schema(store):
    return {what: rows(store, query) for what, query in SCHEMA.items()}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("fresh") / "live.duckdb", "sager.") as store:
        return schema(store)


@cache
def made_by(layout):
    """The bytes of a file that the program of that layout made, with rows."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "live.duckdb"
        with duckdb.connect(str(path)) as con:
            con.execute((LAYOUTS / f"layout_{layout}.sql").read_text(encoding="utf-8"))
        return path.read_bytes()


@pytest.fixture(params=sorted(MIGRATIONS))
def older(request, tmp_path):
    path = tmp_path / "live.duckdb"
    path.write_bytes(made_by(request.param))
    return path


def test_every_layout_before_this_one_leads_to_the_next():
    assert sorted(MIGRATIONS) == list(range(1, ddl.LAYOUT_VERSION))


def test_a_migrated_file_is_the_same_as_a_fresh_one_in_all_but_its_rows(older, fresh):
    with Store(older, "sager.") as store:
        assert schema(store) == fresh
        assert rows(store, "SELECT schema_version, prefix FROM meta") == [(ddl.LAYOUT_VERSION, "sager.")]


def test_a_migrated_file_has_its_rows_and_takes_new_ones(older):
    with Store(older, "sager.") as store:
        before = rows(store, "SELECT count(*) FROM rankings"), rows(store, "SELECT count(*) FROM skill_diffs")
        write(store, ranking("new"), selection("new"), diff(7))
        after = rows(store, "SELECT count(*) - 1 FROM rankings"), rows(store, "SELECT count(*) - 1 FROM skill_diffs")
        assert after == before
        assert rows(derived(store), "SELECT ranking_id, item_rank FROM outcomes ORDER BY 1") == [
            ("new", 2), ("r1", 1), ("r2", 3), ("r3", 2)
        ]  # fmt: skip


def test_arms_and_prompts_are_told_from_what_was_kept(older):
    with Store(older, "sager.") as store:
        arms = rows(store, "SELECT ranking_id, arm FROM rankings ORDER BY 1")
        assert arms == [("r1", "evolved"), ("r2", "no-skill"), ("r3", "no-skill")]
        assert rows(store, "SELECT ranking_id, arm FROM contrasts") == [("r1", "evolved")]
        gated = {1: [(1, None, False)], 2: [(1, "evolve.v2", False), (2, None, True)]}
        found = rows(store, "SELECT version, prompt, gated FROM skill_diffs WHERE user_id = 'ann' ORDER BY 1")
        assert found in gated.values()


def test_facets_and_calls_of_layout_2_become_rows(tmp_path):
    path = tmp_path / "live.duckdb"
    path.write_bytes(made_by(2))
    with Store(path, "sager.") as store:
        query = "SELECT event_id, seq, facet, attribute_id, confidence, supporting_neighbors FROM ranking_facets"
        assert rows(store, query + " ORDER BY 1, 2") == [
            ("rank-r1", 1, "Drawn to noir", "preference:genre:noir", 0.75, ["item:a", "item:b"]),
            ("rank-r1", 2, 'No "attribute"; it\'s free', None, 0.5, []),
        ]
        query = "SELECT event_id, part, reasoner, model, calls, prompt_tokens, latency_ms, fallback FROM ranking_calls"
        assert rows(store, query + " ORDER BY 1, 2") == [
            ("rank-r1", "facets", "rules", None, 0, 0, 0, "timeout"),
            ("rank-r1", "rank", "llm", "m1", 1, 100, 250, None),
            ("rank-r2", "rank", "deterministic", None, 0, 0, 0, None),
        ]


def test_rows_of_layout_4_get_the_counts_that_the_same_records_give_today(tmp_path):
    path = tmp_path / "live.duckdb"
    path.write_bytes(made_by(4))
    with Store(path, "sager.") as store, Store(tmp_path / "new.duckdb", "sager.") as fresh:
        bobs = [
            decode(model, document.encode())
            for model, table in ((SkillDiff, "skill_diffs"), (PolicySkill, "skills"))
            for (document,) in rows(store, f"SELECT document FROM {table} WHERE user_id = 'bob' ORDER BY version")
        ]
        write(fresh, *bobs)
        for columns in (
            "version, seq, attribute_id, taken, expected FROM skill_changes",
            "attribute_id, tier, taken, expected, gained FROM skill_attributes",
            "* EXCLUDE user_id FROM skill_places",
            "silent, low, medium, high FROM skills",
        ):
            migrated = rows(store, f"SELECT {columns} WHERE user_id = 'bob' ORDER BY ALL")
            assert migrated == rows(fresh, f"SELECT {columns} ORDER BY ALL") != []


def test_what_a_newer_worker_said_before_layout_6_is_as_the_same_records_give_it_today(tmp_path):
    path = tmp_path / "live.duckdb"
    path.write_bytes(made_by(5))
    with Store(path, "sager.") as store, Store(tmp_path / "new.duckdb", "sager.") as fresh:
        documents = [
            decode(model, document.encode())
            for model, table in ((SkillDiff, "skill_diffs"), (PolicySkill, "skills"))
            for (document,) in rows(store, f"SELECT document FROM {table} WHERE user_id = 'eve' ORDER BY version")
        ]
        write(fresh, *documents, slim(4, "likes: noir", "eve"))
        for table in (
            "statements", "statement_changes", "skill_sessions", "session_lines", "skills", "skill_diffs",
            "skill_attributes", "slim_skills",
        ):  # fmt: skip
            kept = f"* FROM {table} WHERE user_id = 'eve' ORDER BY ALL"
            assert rows(store, f"SELECT {kept}") == rows(fresh, f"SELECT {kept}") != [], table


@pytest.mark.parametrize(
    "query",
    [
        "chances, nothing, suits, honoured, question, session_id FROM rankings WHERE injected IS NOT NULL",
        "others, in_order, none_taken, session_id FROM selections",
        "also_item_ids, in_order, session_id FROM contrasts",
        "clarify, session_id FROM rank_requests",
    ],
)
def test_what_there_was_not_before_layout_6_is_as_in_a_new_row_without_it(tmp_path, query):
    """Else a verification, which makes the rows again, would find them edited."""
    path = tmp_path / "live.duckdb"
    path.write_bytes(made_by(5))
    with Store(path, "sager.") as store, Store(tmp_path / "new.duckdb", "sager.") as fresh:
        write(fresh, ranking(), selection(), CONTRAST, RANK_REQUEST)
        assert set(map(str, rows(store, f"SELECT {query}"))) == set(map(str, rows(fresh, f"SELECT {query}"))) != set()


def test_a_migration_that_fails_leaves_the_file_as_it_was(older, monkeypatch):
    last = max(MIGRATIONS)
    monkeypatch.setitem(MIGRATIONS, last, (*MIGRATIONS[last][:1], "SELECT no_such_column FROM rankings"))
    with pytest.raises(MaterializerError, match="no_such_column"):
        Store(older, "sager.")
    monkeypatch.undo()
    con = duckdb.connect(str(older))
    [(layout,)] = con.execute("SELECT schema_version FROM meta").fetchall()
    con.close()
    assert layout in MIGRATIONS
    Store(older, "sager.").close()


def test_a_changed_query_reaches_a_file_that_is_there(tmp_path, monkeypatch):
    path = tmp_path / "live.duckdb"
    with Store(path, "sager.") as store:
        rows(store, "CREATE OR REPLACE VIEW learning_curve AS SELECT 1 AS old")
        rows(store, "CREATE VIEW gone AS SELECT 1")
        rows(store, "UPDATE meta SET queries = 'older'")
    with Store(path, "sager.") as store:
        assert rows(store, "SELECT nth FROM learning_curve") == []
        assert rows(store, "SELECT 1 FROM duckdb_views() WHERE view_name = 'gone'") == []
