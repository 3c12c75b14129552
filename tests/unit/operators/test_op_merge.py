"""The tier rule and its limits (paper 2.5, DESIGN 4.1, 4.2, 4.4, 4.6)."""

import itertools
from dataclasses import replace

import pytest

from operators.merge import MergeLimits, OutOfOrder, fit_seed, fold, holds, merge, resolve_command, start
from operators.render import render, render_lines, strategy_of
from schemas import (
    MAX_EVIDENCE,
    MAX_RECENT,
    Action,
    ChangeKind,
    Evidence,
    ItemFacts,
    Kind,
    PolicySkill,
    Refusal,
    SkillDiff,
    Source,
    Tier,
    encode,
)
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import (
    DOMAIN,
    USER,
    a_command,
    a_contrast,
    a_position,
    a_proposal,
    a_skill,
    a_time,
    an_attribute,
    evolve,
    facts,
    id_of,
    item_facts,
    line,
    texts,
)

NOIR, SAGA = "genre: noir", "genre: saga"
LOW, MEDIUM, HIGH = Tier.LOW, Tier.MEDIUM, Tier.HIGH


def kinds(diff: SkillDiff) -> list[tuple[str, str]]:
    return [(change.kind.value, change.attribute_id) for change in diff.changes]


def refusals(diff: SkillDiff) -> list[tuple[str, str]]:
    return [(refused.attribute_id, refused.why.value) for refused in diff.refused]


def weakened(skill: PolicySkill, times: int, text: str = NOIR, **limits: int) -> PolicySkill:
    """After this many contrasts that each contradict a line."""
    for _ in range(times):
        skill, _ = evolve(skill, a_proposal(weakened=[text]), limits=MergeLimits(**limits))
    return skill


class TestReinforce:
    @pytest.mark.parametrize(("before", "after"), [(LOW, MEDIUM), (MEDIUM, HIGH), (HIGH, HIGH)])
    def test_reinforced_attribute_moves_up_by_one_tier_at_most(self, before: Tier, after: Tier) -> None:
        skill, diff = evolve(a_skill(an_attribute(NOIR, before)), a_proposal(reinforced=[NOIR]))

        assert line(skill, NOIR).tier is after
        assert [(c.kind, c.before, c.after) for c in diff.changes] == [(ChangeKind.REINFORCED, before, after)]

    def test_reinforcing_counts_support_dates_it_and_forgets_contradictions(self) -> None:
        given = a_skill(an_attribute(NOIR, HIGH, support=4, contradictions=1), version=6)

        skill, _ = evolve(given, a_proposal(reinforced=[NOIR]))

        noir = line(skill, NOIR)
        assert (noir.support, noir.contradictions, noir.confirmed_at) == (5, 0, 7)

    def test_evidence_is_the_newest_choices_only(self) -> None:
        skill = a_skill(an_attribute(NOIR, LOW))
        for n in range(MAX_EVIDENCE + 2):
            contrast = a_contrast(item_facts(f"item{n}", NOIR), ranking_id=f"r{n}")
            skill, _ = evolve(skill, a_proposal(reinforced=[NOIR]), contrast)

        assert [e.item_id for e in line(skill, NOIR).evidence] == ["item2", "item3", "item4"]

    def test_one_event_reinforces_once_however_often_it_is_said(self) -> None:
        skill, _ = evolve(
            a_skill(an_attribute(NOIR, LOW)),
            a_proposal(reinforced=[NOIR, NOIR], discovered=[NOIR]),
            a_contrast([NOIR]),
        )

        assert line(skill, NOIR).tier is MEDIUM
        assert line(skill, NOIR).support == 1


