"""The side tables: a DuckDB file of replays, which analysts attach beside the snapshot. Nothing live is in it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from streams import private
from streams.exceptions import StreamsError
from streams.materializer.schema import quoted
from streams.materializer.columns import Table, flag, moment, number, real, text

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # As the live file: today's command line has to be able to read it.
    "storage_compatibility_version": "v1.5.0",
}
RUN = text("run", "The replay's name")
USER, DOMAIN = text("user_id", "The user, as the app names them"), text("domain", "The domain, such as books")

RUNS = Table(
    "replay_runs",
    "One row per replay in this file: what was changed, and of what it was made",
    ("run",),
    (
        RUN,
        moment("made_at", "When it ended"),
        flag("complete", "Whether it came to its end; else it was interrupted, and holds whole partitions up to there"),
        text("prefix", "The deployment's topic prefix"),
        text("changed", "The knobs, as JSON text: changed ->> '$.reasoner'"),
        text("chosen", "What was asked for, as JSON text: since_ms, user, domain, limit"),
        number("users", "Users with a choice"),
        number("skills", "Skills, by user and domain"),
        number("choices", "Choices at which both sides were measured"),
        number("commands", "Commands of persons, carried out on both sides"),
        number("pending", "Choices that the live side had not come to yet: left out"),
        number("missing", "Live diffs in between whose event was not at hand"),
        number("broken", "Skills left out: their log has a gap or nothing"),
        number("unavailable", "Choices from which the what-if learned nothing: no reasoner answered"),
    ),
)
SKILLS = Table(
    "replay_skills",
    "One row per skill and replay: what both sides have come to",
    ("run", "user_id", "domain"),
    (
        RUN,
        USER,
        DOMAIN,
        number("live_version", "The live skill's version at the last event replayed"),
        number("whatif_version", "The what-if skill's"),
        flag("identical", "Whether both are the same, byte for byte"),
        number("live_lines", "How many attributes the live skill has"),
        number("whatif_lines", "How many the what-if skill has"),
        number("shared_lines", "How many of them are in both"),
        number("live_slim_tokens", "Length of the live slim skill"),
        number("whatif_slim_tokens", "Length of the what-if slim skill"),
        text("live_skill", "The live skill, as JSON text like skills.document"),
        text("whatif_skill", "The what-if skill, likewise"),
    ),
)
_SIDES = ("live", "whatif")
OUTCOMES = Table(
    "replay_outcomes",
    "One row per choice and replay: where each side would have put what was taken, before it learned from it",
    ("run", "user_id", "event_id"),
    (
        RUN,
        USER,
        text("event_id", "The contrast; as in contrasts"),
        moment("occurred_at", "When it happened"),
        DOMAIN,
        text("ranking_id", "The ranking it belongs to"),
        number("nth", "The user's first, second, ... choice in this domain and replay"),
        number("candidates", "How many there were to choose from"),
        number("shown_rank", "The place at which the item was shown"),
        number("live_rank", "The place that the live skill gives it; 1 is the top"),
        number("whatif_rank", "The place that the what-if skill gives it"),
        number("live_version", "The live skill's version then"),
        number("whatif_version", "The what-if skill's version then"),
        *(
            column
            for side in _SIDES
            for column in (
                text(f"{side}_reasoner", "Who judged the choice; null: it learned nothing from it"),
                number(f"{side}_calls", "LLM calls"),
                number(f"{side}_prompt_tokens", "Tokens in, all calls"),
                number(f"{side}_completion_tokens", "Tokens out, all calls"),
                number(f"{side}_latency_ms", "Time that it took"),
                text(f"{side}_fallback", "Why another reasoner than the configured one answered"),
                real(f"{side}_cost_dollars", "By the prices that this side is configured with"),
            )
        ),
        text("unavailable", "Why the what-if learned nothing, where no reasoner answered"),
    ),
)
TABLES = (RUNS, SKILLS, OUTCOMES)
ARMS = """
CREATE VIEW replay_arms AS
SELECT run, domain, count(*) AS users, sum(choices)::BIGINT AS choices,
       sum(live_at_1) / sum(choices) AS live_hit_at_1, sum(whatif_at_1) / sum(choices) AS whatif_hit_at_1,
       sum(live_at_5) / sum(choices) AS live_hit_at_5, sum(whatif_at_5) / sum(choices) AS whatif_hit_at_5,
       sum(live_ndcg) / sum(choices) AS live_ndcg_at_5, sum(whatif_ndcg) / sum(choices) AS whatif_ndcg_at_5,
       sum(whatif_ndcg - live_ndcg) / sum(choices) AS difference,
       count(*) FILTER (whatif_ndcg > live_ndcg + 1e-9) AS users_better,
       count(*) FILTER (whatif_ndcg < live_ndcg - 1e-9) AS users_worse
