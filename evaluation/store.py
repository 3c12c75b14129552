"""The results file: every run with its settings and the rank of each user's target.

A connection is open only while a row is written, because DuckDB lets no other process read meanwhile.
"""

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pyarrow as pa

from evaluation.exceptions import BadResults
from evaluation.kept import Curve, CurvePoint, Row
from evaluation.measures import MEASURES
from evaluation.run import Result

LAYOUT = 1
PATIENCE_SECONDS = 10.0
"""How long to wait while another evaluation writes."""
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    # DuckDB 1.5, today's command line, cannot read the default storage of 2.0.
    "storage_compatibility_version": "v1.5.0",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_TABLES = (
    "CREATE TABLE quality_layout (version INTEGER)",
    """CREATE TABLE runs (
        run_id VARCHAR PRIMARY KEY, finished_at TIMESTAMP, version VARCHAR, data VARCHAR, fingerprint VARCHAR,
        candidates VARCHAR, seed INTEGER, arm VARCHAR, users INTEGER,
        hit_at_1 DOUBLE, hit_at_3 DOUBLE, hit_at_5 DOUBLE, ndcg_at_3 DOUBLE, ndcg_at_5 DOUBLE,
        hit_at_1_low DOUBLE, hit_at_1_high DOUBLE,
        llm_calls BIGINT, prompt_tokens BIGINT, completion_tokens BIGINT, seconds DOUBLE, settings JSON)""",
    "CREATE TABLE places (run_id VARCHAR, user_id VARCHAR, place INTEGER)",
)
# Older files lack it and older programs ignore it, so that the layout stays the same.
_ADDED = """CREATE TABLE IF NOT EXISTS learning_curve (
    curve_id VARCHAR, finished_at TIMESTAMP, version VARCHAR, data VARCHAR, candidates VARCHAR, seed INTEGER,
    arm VARCHAR, contrasts_seen INTEGER, users INTEGER,
    hit_at_1 DOUBLE, hit_at_1_low DOUBLE, hit_at_1_high DOUBLE, settings JSON)"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored run.

    Attributes:
        fingerprint: a hash of the training visits; runs with different ones are not comparable.
        places: the rank of each user's target, from 1.
    """

    run_id: str
    finished_at: datetime
    arm: str
    users: int
    fingerprint: str
    places: Mapping[str, int]


