"""Lines about numbers, such as `cheaper first`: they say what the evidence on numbers proves."""

from collections.abc import Iterator, Mapping, Sequence

from operators.attributes import attribute_id
from operators.habit_directions import NUMBER_ENDING, NUMBER_WORDS, is_number_line
from operators.weights import NUMBER_PREFIX, number_dimension
from schemas import ONE, Attribute, AttributeKind, AttributeSource, Evidence, SkillChange, SkillChangeKind, Tier
from schemas.diffs import NumberSums

# The nats from which a line has a tier. A person who chooses blindly reaches three of them with a chance of 5 %.
TIER_NATS = ((Tier.HIGH, 3), (Tier.MEDIUM, 2), (Tier.LOW, 1))


def number_words(name: str, more: bool) -> str:
    """Return the words of a line.

    >>> number_words("price", False), number_words("legroom_cm", True), number_words("changes", False)
    ('cheaper first', 'more legroom cm first', 'fewer changes first')
    """
    spaced = name.replace("_", " ")
    less = "fewer" if name.endswith("s") else "less"
    less_words, more_words = NUMBER_WORDS.get(name, (f"{less} {spaced}", f"more {spaced}"))
    return f"{more_words if more else less_words}{NUMBER_ENDING}"


def number_line_id(name: str, more: bool) -> str:
    """Return the id of the line that prefers more, or less, of a number."""
    return attribute_id(AttributeKind.CRITERION, number_dimension(name), number_words(name, more))


def proven_tier(proof: int) -> Tier:
    """Return the tier of a proof in 1/1024 nats.

    >>> proven_tier(2 * ONE), proven_tier(900)
    (<Tier.MEDIUM: 2>, <Tier.SILENT: 0>)
    """
    return next((tier for tier, nats in TIER_NATS if proof >= nats * ONE), Tier.SILENT)


def number_changes(
    lines: Sequence[Attribute], sums: NumberSums, weights: Mapping[str, float], evidence: Evidence, now: int
) -> Iterator[SkillChange]:
    """Yield the changes of lines about the numbers of a list.

    `weights` are those that predicted the choice. A line rises by one tier per choice. It goes if its proof is lost or
    its direction turns; a pinned or stated one stays.
    """
    held = {line.dimension: line for line in lines if is_number_line(line.attribute_id)}
    for name, weight in weights.items():
        dimension = number_dimension(name)
        tier, line = proven_tier(sums.proofs.get(name, 0)), held.get(dimension)
        value = number_words(name, weight > 0)
        if line is not None:
            if line.pinned or line.source is AttributeSource.STATED:
                continue
            if not tier or line.value != value:
                yield SkillChange.of(line, SkillChangeKind.EVICTED, reason="the last choices do not prove it any more")
            elif tier != line.tier:
                rises = tier > line.tier
                kind = SkillChangeKind.REINFORCED if rises else SkillChangeKind.WEAKENED
                yield SkillChange.of(line, kind, Tier(line.tier + 1) if rises else tier)
        elif tier and weight:
            yield SkillChange.new(
                Attribute(
                    attribute_id=number_line_id(name, weight > 0),
                    kind=AttributeKind.CRITERION,
                    dimension=dimension,
                    value=value,
                    tier=Tier.LOW,
                    proof=sums.proofs[name],
                    support=1,
                    confirmed_at=now,
                    evidence=(evidence,),
                ),
                SkillChangeKind.DISCOVERED,
            )


def with_proofs(lines: Sequence[Attribute], sums: NumberSums) -> tuple[Attribute, ...]:
    """Update the proofs of lines about numbers."""
    found = list(lines)
    for place, line in enumerate(lines):
        if is_number_line(line.attribute_id):
            proof = sums.proofs.get(line.dimension.removeprefix(NUMBER_PREFIX), 0)
            if proof != line.proof:
                found[place] = line.model_copy(update={"proof": proof})
    return tuple(found)
