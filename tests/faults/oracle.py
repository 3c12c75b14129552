"""What every fault must leave behind: the outputs of a run that nothing has disturbed.

The oracle is an offline fold. It makes contrasts of the rankings and selections that were accepted and skills of the
contrasts, with the operators alone, and compares: log, skills topic, slim topic and DuckDB. Nothing may be missing,
nothing may be there twice.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from operators.audit import chain_breaks, without_seals
from operators.contrast import join_ranking, join_selection
from operators.evolve.proposals import CountsReasoner
from operators.graph.items import takers_of, touch_items
from operators.statinit import facts_of, parser_for
from operators.steps.evolve import EvolveState, EvolveStep
from operators.steps.prior import SkillStart
from schemas import Contrast, PolicySkill, Position, Ranking, Selection, SkillDiff, SlimSkill, compound_key, decode
from schemas.state import ItemMemory, Memory
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.harness import Harness, Outputs

FULL = os.environ.get("SAGER_TEST_FAULTS", "short") == "full"


def times(short: int, full: int) -> int:
    """How often to do it: a few times, or often with SAGER_TEST_FAULTS=full; SAGER_TEST_TIMES says exactly."""
    return int(os.environ.get("SAGER_TEST_TIMES") or (full if FULL else short))


@dataclass
class Run:
    """The outcome of a scenario, for the table in docs/reliability.md; appended to SAGER_TEST_REPORT if that is set.

    Attributes:
        times: strikes.
        events: accepted by the broker.
        lost: selections without a diff.
        silent: of these, selections without a dead letter.
        doubled: versions that are on a topic more than once.
        resent: records that follow themselves after an outage.
    """

    scenario: str
    broker: str
    times: int = 1
    events: int = 0
    lost: int = 0
    silent: int = 0
    doubled: int = 0
    resent: int = 0
    recovery_seconds: list[float] = field(default_factory=list)

    def report(self) -> None:
        where = os.environ.get("SAGER_TEST_REPORT")
        if where:
            with Path(where).open("a") as out:
                out.write(json.dumps(vars(self) | {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}) + "\n")


def expected_contrasts(rankings: Sequence[Ranking], selections: Sequence[Selection]) -> dict[str, Contrast]:
    """By event id: what the operator makes of each ranking with its selection, each pair by itself."""
    shown = {ranking.ranking_id: ranking for ranking in rankings}
    made: dict[str, Contrast] = {}
    for selection in selections:
        ranking = shown[selection.ranking_id]
        parser = parser_for(ranking.domain, {})
        at, later = (Position(topic="offline", partition=0, offset=n, timestamp_ms=0) for n in range(2))
        opened = join_ranking(None, ranking, lambda item, parser=parser: facts_of(item, parser), at).state
        contrast = join_selection(opened, selection, later).contrast
        assert contrast is not None
        made[contrast.event_id] = contrast
    return made


def expected_skills(contrasts: Sequence[Contrast]) -> dict[bytes, PolicySkill]:
    """The offline fold, in each user's order, by the counts."""
    skills: dict[bytes, PolicySkill] = {}
    step, reasoner = EvolveStep(slim_tokens=30, privacy=PRIVACY, gate=OUTPUT_GATE), CountsReasoner()
    for contrast in contrasts:
        key = compound_key(contrast.user_id, contrast.domain)
        skill = skills.get(key) or SkillStart(privacy=PRIVACY).skill(contrast.user_id, contrast.domain, contrast, None)
        known = step.prepare(EvolveState(skill), contrast).contrast
        assert known is not None
        skills[key] = step.finish(EvolveState(skill), known, reasoner.propose(known, skill)).skill
    return skills


def content(skill: PolicySkill) -> dict[str, object]:
    """Return a skill without seals, positions and the selection that follows the domain's weights of its time."""
    selection = {"slim_lines": True, "trade_off": True}
    return without_seals(skill).model_dump(
        exclude={**selection, "applied": True, "last_diff": {**selection, "source": True}}
    )