class TestDiscover:
    def test_discovered_attribute_starts_low_with_its_evidence(self) -> None:
        contrast = a_contrast([NOIR])

        skill, _ = evolve(a_skill(version=4), a_proposal(discovered=[NOIR]), contrast)

        noir = line(skill, NOIR)
        assert (noir.tier, noir.source, noir.support, noir.confirmed_at) == (LOW, Source.DISCOVERED, 1, 5)
        assert noir.evidence == (Evidence(event_id=contrast.event_id, item_id="taken"),)

    def test_discovered_attribute_that_exists_is_a_reinforcement(self) -> None:
        skill, diff = evolve(a_skill(an_attribute(NOIR, MEDIUM)), a_proposal(discovered=["genre: NOIR"]))

        assert line(skill, NOIR).tier is HIGH
        assert kinds(diff) == [("reinforced", id_of(NOIR))]

    def test_discoveries_beyond_the_cap_are_refused_the_most_telling_first(self) -> None:
        found = [f"genre: g{n}" for n in range(5)]

        skill, diff = evolve(a_skill(), a_proposal(discovered=found), limits=MergeLimits(discoveries=3))

        assert texts(skill.attributes) == found[:3]
        assert refusals(diff) == [(id_of(each), "capped") for each in found[3:]]


class TestWeaken:
    @pytest.mark.parametrize(("before", "after"), [(HIGH, MEDIUM), (MEDIUM, LOW), (LOW, LOW)])
    def test_weakened_attribute_moves_down_by_one_and_never_below_low(self, before: Tier, after: Tier) -> None:
        given = a_skill(an_attribute(NOIR, before, Source.DISCOVERED))

        assert line(weakened(given, 1), NOIR).tier is after

    def test_weakening_never_deletes(self) -> None:
        skill = weakened(a_skill(an_attribute(NOIR, HIGH, Source.DISCOVERED)), 40)

        assert line(skill, NOIR).tier is LOW

    def test_high_prior_attribute_survives_one_contradiction(self) -> None:
        skill, diff = evolve(a_skill(an_attribute(NOIR, HIGH)), a_proposal(weakened=[NOIR]))

        assert line(skill, NOIR).tier is HIGH
        assert line(skill, NOIR).contradictions == 1
        assert [(c.before, c.after) for c in diff.changes] == [(HIGH, HIGH)]

    def test_high_prior_attribute_goes_down_with_the_second_contradiction(self) -> None:
        skill = weakened(a_skill(an_attribute(NOIR, HIGH)), 2)

        assert line(skill, NOIR).tier is MEDIUM
        assert line(skill, NOIR).contradictions == 0

    @pytest.mark.parametrize("needed", [1, 2, 3, 5])
    def test_how_many_contradictions_a_high_prior_attribute_survives_can_be_set(self, needed: int) -> None:
        given = a_skill(an_attribute(NOIR, HIGH))

        assert line(weakened(given, needed - 1, protect_contradictions=needed), NOIR).tier is HIGH
        assert line(weakened(given, needed, protect_contradictions=needed), NOIR).tier is MEDIUM

    def test_a_confirmation_in_between_starts_the_count_again(self) -> None:
        skill = weakened(a_skill(an_attribute(NOIR, HIGH)), 1)
        skill, _ = evolve(skill, a_proposal(reinforced=[NOIR]))
        skill = weakened(skill, 1)

        assert line(skill, NOIR).tier is HIGH

    def test_contradictions_said_twice_in_one_event_count_once(self) -> None:
        skill, _ = evolve(a_skill(an_attribute(NOIR, HIGH)), a_proposal(weakened=[NOIR, NOIR, NOIR]))

        assert line(skill, NOIR).contradictions == 1

    @pytest.mark.parametrize("source", [Source.DISCOVERED, Source.GLOBAL, Source.STATED])
    def test_only_the_prior_protects(self, source: Source) -> None:
        assert line(weakened(a_skill(an_attribute(NOIR, HIGH, source)), 1), NOIR).tier is MEDIUM

    def test_medium_prior_attribute_is_not_protected(self) -> None:
        assert line(weakened(a_skill(an_attribute(NOIR, MEDIUM)), 1), NOIR).tier is LOW

    def test_a_line_is_demoted_once_per_window_of_the_users_own_contrasts(self) -> None:
        given = weakened(a_skill(an_attribute(NOIR, HIGH, Source.DISCOVERED)), 1, weaken_window=5)

        within, diff = evolve(given, a_proposal(weakened=[NOIR]))

        assert line(within, NOIR) == line(given, NOIR)
        assert refusals(diff) == [(id_of(NOIR), "capped")]
        assert line(weakened(given, 4), NOIR).tier is MEDIUM
        assert line(weakened(given, 5), NOIR).tier is LOW

    def test_commands_do_not_move_the_window(self) -> None:
        skill = weakened(a_skill(an_attribute(NOIR, HIGH, Source.DISCOVERED)), 1)
        for action in [Action.PIN, Action.UNPIN] * 5:
            skill = merge(skill, resolve_command(skill, a_command(action), privacy=PRIVACY, vouching=VOUCHING))

        assert line(weakened(skill, 1), NOIR).tier is MEDIUM

    def test_reinforced_beats_weakened(self) -> None:
        skill, diff = evolve(
            a_skill(an_attribute(NOIR, LOW, Source.DISCOVERED)), a_proposal(reinforced=[NOIR], weakened=[NOIR])
        )

        assert line(skill, NOIR).tier is MEDIUM
        assert refusals(diff) == [(id_of(NOIR), "also-reinforced")]

    def test_pinned_attribute_is_never_weakened(self) -> None:
        skill, diff = evolve(
            a_skill(an_attribute(NOIR, HIGH, Source.DISCOVERED, pinned=True)), a_proposal(weakened=[NOIR])
        )

        assert line(skill, NOIR).tier is HIGH
        assert refusals(diff) == [(id_of(NOIR), "pinned")]


