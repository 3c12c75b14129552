"""Full replacement as a diff (paper 3.4, Table 5): what is rewritten, what is kept, and that the fold stays exact."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operators.attributes import fact_id, from_fact
from operators.evolve import Replacement
from operators.merge import DEFAULT_LIMITS, MergeLimits, fold, merge, resolve_command, resolve_replacement, start
from operators.render import render
from schemas import (
    Action,
    Attribute,
    ChangeKind,
    Contrast,
    Evidence,
    Fact,
    PolicySkill,
    ReasonedBy,
    Refusal,
    SkillDiff,
    Source,
    Tier,
    decode,
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
    a_skill,
    an_attribute,
    facts,
    id_of,
    item_facts,
    line,
    texts,
)

NOIR, SAGA, DARK = "genre: noir", "genre: saga", "mood: dark"
LOW, MEDIUM, HIGH = Tier.LOW, Tier.MEDIUM, Tier.HIGH


def rewritten(
    skill: PolicySkill,
    contrast: Contrast,
    *stated: tuple[str, Tier],
    kept: dict[str, Tier] | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
) -> tuple[PolicySkill, SkillDiff]:
    replacement = Replacement(
        facts=tuple((facts(text)[0], tier) for text, tier in stated),
        kept={id_of(text): tier for text, tier in (kept or {}).items()},
        reasons={id_of(text): "so it is" for text, _ in stated},
    )
    diff = resolve_replacement(skill, replacement, contrast, a_position(3), limits, privacy=PRIVACY)
    return merge(skill, diff), diff


class TestRewriting:
    def test_lines_that_the_new_skill_does_not_hold_are_removed_even_protected_ones(self) -> None:
        skill, diff = rewritten(a_skill(an_attribute(SAGA, HIGH), an_attribute(DARK, LOW)), a_contrast([NOIR]))

        assert not skill.attributes
        assert [(c.kind, c.before, c.after, c.reason) for c in diff.changes] == [
            (ChangeKind.REMOVED, HIGH, None, "full replacement"),
            (ChangeKind.REMOVED, LOW, None, "full replacement"),
        ]

    def test_new_lines_come_at_their_tier_with_evidence(self) -> None:
        contrast = a_contrast([NOIR, DARK])

        skill, diff = rewritten(a_skill(version=6), contrast, (NOIR, MEDIUM), (DARK, LOW))

        noir = line(skill, NOIR)
        assert (noir.tier, noir.source, noir.support, noir.confirmed_at) == (MEDIUM, Source.DISCOVERED, 1, 7)
        assert noir.evidence == (Evidence(event_id=contrast.event_id, item_id="taken"),)
        assert line(skill, DARK).tier is LOW
        assert {c.reason for c in diff.changes} == {"so it is"}

    def test_a_line_of_both_goes_straight_to_its_new_tier(self) -> None:
        """The very defect of Table 5: one choice, two tiers."""
        given_ = a_skill(an_attribute(NOIR, LOW, support=3), an_attribute(SAGA, HIGH))

        skill, diff = rewritten(given_, a_contrast([NOIR]), (NOIR, HIGH), kept={SAGA: LOW})

        assert [(c.kind, c.before, c.after) for c in diff.changes] == [
            (ChangeKind.REINFORCED, LOW, HIGH),
            (ChangeKind.WEAKENED, HIGH, LOW),
        ]
        assert (line(skill, NOIR).tier, line(skill, NOIR).support) == (HIGH, 4)
        assert (line(skill, SAGA).tier, line(skill, SAGA).weakened_at) == (LOW, skill.contrasts)

    def test_pinned_lines_stay_and_never_go_down(self) -> None:
        pinned = [an_attribute(text, MEDIUM, pinned=True) for text in (SAGA, NOIR, DARK)]

        skill, _ = rewritten(a_skill(*pinned), a_contrast([NOIR]), (NOIR, HIGH), kept={DARK: LOW})

        assert {text: line(skill, text).tier for text in texts(skill.attributes)} == {
            SAGA: MEDIUM, NOIR: HIGH, DARK: MEDIUM,
        }  # fmt: skip
        assert all(a.pinned for a in skill.attributes)

    def test_facts_that_the_chosen_item_does_not_have_and_lines_that_nobody_holds_are_refused(self) -> None:
        skill, diff = rewritten(a_skill(), a_contrast([NOIR]), (SAGA, HIGH), kept={DARK: LOW})

        assert not skill.attributes
        assert {(r.attribute_id, r.proposed, r.why) for r in diff.refused} == {
            (id_of(SAGA), ChangeKind.DISCOVERED, Refusal.UNSUPPORTED),
            (id_of(DARK), ChangeKind.REINFORCED, Refusal.UNKNOWN),
        }

    def test_what_does_not_fit_is_refused(self) -> None:
        pinned = an_attribute(SAGA, LOW, pinned=True)

        skill, diff = rewritten(
            a_skill(pinned), a_contrast([NOIR, DARK]), (NOIR, HIGH), (DARK, LOW), limits=MergeLimits(attributes=2)
        )

        assert texts(skill.attributes) == [SAGA, NOIR]
        assert [(r.attribute_id, r.why) for r in diff.refused] == [(id_of(DARK), Refusal.FULL)]

    def test_diff_is_the_next_version_with_its_record(self) -> None:
        given_ = start(USER, DOMAIN, (an_attribute(SAGA),), a_contrast())
        by = ReasonedBy(reasoner="llm", prompt="evolve-replace.v1", calls=1)
        contrast = a_contrast([NOIR])

        diff = resolve_replacement(
            given_, Replacement(analysis="why " * 2_000, reasoned_by=by), contrast, a_position(9), privacy=PRIVACY
        )

        assert (diff.base_version, diff.version, diff.seed, diff.is_contrast) == (0, 1, given_.attributes, True)
        assert (diff.event_id, diff.source, diff.reasoned_by) == (contrast.event_id, a_position(9), by)
        assert len(diff.analysis) == 4_000

    def test_a_line_that_a_command_took_away_meanwhile_is_refused_not_brought_back(self) -> None:
        seen = a_skill(an_attribute(SAGA, HIGH))
        newest = merge(seen, resolve_command(seen, a_command(Action.REMOVE, SAGA), privacy=PRIVACY, vouching=VOUCHING))

        skill, diff = rewritten(newest, a_contrast([NOIR]), kept={SAGA: HIGH})

        assert not skill.attributes
        assert [r.why for r in diff.refused] == [Refusal.UNKNOWN]


VALUES = ["noir", "Noir", "saga", "🍕", "$", "x" * 120, *(f"v{n}" for n in range(6))]
FACT = st.builds(Fact, dimension=st.sampled_from(["genre", "mood", "era"]), value=st.sampled_from(VALUES))
TIER = st.sampled_from(list(Tier))
SEED = st.lists(
    st.builds(from_fact, FACT, TIER, st.sampled_from(list(Source)), support=st.integers(0, 5)),
    max_size=8,
    unique_by=lambda a: a.attribute_id,
)
NAMES = st.sampled_from([fact_id(Fact(dimension=d, value=v)) for d in ("genre", "mood") for v in VALUES])
ANY = st.text(max_size=8) | st.text(st.characters(categories=("Cs", "Cc")), max_size=4)
STEP = st.tuples(
    st.lists(FACT, max_size=6),
    st.lists(st.tuples(FACT, TIER), max_size=6),
    st.dictionaries(NAMES | ANY, TIER, max_size=6),
    st.dictionaries(NAMES | ANY, ANY, max_size=3),
    st.sampled_from([None, None, None, Action.PIN, Action.UNPIN]),
)
FEW = MergeLimits(attributes=5, characters=600, seed_characters=200, pinned=2)


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(SEED, st.lists(STEP, max_size=8), st.sampled_from([DEFAULT_LIMITS, FEW]))
def test_for_any_replacements_the_fold_is_exact_and_all_but_the_tier_rule_holds(
    seed: list[Attribute],
    steps: list[tuple[list[Fact], list[tuple[Fact, Tier]], dict[str, Tier], dict[str, str], Action | None]],
    limits: MergeLimits,
) -> None:
    """Invariants 1, 4, 5 and 8: lies included, with commands in between, the diffs read back from bytes."""
    first = a_contrast()
    skill = start(USER, DOMAIN, [a for a in seed if len(render(a_skill(a))) < 90][: limits.attributes // 2], first)
    log: list[SkillDiff] = []

    for n, (chosen, told, kept, reasons, action) in enumerate(steps):
        if action is not None and skill.attributes:
            name = skill.attributes[n % len(skill.attributes)].attribute_id
            log.append(
                decode(
                    SkillDiff,
                    encode(
                        resolve_command(
                            skill, a_command(action, name), limits=limits, privacy=PRIVACY, vouching=VOUCHING
                        )
                    ),
                )
            )
            skill = decode(PolicySkill, encode(merge(skill, log[-1])))
        contrast = a_contrast(item_facts(f"i{n}")).model_copy(
            update={"chosen": item_facts(f"i{n}").model_copy(update={"facts": tuple(chosen)})}
        )
        stated = [*told, *((fact, Tier.MEDIUM) for fact in chosen[:3])]
        replacement = Replacement(facts=tuple(stated), kept=kept, reasons=reasons, analysis="".join(reasons.values()))
        before = {a.attribute_id: a for a in skill.attributes}
        log.append(
            decode(SkillDiff, encode(resolve_replacement(skill, replacement, contrast, limits=limits, privacy=PRIVACY)))
        )
        skill = decode(PolicySkill, encode(merge(skill, log[-1])))

        after = {a.attribute_id: a for a in skill.attributes}
        named = {fact_id(fact) for fact, _ in stated} | set(kept)
        assert {name for name, a in before.items() if a.pinned} <= set(after)
        assert all(after[name].tier >= a.tier for name, a in before.items() if a.pinned)
        # A choice of an item without facts says nothing, and forgets nothing.
        assert all(a.pinned or name in named for name, a in after.items()) if chosen else after == before
        assert set(after) - set(before) <= {fact_id(fact) for fact in chosen}
        assert len(render(skill)) <= limits.characters
        assert len(skill.attributes) <= limits.attributes
        for change in log[-1].changes:
            assert change.before == (before[change.attribute_id].tier if change.attribute_id in before else None)

    if log:
        assert encode(fold(log)[USER, DOMAIN]) == encode(skill)