def first_of_each(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Without repeated deliveries, in order."""
    return list({contrast.event_id: contrast for contrast in reversed(contrasts)}.values())[::-1]


def assert_undisturbed(
    harness: Harness,
    run: Run,
    rankings: Sequence[Ranking],
    selections: Sequence[Selection],
    *,
    by_rules: bool = True,
    may_arrive_late: bool = False,
    may_be_resent: bool = False,
    dead_letters: int = 0,
) -> Outputs:
    """Wait until everything has come through, then hold it against the offline fold.

    Args:
        harness: the deployment, its workers and its materializer running.
        run: gets what was lost or doubled, and is reported before anything is asserted.
        rankings: all that were accepted.
        selections: all that were accepted; each has a ranking.
        by_rules: whether skills were made by the rules, so that they can be computed again.
        may_arrive_late: whether a request that was on its way when its process froze may arrive behind its successor's,
            as decision 0014 says: the same version with the same bytes then counts once.
        may_be_resent: whether a broker was away for longer than a worker's producer waits. A record of `skills` or
            `slim-skills` whose acknowledgement it took along is then sent again, the same bytes directly behind the
            first, and counts once. A diff is looked for in the log first, and is there once all the same.
        dead_letters: how many events the scenario sent that no stage can read.
    """
    wanted = expected_contrasts(rankings, selections)
    run.events = len(rankings) + len(selections)
    try:
        _wait_for(harness, len(wanted))
        outputs = harness.quiet(2)
    finally:
        run.lost = len(wanted.keys() - _answered(harness.outputs))
        run.silent = max(0, run.lost + dead_letters - len(harness.outputs.dead_letters))
        if may_arrive_late:
            _drop_repeats(harness.outputs)
        if may_be_resent:
            run.resent = _drop_resent(harness.outputs)
        run.doubled = sum(count - 1 for count in _versions(harness.outputs).values())
        run.report()
    assert (run.lost, run.silent, run.doubled) == (0, 0, 0), _doubled(outputs)
    refused = [(letter.stage, letter.reason, letter.detail) for letter in outputs.dead_letters]
    assert len(refused) == dead_letters, refused
    contrasts = first_of_each(outputs.values(Contrast))
    # What the community says is added for a model; the offline contrasts are made without one.
    bare = contrasts if by_rules else [contrast.model_copy(update={"facets": ()}) for contrast in contrasts]
    assert {contrast.event_id: contrast for contrast in bare} == wanted
    assert_one_version_each(outputs)
    assert_order(outputs, contrasts)
    for user, domain in {(diff.user_id, diff.domain) for diff in outputs.diffs}:
        log = [diff for diff in outputs.diffs if (diff.user_id, diff.domain) == (user, domain)]
        assert chain_breaks(sorted(log, key=lambda diff: diff.version)) == [], "seals hold"
    final = harness.skills()
    if by_rules:
        expected = expected_skills(contrasts)
        assert {key: content(skill) for key, skill in final.items()} == {
            key: content(skill) for key, skill in expected.items()
        }
    # A successor that cannot see whether there was one sends an empty one; to an app that is none.
    told = {key: decode(SlimSkill, value).text for key, value in outputs.newest(SlimSkill).items()}
    slims = {
        key: EvolveStep(slim_tokens=30, privacy=PRIVACY, gate=OUTPUT_GATE).slim(skill) for key, skill in final.items()
    }
    wanted_slims = {key: short.text for key, short in slims.items() if short is not None}
    assert {key: text for key, text in told.items() if text} == {k: text for k, text in wanted_slims.items() if text}
    harness.assert_all_stores_agree()
    assert_duckdb_has_each_row_once(harness, outputs)
    return outputs


def assert_heard(harness: Harness, run: Run, told: Mapping[str, set[str]]) -> None:
    """Wait until all that people said has its version, once; the log of each is whole, and folds to their skill.

    Args:
        harness: the deployment, its workers and its materializer running.
        run: gets what was lost or doubled, and is reported before anything is asserted.
        told: by user, the ids of the events that versions answer.
    """
    wanted = {name for names in told.values() for name in names}
    run.events = len(wanted)
    try:
        _wait_for(harness, len(wanted))
        outputs = harness.quiet(2)
    finally:
        run.lost = len(wanted - _answered(harness.outputs))
        run.doubled = sum(count - 1 for count in _versions(harness.outputs).values())
        run.report()
    assert (run.lost, run.doubled) == (0, 0), _doubled(outputs)
    assert [(letter.stage, letter.reason, letter.detail) for letter in outputs.dead_letters] == []
    assert_one_version_each(outputs)
    assert Counter(diff.event_id for diff in outputs.diffs) == Counter(wanted)
    for user, names in told.items():
        log = sorted((diff for diff in outputs.diffs if diff.user_id == user), key=lambda diff: diff.version)
        assert {diff.event_id for diff in log} == names
        assert chain_breaks(log) == [], "seals hold"
    harness.assert_all_stores_agree()


def _wait_for(harness: Harness, diffs: int) -> None:
    """Wait for so many diffs, as long as any come: after many strikes the workers are far behind."""

    def count(outputs: Outputs) -> int:
        return len(outputs.records.get(SkillDiff.TOPIC, []))

    while True:
        before = count(harness.outputs)
        try:
            # All are decoded only at the end: a scenario's LLM endpoint is a thread of this process.
            harness.until(lambda out: count(out) >= diffs and len(_answered(out)) >= diffs, f"{diffs} diffs")
        except AssertionError:
            if count(harness.outputs) == before:
                raise
        else:
            return


def _drop_repeats(outputs: Outputs) -> None:
    """Forget records whose topic, key and bytes another one has had before."""
    for base in (SkillDiff.TOPIC, PolicySkill.TOPIC, SlimSkill.TOPIC):
        first = {(message.key(), message.value()): message for message in reversed(outputs.records.get(base, []))}
        kept = {id(message) for message in first.values()}
        outputs.records[base] = [message for message in outputs.records.get(base, []) if id(message) in kept]


def _drop_resent(outputs: Outputs) -> int:
    """Forget records of the compacted topics that say what the one before them of their key has said; how many."""
    dropped = 0
    for base in (PolicySkill.TOPIC, SlimSkill.TOPIC):
        last: dict[bytes | None, bytes | None] = {}
        kept = []
        for message in outputs.records.get(base, []):
            if message.key() not in last or last[message.key()] != message.value():
                kept.append(message)
            last[message.key()] = message.value()
        dropped += len(outputs.records.get(base, [])) - len(kept)
        outputs.records[base] = kept
    return dropped


def _answered(outputs: Outputs) -> set[str]:
    return {diff.event_id for diff in outputs.values(SkillDiff)}


def _versions(outputs: Outputs) -> Counter[tuple[str, str, str, int]]:
    """How often each version is on each topic that must have it once."""
    counts: Counter[tuple[str, str, str, int]] = Counter()
    for diff in outputs.values(SkillDiff):
        counts["skill-diffs", diff.user_id, diff.domain, diff.version] += 1
    for skill in outputs.values(PolicySkill):
        counts["skills", skill.user_id, skill.domain, skill.version] += 1
    for short in outputs.values(SlimSkill):
        counts["slim-skills", short.user_id, short.domain, short.skill_version] += 1
    return counts


def _doubled(outputs: Outputs) -> list[tuple[tuple[str, str, str, int], int]]:
    return [(version, count) for version, count in _versions(outputs).items() if count > 1][:10]


def assert_one_version_each(outputs: Outputs) -> None:
    """Versions rise by one in the log, and rise on the compacted topics, whose last record is what is kept."""
    for model, number in ((SkillDiff, "version"), (PolicySkill, "version"), (SlimSkill, "skill_version")):
        seen: dict[tuple[str, str], list[int]] = {}
        for record in outputs.values(model):
            seen.setdefault((record.user_id, record.domain), []).append(getattr(record, number))
        for key, versions in seen.items():
            assert versions == sorted(set(versions)), (model.TOPIC, key, versions)
            if model is SkillDiff:
                assert versions == list(range(1, len(versions) + 1)), (model.TOPIC, key, versions)


def assert_order(outputs: Outputs, contrasts: Sequence[Contrast]) -> None:
    """A user's diffs answer their contrasts in the order in which those were logged."""
    for user in {contrast.user_id for contrast in contrasts}:
        asked = [contrast.event_id for contrast in contrasts if contrast.user_id == user]
        diffs = sorted((d for d in outputs.diffs if d.user_id == user), key=lambda d: d.version)
        assert [diff.event_id for diff in diffs] == asked, user


def assert_the_graph_knows_each_choice_once(outputs: Outputs, choices: Counter[str]) -> None:
    """Every choice counts once in its user's memory, and every item has heard of its newest takers."""
    memories = {memory.user_id: memory for memory in outputs.values(Memory)}
    assert {user: memory.interactions for user, memory in memories.items()} == choices
    items = {item.item_id: item for item in outputs.values(ItemMemory)}
    for memory in memories.values():
        newest = memory.taken[-1]
        [(_, wanted), *_] = takers_of(touch_items(memory, newest.item_id))
        takers = items[newest.item_id].takers
        # Behind the newest others stands what the item heard before, if it was taken before.
        found = [replace(t, neighbour=wanted.neighbour, others=t.others[: len(wanted.others)]) for t in takers]
        versions = [each.takers for each in outputs.values(ItemMemory) if each.item_id == newest.item_id]
        assert found.count(wanted) == 1, (memory.user_id, wanted, memory.taken[-3:], versions[-5:])


def assert_duckdb_has_each_row_once(harness: Harness, outputs: Outputs) -> None:
    """As many diffs, contrasts and slim skills as there are, and no key twice."""
    for table, wanted, key in (
        ("skill_diffs", len(outputs.diffs), "user_id, domain, version"),
        ("contrasts", len({c.event_id for c in outputs.values(Contrast)}), "event_id"),
        ("slim_skills", len(outputs.newest(SlimSkill)), "user_id, domain"),
    ):
        query = f"SELECT count(*), count(DISTINCT ({key})) FROM {table}"
        [found] = harness.duckdb(query, lambda rows, wanted=wanted: rows[0][0] == wanted)
        assert found == (wanted, wanted), table