class TestEviction:
    def evict(self, *attributes: object, keep: int, discovered: str = "genre: fresh") -> list[str]:
        """The lines that go when one more comes into a full skill."""
        skill = a_skill(*attributes, version=50)
        _, diff = evolve(skill, a_proposal(discovered=[discovered]), limits=MergeLimits(attributes=keep))
        names = {a.attribute_id: f"{a.dimension}: {a.value}" for a in skill.attributes}
        return [names[c.attribute_id] for c in diff.changes if c.kind is ChangeKind.EVICTED]

    def test_the_lowest_tier_goes_first(self) -> None:
        high = an_attribute("genre: a", HIGH, Source.DISCOVERED, confirmed_at=1)
        low = an_attribute("genre: b", LOW, Source.DISCOVERED, confirmed_at=40)
        medium = an_attribute("genre: c", MEDIUM, confirmed_at=1)

        assert self.evict(high, low, medium, keep=3) == ["genre: b"]

    def test_among_one_tier_the_least_recently_confirmed_goes_first(self) -> None:
        old = an_attribute("genre: z", LOW, confirmed_at=3, support=9)
        new = an_attribute("genre: a", LOW, confirmed_at=4, support=1)

        assert self.evict(new, old, keep=2) == ["genre: z"]

    def test_then_the_least_supported_then_the_first_by_name(self) -> None:
        weak = an_attribute("genre: b", LOW, support=1)
        strong = an_attribute("genre: a", LOW, support=2)
        also_weak = an_attribute("genre: c", LOW, support=1)

        assert self.evict(also_weak, strong, weak, keep=3) == ["genre: b"]
        assert self.evict(also_weak, strong, weak, keep=2) == ["genre: b", "genre: c"]

    def test_pinned_and_protected_lines_are_never_evicted_the_discovery_is_refused(self) -> None:
        protected = [an_attribute(f"genre: p{n}", HIGH) for n in range(2)]
        pinned = [an_attribute(f"genre: q{n}", LOW, Source.DISCOVERED, pinned=True) for n in range(2)]

        skill, diff = evolve(
            a_skill(*protected, *pinned), a_proposal(discovered=["genre: fresh"]), limits=MergeLimits(attributes=4)
        )

        assert set(texts(skill.attributes)) == {"genre: p0", "genre: p1", "genre: q0", "genre: q1"}
        assert refusals(diff) == [(id_of("genre: fresh"), "full")]
        assert not diff.changes

    def test_a_line_that_the_event_itself_touched_stays(self) -> None:
        touched = an_attribute("genre: a", LOW, Source.DISCOVERED)
        other = an_attribute("genre: b", MEDIUM, Source.DISCOVERED)

        skill, _ = evolve(
            a_skill(touched, other),
            a_proposal(weakened=["genre: a"], discovered=["genre: fresh"]),
            limits=MergeLimits(attributes=2),
        )

        assert texts(skill.attributes) == ["genre: a", "genre: fresh"]

    def test_rendered_skill_never_exceeds_the_size_cap(self) -> None:
        skill = a_skill()
        for n in range(60):
            found = [f"genre: {n}-{m} {'long ' * 10}" for m in range(3)]
            skill, _ = evolve(skill, a_proposal(discovered=found))
            assert len(render(skill)) <= 1_500

        assert len(skill.attributes) > 8

    def test_evictions_are_in_the_diff_so_that_the_fold_needs_no_limit(self) -> None:
        full = [an_attribute(f"genre: g{n}", LOW) for n in range(4)]
        given = start(USER, DOMAIN, full, a_contrast())

        skill, diff = evolve(given, a_proposal(discovered=["genre: fresh"]), limits=MergeLimits(attributes=4))

        assert fold([diff])[USER, DOMAIN] == skill
        assert len(skill.attributes) == 4