FROM (
    SELECT run, domain, user_id, count(*)::DOUBLE AS choices,
           count(*) FILTER (live_rank <= 1) AS live_at_1, count(*) FILTER (whatif_rank <= 1) AS whatif_at_1,
           count(*) FILTER (live_rank <= 5) AS live_at_5, count(*) FILTER (whatif_rank <= 5) AS whatif_at_5,
           sum(CASE WHEN live_rank <= 5 THEN 1 / log2(1 + live_rank) ELSE 0 END) AS live_ndcg,
           sum(CASE WHEN whatif_rank <= 5 THEN 1 / log2(1 + whatif_rank) ELSE 0 END) AS whatif_ndcg
    FROM replay_outcomes GROUP BY ALL
)
GROUP BY run, domain
"""
ARMS_COMMENT = "Per replay and domain: both sides on the same choices, and how many users fare better and worse"


class NotAReplay(StreamsError, ValueError):
    """The file that is to be written is another one, or has a replay of this name."""


class SideFile:
    """One file of replays, made where there is none. Use it as a context manager: an error takes back what is not kept.

    Args:
        path: the file; its folder is made.
        run: the name of the replay to be written.

    Raises:
        NotAReplay: the file holds other tables, or this name.
        duckdb.Error: it cannot be opened.
    """

    def __init__(self, path: Path, run: str) -> None:
        private.make(path.parent)
        self._path, self._run = path, run
        self._is_new = not path.exists()
        self._con = duckdb.connect(config=_CONFIG)
        try:
            self._con.execute(f"ATTACH {quoted(str(path))} AS replays")
            self._con.execute("USE replays")
            self._con.execute("BEGIN")
            self._prepare()
        except BaseException:
            self._con.close()
            raise

    def add(self, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """Put rows into a table; the run's name comes before what they hold."""
        if not rows:
            return
        columns = zip(*((self._run, *row) for row in rows), strict=True)
        arrays = [pa.array(column, type=field.type) for column, field in zip(columns, table.schema, strict=True)]
        self._con.register("batch", pa.table(arrays, names=table.schema.names))
        self._con.execute(f"INSERT INTO {table.name} SELECT * FROM batch").fetchall()  # noqa: S608 - our own names; values are bound  # nosec B608

    def keep(self, run_row: tuple[Any, ...]) -> None:
        """Keep for good what was put in so far, with this row of replay_runs in the place of an earlier one."""
        self._con.execute("DELETE FROM replay_runs WHERE run = ?", [self._run])
        self.add(RUNS, [run_row])
        self._con.execute("COMMIT")
        self._is_new = False
        self._con.execute("BEGIN")

    def _prepare(self) -> None:
        found = {name for (name,) in self._con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        if not found:
            for table in TABLES:
                columns = ", ".join(f'"{c.name}" {c.type}' for c in table.columns)
                self._con.execute(f"CREATE TABLE {table.name} ({columns}, PRIMARY KEY ({', '.join(table.key)}))")
                self._con.execute(f"COMMENT ON TABLE {table.name} IS {quoted(table.comment)}")
                for column in table.columns:
                    self._con.execute(f'COMMENT ON COLUMN {table.name}."{column.name}" IS {quoted(column.comment)}')
            self._con.execute(ARMS)
            self._con.execute(f"COMMENT ON VIEW replay_arms IS {quoted(ARMS_COMMENT)}")
        elif found != {table.name for table in TABLES}:
            raise NotAReplay(f"{self._path} is no file of replays; name another with --out")
        elif self._con.execute("SELECT 1 FROM replay_runs WHERE run = ?", [self._run]).fetchall():
            raise NotAReplay(f"{self._path} has a replay {self._run!r} already; give this one another --name")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._con.execute("ROLLBACK")
        finally:
            self._con.close()
            if kind is not None and self._is_new:
                self._path.unlink(missing_ok=True)
