"""Weights learned by real workers over a log in memory: once per choice, whatever happens, and the same for all."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from operators.seals import SealState, check_seal, seal_record
from operators.weights import apply_outcome, initial_weights, rank_weights
from schemas import FEATURE_ONE, Candidate, Contrast, Interaction, RankedBy, Ranking, RankRequest, Selection, encode
from schemas.weights import MAX_FEATURE, WEIGHT_ONE, Features, Mix, RankingOutcome, WeightAction, WeightCommand, Weights
from streams.pseudonyms import secret_of
from tests.builders import a_time, film
from tests.fake_log import FakeDeployment, FakeLog, FakeWorker, position, settings_in
from tests.unit.weigh.weigh_builders import an_outcome

USERS = ("ann", "bob", "kim")
DOMAIN = "films"


def histories(users: tuple[str, ...] = USERS) -> list[Interaction]:
    return [
        Interaction(
            event_id=f"i-{user}-{number}",
            occurred_at=a_time(),
            user_id=user,
            domain=DOMAIN,
            item=Candidate(**film(6 * number + place)),
        )
        for place, user in enumerate(users)
        for number in range(3)
    ]


def a_request(number: int, user: str = "", instruction: str = "") -> RankRequest:
    return RankRequest(
        event_id=f"q{number}",
        request_id=f"r{number}",
        occurred_at=a_time() + timedelta(seconds=number),
        user_id=user or USERS[number % len(USERS)],
        domain=DOMAIN,
        instruction=instruction,
        candidates=tuple(Candidate(**film(20 + number + place)) for place in range(6)),
    )


def a_choice(ranking: Ranking, place: int = 2) -> Selection:
    return Selection(
        event_id=f"s-{ranking.ranking_id}",
        occurred_at=ranking.occurred_at,
        user_id=ranking.user_id,
        ranking_id=ranking.ranking_id,
        item_id=ranking.candidates[place].item_id,
    )


def ranked(log: FakeLog) -> list[Ranking]:
    return list({ranking.ranking_id: ranking for ranking in log.values(Ranking)}.values())


async def choose(worker: FakeWorker, count: int, users: tuple[str, ...] = USERS) -> None:
    log = worker.log
    log.put_all(histories(users))
    await worker.quiet()
    log.put_all(a_request(number, users[number % len(users)]) for number in range(count))
    await worker.quiet()
    log.put_all(a_choice(ranking) for ranking in ranked(log))
    await worker.quiet()


def folded(log: FakeLog) -> Weights:
    """What all outcomes on the log make of the start values, folded offline in the order of their partition."""
    records = log.of(RankingOutcome.TOPIC)
    said = log.values(RankingOutcome)
    weights = initial_weights(DOMAIN, said[0])
    for record, outcome in zip(records, said, strict=True):
        weights = apply_outcome(weights, outcome, position(record))
    return weights


def newest(log: FakeLog) -> Weights:
    """What compaction leaves of the weights."""
    return log.newest(Weights)[DOMAIN.encode()]


def assert_once_each(log: FakeLog) -> None:
    """Every choice has one outcome, and the weights are the fold of all outcomes."""
    ids = Counter(outcome.event_id for outcome in log.values(RankingOutcome))
    choices = {contrast.event_id for contrast in log.values(Contrast)}
    assert set(ids.values()) == {1}, ids
    assert len(ids) == len(choices)
    assert newest(log) == seal_record(folded(log))
    assert newest(log).choices == len(choices)


async def test_choices_move_the_weights_and_rankings_go_by_them(deployment: FakeDeployment) -> None:
    worker, log = deployment.worker(), deployment.log
    await choose(worker, 9)

    assert_once_each(log)
    first = ranked(log)[0]
    assert first.injected.weights_version == 0
    assert first.injected.features is not None
    assert len(first.injected.features.chances) == 6

    log.put(a_request(50))
    await worker.quiet()
    assert ranked(log)[-1].injected.weights_version == newest(log).version > 0
    assert worker.parts.deps.learned_weights.get(DOMAIN).weights == rank_weights(newest(log), secret_of(log.settings))


def assert_own_lists(outcomes: list[RankingOutcome]) -> None:
    """An app's lists teach numbers and the domain's tastes, no weight of skill and community."""
    assert outcomes
    assert all(not outcome.dimensions and outcome.mix.keys() <= {Mix.TASTES} for outcome in outcomes)


async def test_an_apps_own_rankings_move_no_weight_of_the_skill(deployment: FakeDeployment) -> None:
    worker, log = deployment.worker(), deployment.log
    await choose(worker, 3)
    before = len(log.values(RankingOutcome))

    copied = [
        ranking.model_copy(update={"ranking_id": f"own-{place}", "event_id": f"own-{place}", "ranked_by": RankedBy.APP})
        for place, ranking in enumerate(ranked(log))
    ]
    log.put_all(copied)
    log.put_all(a_choice(ranking) for ranking in copied)
    await worker.quiet()

    assert len(log.values(Contrast)) == 6
    assert_own_lists(log.values(RankingOutcome)[before:])


async def test_a_forged_ranking_moves_no_weight_of_the_skill(deployment: FakeDeployment) -> None:
    """An app copies a ranking of ours with features of its own making: a token of one user suffices to send it."""
    worker, log = deployment.worker(), deployment.log
    await choose(worker, 3)
    before, ours = len(log.values(RankingOutcome)), ranked(log)[0]
    most = MAX_FEATURE * FEATURE_ONE
    extreme = Features(mix={Mix.POPULARITY: (most,) * 5 + (-most,)}, chances=(0,) * 5 + (FEATURE_ONE,))

    forged = [
        ours.model_copy(
            update={
                "event_id": f"forged-{number}",
                "ranking_id": f"forged-{number}",
                "injected": ours.injected.model_copy(update={"features": extreme}),
            }
        )
        for number in range(6)
    ]
    log.put_all(forged)
    log.put_all(a_choice(ranking, place=5) for ranking in forged)
    await worker.quiet()

    assert len(log.values(Contrast)) == 9, "the choices are learned from as those of any list of an app"
    assert_own_lists(log.values(RankingOutcome)[before:])


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "nothing committed"])
async def test_no_death_after_any_effect_loses_or_repeats_anything(deployment: FakeDeployment, commits: bool) -> None:
    """Also between the skill, the outcome and the weights."""
    log, worker = deployment.log, deployment.worker()
    log.put_all(histories())
    await worker.quiet()
    log.put_all(a_request(number) for number in range(4))
    await worker.quiet()
    await worker.stop()
    log.put_all(a_choice(ranking) for ranking in ranked(log))

    async for successor in deployment.successors(deaths=20, commits=commits):
        assert_once_each(successor.log)


async def test_an_outcome_whose_answer_is_lost_is_not_sent_twice(deployment: FakeDeployment) -> None:
    worker, log = deployment.worker(), deployment.log
    worker.fail(RankingOutcome.TOPIC, 2)
    worker.fail(Weights.TOPIC, 2)
    await choose(worker, 4)

    assert_once_each(log)


async def test_unwritten_outcomes_are_learned_by_the_next_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment = FakeDeployment(settings_in(tmp_path), monkeypatch)
    one, log = deployment.worker(), deployment.log
    gate = one.hold(Weights.TOPIC)
    log.put_all(an_outcome({Mix.SKILL: (1_500, 900)}, event_id=f"o{number}") for number in range(5))
    await one.until(lambda: gate.waiting > 0, "a write")

    other = deployment.worker(1)
    one.revoke()
    gate.open(drops=True)
    await other.quiet()

    assert newest(log) == seal_record(folded(log))
    assert newest(log).choices == 5


async def test_freeze_and_reset_are_carried_out_once(deployment: FakeDeployment) -> None:
    worker, log = deployment.worker(), deployment.log
    await choose(worker, 6)
    taught = newest(log)
    freeze = a_weight_command(WeightAction.FREEZE)
    log.put(freeze)
    await worker.quiet()
    assert newest(log).frozen
    assert newest(log).mix == taught.mix

    log.put(an_outcome({Mix.SKILL: (1_500, 900)}, event_id="while-frozen"))
    await worker.quiet()
    assert newest(log).version == taught.version + 1

    log.put(a_weight_command(WeightAction.RESET))
    log.put(a_weight_command(WeightAction.UNFREEZE))
    await worker.quiet()
    assert rank_weights(newest(log)) == rank_weights(None)
    assert (newest(log).frozen, newest(log).choices) == (False, 0)
    assert worker.parts.deps.learned_weights.get(DOMAIN).version == newest(log).version

    # Delivered once more from the start: a successor that finds nothing committed.
    before = newest(log)
    await worker.kill()
    log.committed.clear()
    await deployment.worker(2).quiet()
    assert newest(log) == before


def a_weight_command(action: WeightAction) -> WeightCommand:
    return WeightCommand(event_id=f"c-{action.value}", occurred_at=a_time(), domain=DOMAIN, action=action, actor="ops")


async def test_a_command_and_outcomes_in_one_batch_are_all_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment = FakeDeployment(settings_in(tmp_path, weights_flush_seconds=0.1), monkeypatch)
    worker, log = deployment.worker(), deployment.log
    log.put(an_outcome({Mix.SKILL: (1_500, 900)}, event_id="o1"))
    log.put(a_weight_command(WeightAction.UNFREEZE))
    log.put(an_outcome({Mix.SKILL: (1_500, 900)}, event_id="o2"))
    await worker.quiet()

    assert newest(log).version == 3
    assert [held.topic for held in newest(log).applied] == ["t.outcomes", "t.weight-commands"]
    await deployment.close()


async def test_weights_that_no_worker_sealed_are_neither_used_nor_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment = FakeDeployment(settings_in(tmp_path, chain_key="k" * 32), monkeypatch)
    worker, log = deployment.worker(), deployment.log
    log.put(an_outcome({Mix.SKILL: (1_500, 900)}))
    await worker.quiet()
    genuine = newest(log)
    assert check_seal(genuine, b"k" * 32) is SealState.RIGHT

    mix = {Mix.SKILL: genuine.mix[Mix.SKILL].model_copy(update={"weight": 0})}
    for forged in (
        genuine.model_copy(update={"mix": mix, "version": 99}),
        seal_record(genuine.model_copy(update={"mix": mix})),
    ):
        log.put(forged)
    log.put_bytes(Weights.TOPIC, encode(genuine), b"books")
    assert worker.parts.deps.learned_weights.get(DOMAIN).version == genuine.version
    assert worker.parts.deps.learned_weights.get("books").version == 0

    successor = deployment.worker(1)
    worker.revoke()
    log.put(an_outcome({Mix.SKILL: (1_500, 900)}, event_id="o2"))
    await successor.quiet()
    assert newest(log).version == 1
    assert newest(log).mix[Mix.SKILL].weight > WEIGHT_ONE
    await deployment.close()


async def test_one_persons_later_choices_count_less(
    deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = deployment.worker()
    seen: list[int] = []

    def spied(contrast: Contrast, skill: object, weights: object, nth: int, *rest: object) -> None:
        seen.append(nth)

    monkeypatch.setattr("streams.worker.agents.evolve.outcome_of", spied)
    await choose(worker, 5, users=("ann",))

    assert seen == [1, 2, 3, 4, 5]
    single = [a_request(number, "ann") for number in (50, 51, 52)]
    worker.log.put_all(asked.model_copy(update={"candidates": asked.candidates[:1]}) for asked in single)
    await worker.quiet()
    left = {"item_id": None, "none_taken": True}
    worker.log.put_all(a_choice(ranking, 0).model_copy(update=left) for ranking in ranked(worker.log)[5:])
    await worker.quiet()

    assert seen[5:] == [6, 7, 8], "of rejections too"


async def test_outcomes_and_weights_contain_no_user_and_no_item(deployment: FakeDeployment) -> None:
    worker, log = deployment.worker(), deployment.log
    await choose(worker, 6)

    told = b"".join(
        (record.key or b"") + (record.value or b"") for b in ("outcomes", "weights") for record in log.of(b)
    )
    for ranking in ranked(log):
        named = [ranking.user_id, ranking.ranking_id, ranking.event_id]
        for words in (*named, *(c.item_id for c in ranking.candidates), *(c.title for c in ranking.candidates)):
            assert f'"{words}"'.encode() not in told
    for contrast in log.values(Contrast):
        for words in (contrast.event_id, *(fact.value for fact in contrast.chosen.facts)):
            assert words.encode() not in told
    assert told