class TestSeed:
    def test_seed_stays_within_its_share_whatever_tier_its_lines_rise_to(self) -> None:
        seed = [an_attribute(f"genre: {n} {'x' * 40}", LOW) for n in range(40)]

        kept = fit_seed(seed)

        assert kept == tuple(seed[: len(kept)])
        for tier in Tier:
            at_tier = [a.model_copy(update={"tier": tier}) for a in kept]
            assert len(render_lines(at_tier, strategy_of(()))) <= 1_200

    def test_first_diff_carries_the_seed_and_later_ones_do_not(self) -> None:
        seed = (an_attribute(NOIR),)

        first, diff = evolve(start(USER, DOMAIN, seed, a_contrast()), a_proposal(reinforced=[NOIR]))
        _, second = evolve(first, a_proposal(reinforced=[NOIR]))

        assert diff.seed == seed
        assert second.seed is None


class TestCommands:
    def test_pin_and_unpin_change_nothing_but_the_pin(self) -> None:
        given = a_skill(an_attribute(NOIR, LOW))

        pinned = merge(given, resolve_command(given, a_command(Action.PIN), privacy=PRIVACY, vouching=VOUCHING))
        unpinned = merge(pinned, resolve_command(pinned, a_command(Action.UNPIN), privacy=PRIVACY, vouching=VOUCHING))

        assert line(pinned, NOIR) == line(given, NOIR).model_copy(update={"pinned": True})
        assert line(unpinned, NOIR) == line(given, NOIR)

    def test_remove_takes_the_line_out_even_if_pinned_or_protected(self) -> None:
        given = a_skill(an_attribute(NOIR, HIGH, pinned=True), an_attribute(SAGA))

        skill = merge(given, resolve_command(given, a_command(Action.REMOVE), privacy=PRIVACY, vouching=VOUCHING))

        assert texts(skill.attributes) == [SAGA]

    @pytest.mark.parametrize("action", [Action.PIN, Action.UNPIN, Action.REMOVE, Action.REWORD, Action.SET_TIER])
    def test_command_on_an_unknown_line_is_refused_in_the_diff(self, action: Action) -> None:
        given = a_skill(an_attribute(SAGA))

        diff = resolve_command(given, a_command(action, NOIR), privacy=PRIVACY, vouching=VOUCHING)

        assert refusals(diff) == [(id_of(NOIR), "unknown-attribute")]
        assert merge(given, diff).attributes == given.attributes

    def test_pins_are_capped(self) -> None:
        held = [an_attribute(f"genre: g{n}", pinned=True) for n in range(4)]
        given = a_skill(*held, an_attribute(NOIR))

        diff = resolve_command(given, a_command(Action.PIN), privacy=PRIVACY, vouching=VOUCHING)

        assert refusals(diff) == [(id_of(NOIR), "capped")]
        assert not line(merge(given, diff), NOIR).pinned

    def test_command_is_a_version_but_not_a_contrast(self) -> None:
        given = a_skill(an_attribute(NOIR), version=3, contrasts=3)

        skill = merge(
            given,
            resolve_command(
                given, a_command(Action.PIN, actor="bo", reason="mine"), privacy=PRIVACY, vouching=VOUCHING
            ),
        )

        assert (skill.version, skill.contrasts) == (4, 3)
        assert skill.last_diff is not None
        assert skill.last_diff.reasoned_by.reasoner == "command by bo"
        assert not skill.last_diff.is_contrast
        assert skill.last_diff.changes[0].reason == "mine"

    def test_first_event_may_be_a_command_and_carries_the_seed(self) -> None:
        given = start(USER, DOMAIN, (an_attribute(NOIR),), a_command())

        diff = resolve_command(given, a_command(Action.PIN), privacy=PRIVACY, vouching=VOUCHING)

        assert diff.seed == given.attributes
        assert fold([diff])[USER, DOMAIN] == merge(given, diff)

    def test_pinning_in_a_full_skill_keeps_the_size_cap(self) -> None:
        """A pin's word makes its line longer: what does not fit any more has to go then, not at some later choice."""
        limits = MergeLimits(characters=len(render(full := self.full_skill())))

        skill = merge(
            full,
            resolve_command(
                full, a_command(Action.PIN, "genre: g1"), limits=limits, privacy=PRIVACY, vouching=VOUCHING
            ),
        )

        assert line(skill, "genre: g1").pinned
        assert len(render(skill)) <= limits.characters

    def test_removing_a_short_like_before_a_long_one_keeps_the_size_cap(self) -> None:
        likes = [an_attribute(f"genre: {c}", HIGH, support=9) for c in "abc"]
        others = [an_attribute(f"genre: {n}{'x' * 50}", MEDIUM, Source.DISCOVERED) for n in range(3)]
        given = self.with_strategy(a_skill(*likes, *others))
        limits = MergeLimits(characters=len(render(given)))

        skill = merge(
            given,
            resolve_command(
                given, a_command(Action.REMOVE, "genre: a"), limits=limits, privacy=PRIVACY, vouching=VOUCHING
            ),
        )

        assert len(render(skill)) <= limits.characters

    def full_skill(self) -> PolicySkill:
        return self.with_strategy(a_skill(*[an_attribute(f"genre: g{n}", LOW) for n in range(4)]))

    def with_strategy(self, skill: PolicySkill) -> PolicySkill:
        return skill.model_copy(update={"strategy": strategy_of(skill.attributes)})


