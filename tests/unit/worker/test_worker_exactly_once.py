"""Whatever happens to a worker, the log comes to what an undisturbed run makes of it, each version once (invariant 2).

The oracle is the one of the fault tests: an offline fold of the same rankings and selections. Here the real agents run
over a fake log, so that a worker can die after every single effect, and every topic can fail.
"""

from collections import Counter
from datetime import timedelta

import pytest

from operators.attributes import ranked_lines
from operators.audit import chain_breaks
from operators.learning.fold import fold
from schemas import Action, Candidate, Contrast, PolicySkill, Ranking, Selection, SkillLineInput, SlimSkill, Tier
from tests.builders import a_command, a_time, film
from tests.fake_log import FakeDeployment, FakeLog
from tests.faults.oracle import (
    assert_one_version_each,
    assert_order,
    assert_the_graph_knows_each_choice_once,
    content,
    expected_contrasts,
    expected_skills,
    first_of_each,
)

USERS = ("ann", "bob", "kim", "zoe")
FILMS = 5
CHANGELOGS = ("open-rankings", "memories", "skills")
OUTPUTS = ("contrasts", "skill-diffs", "slim-skills", "item-touches", "item-memories")


def choice(number: int, user: str = "") -> tuple[Ranking, Selection]:
    """A ranking of made-up films, and what was taken: every film twice in a row, so that skills soon say something."""
    user = user or USERS[number % len(USERS)]
    at = a_time() + timedelta(seconds=number)
    first = number // len(USERS)
    shown = tuple(Candidate(**film((first + place) % FILMS)) for place in range(FILMS))
    where = {"user_id": user, "ranking_id": f"r{number}"}
    ranking = Ranking(event_id=f"ranking-{number}", occurred_at=at, domain="films", candidates=shown, **where)
    taken = film(first // 2 % FILMS)["item_id"]
    selection = Selection(event_id=f"selection-{number}", occurred_at=at, item_id=taken, **where)
    return ranking, selection


def choices(count: int) -> list[tuple[Ranking, Selection]]:
    return [choice(number) for number in range(count)]


def loyal_choices() -> list[tuple[Ranking, Selection]]:
    """Six choices of each user, always of one film: the last one proves a line, so that it changes the slim skill."""
    made = choices(6 * len(USERS))
    return [
        (ranking, selection.model_copy(update={"item_id": film(number % len(USERS))["item_id"]}))
        for number, (ranking, selection) in enumerate(made)
    ]


def put(log: FakeLog, made: list[tuple[Ranking, Selection]]) -> None:
    for pair in made:
        log.put_all(pair)


def assert_undisturbed(log: FakeLog, made: list[tuple[Ranking, Selection]]) -> None:
    """Hold the log against the offline fold: nothing is missing, nothing is there twice, all in its user's order."""
    rankings, selections = zip(*made, strict=True)
    contrasts = first_of_each(log.values(Contrast))
    assert {contrast.event_id: contrast for contrast in contrasts} == expected_contrasts(rankings, selections)
    versions = Counter((diff.user_id, diff.version) for diff in log.diffs)
    assert max(versions.values()) == 1, versions
    assert_one_version_each(log)  # type: ignore[arg-type]
    assert_order(log, contrasts)  # type: ignore[arg-type]
    assert_the_graph_knows_each_choice_once(log, Counter(ranking.user_id for ranking in rankings))  # type: ignore[arg-type]
    wanted = expected_skills(contrasts)
    found = log.newest(PolicySkill)
    assert {key: content(skill) for key, skill in found.items()} == {k: content(s) for k, s in wanted.items()}
    slims = log.newest(SlimSkill)
    assert {key for key, skill in found.items() if ranked_lines(skill)} >= set(slims)
    assert log.of("dead-letters") == []


@pytest.mark.parametrize("seed", range(8))
async def test_the_order_of_arrival_does_not_matter(deployment: FakeDeployment, seed: int) -> None:
    made = choices(12)
    put(deployment.log, made)

    await deployment.worker(seed, slow=1 + 3 * seed).quiet()

    assert_undisturbed(deployment.log, made)


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "nothing committed"])
async def test_no_death_after_any_effect_loses_or_repeats_anything(deployment: FakeDeployment, commits: bool) -> None:
    """Its successor begins where the group has committed, with what the changelogs say."""
    made = choices(4)
    put(deployment.log, made)

    async for _ in deployment.successors(deaths=30, commits=commits):
        assert_undisturbed(deployment.log, made)