class Store:
    """A results file. It and its parents are created.

    Raises:
        BadResults: it is something else, has a newer layout, or is held by another process for too long.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as db:
            self._prepare(db)

    def add(self, result: Result, fingerprint: str, settings: Mapping[str, Any]) -> str:
        """Stores a result and returns its id.

        Raises:
            BadResults: another process holds the file for too long.
        """
        run_id = uuid.uuid4().hex
        measures = [result.measures[name] for name in MEASURES]
        row = [
            *(run_id, datetime.now(UTC).replace(tzinfo=None), _version(), result.data, fingerprint),
            *(result.setting.candidates, result.setting.seed, result.arm, len(result.places)),
            *(*measures, *result.ci95_hit_at_1),
            *(result.llm_calls, result.prompt_tokens, result.completion_tokens, result.seconds),
            orjson.dumps(settings, default=str).decode(),
        ]
        places = pa.table(
            {
                "run_id": [run_id] * len(result.places),
                "user_id": list(result.places),
                "place": pa.array(result.places.values(), pa.int32()),
            }
        )
        with self._open() as db:
            db.execute("BEGIN")
            db.execute(f"INSERT INTO runs VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - question marks alone  # nosec B608
            db.register("new_places", places)
            db.execute("INSERT INTO places SELECT * FROM new_places").fetchall()
            db.execute("COMMIT")
        return run_id

    def newest(self, arm: str, data: str, candidates: str, seed: int, fingerprint: str | None = None) -> Kept | None:
        """The newest run of an arm on this data, these candidates and this seed; None if there is none."""
        with self._open() as db:
            found = db.execute(
                "SELECT run_id, finished_at, users, fingerprint FROM runs WHERE arm = ? AND data = ? "
                "AND candidates = ? AND seed = ? "
                "AND fingerprint = coalesce(?, fingerprint) ORDER BY finished_at DESC LIMIT 1",
                [arm, data, candidates, seed, fingerprint],
            ).fetchone()
            if found is None:
                return None
            run_id, finished_at, tested, trained_on = found
            return Kept(run_id, finished_at, arm, tested, trained_on, _places(db, run_id))

    def rows(self) -> list[Row]:
        """All runs, oldest first."""
        with self._open() as db:
            found = db.execute(
                "SELECT run_id, finished_at, version, data, fingerprint, candidates, seed, arm, users, "  # noqa: S608 - our own names; values are bound  # nosec B608
                f"[{', '.join(MEASURES)}], [hit_at_1_low, hit_at_1_high], "
                "llm_calls, prompt_tokens, completion_tokens, seconds, settings FROM runs ORDER BY finished_at, run_id"
            ).fetchall()
        return [_row(row) for row in found]

    def places(self, run_ids: Iterable[str]) -> dict[str, dict[str, int]]:
        """The rank of each user's target, from 1, by run; unknown runs are left out."""
        with self._open() as db:
            return {run_id: _places(db, run_id) for run_id in run_ids}

    def add_curve(self, curve: Curve, settings: Mapping[str, Any]) -> str:
        """Stores an arm's learning curve and returns its id.

        Raises:
            ValueError: it has no points.
            BadResults: another process holds the file for too long.
        """
        if not curve.points:
            raise ValueError("a curve needs points")
        curve_id = uuid.uuid4().hex
        told = (curve_id, datetime.now(UTC).replace(tzinfo=None), _version())
        whose = (curve.data, curve.candidates, curve.seed, curve.arm)
        made_with = orjson.dumps(settings, default=str).decode()
        rows: Sequence[Sequence[Any]] = [(*told, *whose, *astuple(point), made_with) for point in curve.points]
        with self._open() as db:
            db.execute("BEGIN")
            db.executemany(f"INSERT INTO learning_curve VALUES ({', '.join('?' * len(rows[0]))})", rows)  # noqa: S608 - question marks alone  # nosec B608
            db.execute("COMMIT")
        return curve_id

    def curves(self) -> list[Curve]:
        """The newest curve of every arm on every data set, candidates and seed."""
        with self._open() as db:
            found = db.execute(
                "SELECT curve_id, data, candidates, seed, arm, contrasts_seen, users, "
                "hit_at_1, hit_at_1_low, hit_at_1_high FROM learning_curve "
                "ORDER BY data, candidates, seed, arm, finished_at DESC, curve_id, contrasts_seen"
            ).fetchall()
        newest: dict[tuple[str, str, int, str], tuple[str, list[CurvePoint]]] = {}
        for curve_id, data, candidates, seed, arm, contrasts_seen, users, hits, low, high in found:
            kept, points = newest.setdefault((data, candidates, seed, arm), (curve_id, []))
            if kept == curve_id:
                points.append(CurvePoint(contrasts_seen, users, hits, low, high))
        return [Curve(*whose, tuple(points)) for whose, (_, points) in newest.items()]

    @contextmanager
    def _open(self) -> Iterator[duckdb.DuckDBPyConnection]:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                db = duckdb.connect(str(self.path), config=_CONFIG)
                break
            except duckdb.Error as error:
                if "lock" not in str(error).lower():
                    raise BadResults(f"{self.path} cannot be opened as a results file: {error}") from error
                if time.monotonic() > give_up:
                    raise BadResults(f"another process holds {self.path}: close it, or name another file") from error
            time.sleep(0.1)
        try:
            yield db
        finally:
            db.close()

    def _prepare(self, db: duckdb.DuckDBPyConnection) -> None:
        tables = {name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        if not tables:
            db.execute("BEGIN")
            for statement in _TABLES:
                db.execute(statement).fetchall()
            db.execute(_ADDED).fetchall()
            db.execute("INSERT INTO quality_layout VALUES (?)", [LAYOUT])
            db.execute("COMMIT")
            return
        if "quality_layout" not in tables:
            raise BadResults(f"{self.path} holds other tables: name another file for the results")
        [(layout,)] = db.execute("SELECT version FROM quality_layout").fetchall()
        if layout != LAYOUT:
            raise BadResults(f"{self.path} has layout {layout}, this program writes {LAYOUT}: name another file")
        if "learning_curve" not in tables:
            db.execute(_ADDED).fetchall()


def _row(found: tuple[Any, ...]) -> Row:
    *told, measures, (low, high), calls, asked, answered, seconds, settings = found
    run_id, finished_at, program, data, fingerprint, candidates, seed, arm, users = told
    return Row(
        *(run_id, finished_at, program, data, fingerprint, candidates, seed, arm, users),
        dict(zip(MEASURES, measures, strict=True)),
        (low, high),
        *(calls, asked, answered, seconds),
        orjson.loads(settings),
    )


def _places(db: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, int]:
    return dict(db.execute("SELECT user_id, place FROM places WHERE run_id = ?", [run_id]).fetchall())


def _version() -> str:
    try:
        return version("sager-streams")
    except PackageNotFoundError:
        return "source"