class TestVersions:
    def test_diff_that_is_held_already_changes_nothing(self) -> None:
        skill, diff = evolve(a_skill(an_attribute(NOIR, LOW)), a_proposal(reinforced=[NOIR]))

        assert merge(skill, diff) is skill

    def test_older_version_is_ignored(self) -> None:
        first, old = evolve(a_skill(an_attribute(NOIR, LOW)), a_proposal(reinforced=[NOIR]))
        second, _ = evolve(first, a_proposal(reinforced=[NOIR]))

        assert merge(second, old) is second

    def test_gap_is_out_of_order(self) -> None:
        given = a_skill(an_attribute(NOIR, LOW))
        first, _ = evolve(given, a_proposal(reinforced=[NOIR]))
        _, later = evolve(first, a_proposal(reinforced=[NOIR]))

        with pytest.raises(OutOfOrder, match="diff 3 of ann/books rests on 2, the skill is at 1"):
            merge(given, later)

    def test_log_that_does_not_begin_at_the_beginning_is_out_of_order(self) -> None:
        _, diff = evolve(a_skill(version=4), a_proposal())

        with pytest.raises(OutOfOrder):
            fold([diff])

    def test_every_event_is_one_version_even_if_nothing_changes(self) -> None:
        skill, diff = evolve(a_skill(version=2), a_proposal())

        assert (diff.base_version, diff.version, skill.version, skill.contrasts) == (2, 3, 3, 3)
        assert not diff.changes

    def test_skill_is_dated_by_its_last_event(self) -> None:
        contrast = a_contrast([NOIR], occurred_at=a_time(7))

        skill, _ = evolve(a_skill(), a_proposal(discovered=[NOIR]), contrast)

        assert (skill.event_id, skill.occurred_at) == (contrast.event_id, a_time(7))

    def test_skill_keeps_its_last_diff_byte_for_byte(self) -> None:
        skill, diff = evolve(a_skill(), a_proposal(discovered=[NOIR]))

        assert skill.last_diff is not None
        assert encode(skill.last_diff) == encode(diff)


