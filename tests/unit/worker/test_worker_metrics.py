"""What a worker counts: bounded labels, series that exist before the first event, and sizes of tables."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from streams.worker.metrics import MOST_NAMES, OTHER, Names
from streams.worker.runtime.state import size_of


def test_the_first_names_keep_theirs_and_the_rest_share_one() -> None:
    names = Names(["prior"])
    told = [names.label(f"domain-{number}") for number in range(1_000)]

    assert len(set(told)) == MOST_NAMES
    assert told[0] == "domain-0"
    assert told[-1] == OTHER
    assert names.label("domain-3") == "domain-3"
    assert names.label("prior") == "prior"


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
