"""What a worker counts: bounded labels, series that exist before the first event, and sizes of tables."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client import REGISTRY, generate_latest

from streams.worker import metrics
from streams.worker.metrics import MOST_NAMES, OTHER, Names
from streams.worker.runtime.state import size_of

AGENTS = Path(metrics.__file__).parent / "agents"


def test_the_first_names_keep_theirs_and_the_rest_share_one() -> None:
    names = Names(["prior"])
    told = [names.label(f"domain-{number}") for number in range(1_000)]

    assert len(set(told)) == MOST_NAMES
    assert told[0] == "domain-0"
    assert told[-1] == OTHER
    assert names.label("domain-3") == "domain-3"
    assert names.label("prior") == "prior"


@pytest.mark.parametrize("stage", [path.stem for path in sorted(AGENTS.glob("[a-z]*.py"))])
def test_every_outcome_of_an_agent_is_known_beforehand(stage: str) -> None:
    tree = ast.parse((AGENTS / f"{stage}.py").read_text(encoding="utf-8"))
    answers = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    either = [part for answer in answers if isinstance(answer, ast.IfExp) for part in (answer.body, answer.orelse)]
    returned = {part.value for part in [*answers, *either] if isinstance(part, ast.Constant)}

    of_any = {"rerouted", "dead-lettered"}
    assert returned - {None} - of_any <= set(metrics.OUTCOMES[stage])


def test_what_is_known_starts_at_zero() -> None:
    told = generate_latest(REGISTRY).decode()

    for series in (
        'sager_events_total{outcome="matched",stage="contrast"}',
        'sager_dead_letters_total{reason="internal-error",stage="evolve"}',
        'sager_tier_changes_total{after="high",before="medium",kind="reinforced"}',
        'sager_reasoner_failures_total{action="wait"}',
    ):
        assert f"\n{series} " in told


def test_a_tables_bytes_are_estimated_from_a_sample() -> None:
    assert size_of(SimpleNamespace(data={})) == (0, 0)
    assert size_of(SimpleNamespace(data={b"k%04d" % n: b"12345" for n in range(3_000)})) == (3_000, 30_000)


def test_what_rocksdb_holds_is_asked_of_it(tmp_path: Path) -> None:
    rocksdict = pytest.importorskip("rocksdict")
    shares = {
        number: rocksdict.Rdict(str(tmp_path / str(number)), rocksdict.Options(raw_mode=True)) for number in (0, 1)
    }
    for share in shares.values():
        for number in range(100):
            share.put(b"key-%d" % number, b"v" * 1_000)
        share.flush()

    entries, size = size_of(SimpleNamespace(_dbs=shares))

    assert entries == 200
    assert 1_000 < size < 400_000