class TestHolds:
    def test_nobody_holds_anything(self) -> None:
        assert not holds(None, "c1", a_position(0))

    def test_recent_event_is_held_by_its_id_wherever_it_stands(self) -> None:
        skill, diff = evolve(a_skill(), a_proposal())

        assert holds(skill, diff.event_id, a_position(99))
        assert not holds(skill, "another", a_position(99))

    def test_record_is_held_by_its_position_long_after_its_id_is_forgotten(self) -> None:
        skill, diff = evolve(a_skill(), a_proposal(), source=a_position(0))
        for offset in range(1, MAX_RECENT + 5):
            skill, _ = evolve(skill, a_proposal(), source=a_position(offset))

        assert diff.event_id not in skill.recent
        assert len(skill.recent) == MAX_RECENT
        assert holds(skill, diff.event_id, a_position(0))
        assert not holds(skill, diff.event_id, a_position(MAX_RECENT + 5))


class TestFold:
    def test_users_and_domains_fold_apart(self) -> None:
        diffs: list[SkillDiff] = []
        for user, domain in itertools.product(("ann", "bo"), ("books", "films")):
            given = start(user, domain, (), a_contrast(user_id=user, domain=domain))
            diffs.append(evolve(given, a_proposal(discovered=[f"genre: {user} {domain}"]))[1])

        skills = fold(diffs)

        assert {key: texts(skill.attributes) for key, skill in skills.items()} == {
            (user, domain): [f"genre: {user} {domain}"]
            for user, domain in itertools.product(("ann", "bo"), ("books", "films"))
        }

    def test_fold_is_blind_to_limits_that_were_changed_since(self) -> None:
        diffs: list[SkillDiff] = []
        skill = start(USER, DOMAIN, (an_attribute(NOIR, HIGH),), a_contrast())
        for limits in (MergeLimits(protect_contradictions=1), MergeLimits(attributes=1), MergeLimits()):
            skill, diff = evolve(skill, a_proposal(weakened=[NOIR], discovered=[f"genre: g{len(diffs)}"]), None, limits)
            diffs.append(diff)

        assert encode(fold(diffs)[USER, DOMAIN]) == encode(skill)


def test_every_refusal_reason_of_the_merge_is_one_that_it_can_give() -> None:
    assert {refusal.value for refusal in Refusal} == {
        "unknown-attribute", "no-evidence", "also-reinforced", "capped", "pinned", "full", "already-so",
            "private",
    }  # fmt: skip


def test_kinds_of_lines_evolve_alike() -> None:
    stays = an_attribute("exploration: stays with favourite genres", MEDIUM, kind=Kind.PATTERN)

    skill, _ = evolve(a_skill(stays), a_proposal(reinforced=[stays.attribute_id]))

    assert skill.attributes[0].tier is HIGH


def test_strategy_follows_the_lines_at_every_version() -> None:
    skill, _ = evolve(a_skill(an_attribute(NOIR, LOW)), a_proposal(reinforced=[NOIR]))
    assert skill.strategy.must_include == ("noir",)

    skill, _ = evolve(skill, a_proposal(weakened=[NOIR]))
    assert skill.strategy.must_include == ()


def test_reasons_are_kept_with_their_change_and_cut_to_size() -> None:
    proposal = replace(a_proposal(reinforced=[NOIR]), reasons={id_of(NOIR): "w" * 999}, analysis="a" * 9_999)
    skill = a_skill(an_attribute(NOIR, LOW))

    _, diff = evolve(skill, proposal, a_contrast(ItemFacts(item_id="taken", facts=facts(NOIR))))

    assert diff.changes[0].reason == "w" * 300
    assert diff.analysis == "a" * 4_000


def test_resolve_leaves_the_skill_as_it_was() -> None:
    given = a_skill(an_attribute(NOIR, LOW))
    before = encode(given)

    evolve(given, a_proposal(reinforced=[NOIR], discovered=[SAGA]))

    assert encode(given) == before
