"""Metrics of a worker: bounded labels."""

from streams.worker.metrics import MOST_NAMES, OTHER, Names


def test_the_first_names_keep_theirs_and_the_rest_share_one() -> None:
    names = Names(["prior"])
    told = [names.label(f"domain-{number}") for number in range(1_000)]

    assert len(set(told)) == MOST_NAMES
    assert told[0] == "domain-0"
    assert told[-1] == OTHER
    assert names.label("domain-3") == "domain-3"
    assert names.label("prior") == "prior"
