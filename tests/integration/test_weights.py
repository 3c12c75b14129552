"""Weights through a real broker: learned from rankings of ours, the same in two workers, reset by a person."""

import random

import pytest

from operators.seals import seal_record
from operators.weights import apply_outcome, initial_weights
from schemas import Contrast, Position, Ranking, RankingOutcome, Weights, decode
from tests.e2e.cli_user import answer, sager
from tests.harness import Harness, Outputs
from tests.worlds import film, slate

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

USERS, EACH, DOMAIN = 6, 4, "films"
SHARED = "what both workers seal rankings with"


def newest(harness: Harness) -> Weights:
    """The domain's weights as they were last published."""
    return decode(Weights, harness.outputs.newest(Weights)[DOMAIN.encode()])


def folded(harness: Harness) -> Weights:
    """What the outcomes on the topic make of the start values, offline."""
    weights = None
    for message in harness.outputs.records["outcomes"]:
        outcome = decode(RankingOutcome, message.value())
        where = Position(
            topic=str(message.topic()),
            partition=int(message.partition() or 0),
            offset=int(message.offset() or 0),
            timestamp_ms=message.timestamp()[1],
        )
        weights = apply_outcome(initial_weights(DOMAIN, outcome) if weights is None else weights, outcome, where)
    assert weights is not None
    return seal_record(weights)


@pytest.mark.thorough
def test_weights_are_learned_once_used_by_all_and_reset_by_a_person(harness: Harness) -> None:
    env = {
        "SAGER_BOOTSTRAP": harness.settings.bootstrap,
        "SAGER_PREFIX": harness.settings.prefix,
        "SAGER_PARTITIONS": str(harness.settings.partitions),
        "SAGER_EMBEDDED": "true",
        "SAGER_DATA_DIR": str(harness.settings.data_dir),
    }
    one = harness.worker("one", pseudonym_key=SHARED)
    harness.has_started("one")
    for user in range(USERS):
        for number in range(3):
            harness.events.interaction(f"u{user}", DOMAIN, film(6 * number + user))
    harness.events.flush()
    harness.quiet()
    for number in range(USERS * EACH):
        harness.events.rank_request(f"u{number % USERS}", DOMAIN, slate(number, 8, 60), request_id=f"r{number}")
    harness.events.flush()
    rankings: list[Ranking] = harness.count(Ranking, USERS * EACH).values(Ranking)
    assert {ranking.injected.weights_version for ranking in rankings} == {0}
    rng = random.Random(1)
    half = len(rankings) // 2
    for place, ranking in enumerate(rankings):
        if place == half:
            # In the middle of it all another worker takes over some partitions, and the first one is gone.
            harness.worker("two", pseudonym_key=SHARED)
            harness.has_started("two")
            harness.kill(one)
        taken = rng.choice(ranking.candidates[:4]).item_id
        harness.events.selection(ranking, taken)
    harness.events.flush()
    harness.count(Contrast, len(rankings))
    harness.quiet()

    telling = {c.event_id for c in harness.outputs.values(Contrast) if c.features is not None}
    outcomes: list[RankingOutcome] = harness.outputs.values(RankingOutcome)
    assert len(telling) > USERS
    assert len({outcome.event_id for outcome in outcomes}) == len(outcomes) == len(telling)
    assert newest(harness) == folded(harness)

    frozen = answer("weights", "freeze", "--domain", DOMAIN, env=env)
    assert (frozen["domain"], frozen["choices"], frozen["frozen"]) == (DOMAIN, len(telling), True)
    unsure = sager("weights", "reset", "--domain", DOMAIN, env=env)
    assert unsure.returncode == 2
    assert "--yes" in unsure.stderr
    reset = answer("weights", "reset", "--domain", DOMAIN, "--yes", env=env)
    assert (reset["choices"], reset["frozen"]) == (0, True)

    # Workers follow the topic: the next ranking but one or two goes by what was reset.
    asked: list[str] = []

    def goes_by(out: Outputs) -> bool:
        if all(any(r.ranking_id == name for r in out.values(Ranking)) for name in asked):
            asked.append(f"last-{len(asked)}")
            harness.events.rank_request("u1", DOMAIN, slate(99, 8, 60), request_id=asked[-1])
            harness.events.flush()
        return any(r.injected.weights_version == reset["version"] for r in out.values(Ranking))

    harness.until(goes_by, "a ranking by the weights that were reset")
