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
    Fact,
    PolicySkill,
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