async def test_a_death_during_a_command_loses_nothing(deployment: FakeDeployment) -> None:
    """Commands and contrasts are two topics: a successor may read the later event before the earlier one."""
    line = SkillLineInput(dimension="music", value="waltzes", tier=Tier.HIGH)
    deployment.log.put(a_command(Action.ADD, line=line, event_id="add", user_id="ann", domain="films"))
    put(deployment.log, [choice(number, "ann") for number in range(3)])

    async for successor in deployment.successors(deaths=20, commits=False):
        log = successor.log
        assert [diff.version for diff in log.diffs] == [1, 2, 3, 4]
        assert {diff.event_id for diff in log.diffs} == {"add", *(each.event_id for each in log.values(Contrast))}
        assert chain_breaks(log.diffs) == []
        assert fold(log.diffs) == {(s.user_id, s.domain): s for s in log.newest(PolicySkill).values()}


@pytest.mark.parametrize("base", [*CHANGELOGS, *OUTPUTS])
async def test_a_failed_send_is_repeated_once_delivered_once(deployment: FakeDeployment, base: str) -> None:
    made = loyal_choices()
    put(deployment.log, made)
    worker = deployment.worker(slow=5)
    worker.fail(base, times=5)

    await worker.quiet()

    assert_undisturbed(deployment.log, made)


LEADS_TO = {
    "rankings": ("open-rankings",),
    "selections": ("open-rankings", "contrasts"),
    "contrasts": ("memories", "item-touches", "skills", "skill-diffs", "slim-skills"),
    "item-touches": ("item-memories",),
}


@pytest.mark.parametrize(("source", "base"), [(source, base) for source, to in LEADS_TO.items() for base in to])
async def test_an_event_is_acknowledged_only_after_all_its_outputs(
    deployment: FakeDeployment, source: str, base: str
) -> None:
    made = loyal_choices()
    worker = deployment.worker()
    put(deployment.log, made[:-1])
    # The later one of a ranking and its selection sends the contrast.
    first = made[-1][:1] if source == "selections" else ()
    deployment.log.put_all(first)
    await worker.quiet()
    gate = worker.hold(base)

    deployment.log.put_all(made[-1][len(first) :])
    await worker.until(lambda: gate.waiting > 0, f"a send to {base}")
    await worker.settle()

    assert worker.is_behind(source)
    assert worker.tables == {name: deployment.log.compacted(name) for name in worker.tables}, "nor held"
    gate.open()
    await worker.quiet()
    assert_undisturbed(deployment.log, made)


@pytest.mark.parametrize("base", [*CHANGELOGS, *OUTPUTS])
@pytest.mark.parametrize("is_member", [True, False], ids=["revoked", "no member"])
async def test_a_replaced_worker_writes_nothing_more(deployment: FakeDeployment, base: str, is_member: bool) -> None:
    """What was on its way when it lost its membership fails; it must not be tried again."""
    made = loyal_choices()
    replaced = deployment.worker()
    put(deployment.log, made[:-1])
    await replaced.quiet()
    gate = replaced.hold(base)
    put(deployment.log, made[-1:])
    await replaced.until(lambda: gate.waiting > 0, f"a send to {base}")
    await replaced.settle()

    successor = deployment.worker(1)
    if is_member:
        replaced.revoke()
    else:
        replaced.parts.app.membership.lose()
    await successor.quiet()
    before, done = replaced.effects, dict(replaced.acked_to)
    gate.open(drops=True)
    await replaced.until(lambda: not replaced.running, "it to give up")

    assert (replaced.effects, replaced.acked_to) == (before, done)
    assert_undisturbed(deployment.log, made)


@pytest.mark.parametrize("base", [*CHANGELOGS, *OUTPUTS])
@pytest.mark.parametrize("seed", [1, 2])
async def test_partitions_that_move_in_the_middle_of_a_handler(
    deployment: FakeDeployment, base: str, seed: int
) -> None:
    """A rebalance: what comes again has another generation, and what was under way goes no further."""
    made = loyal_choices()
    worker = deployment.worker(seed, commits=False)
    put(deployment.log, made[:-1])
    await worker.quiet()
    gate = worker.hold(base)
    put(deployment.log, made[-1:])
    await worker.until(lambda: gate.waiting > 0, f"a send to {base}")
    await worker.settle()

    worker.assign()
    gate.open(drops=True)
    await worker.quiet()

    assert_undisturbed(deployment.log, made)
