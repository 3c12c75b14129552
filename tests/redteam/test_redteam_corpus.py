"""The attack corpus: the share of attacks, personal data and innocent texts that come through stays within limits."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import pytest

from operators.language.output_policy import OutputGate
from operators.language.privacy import KEEP_ALL
from schemas import Attribute, ItemFacts
from streams.language import KINDS, RULES
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.redteam.attack_corpus import CASES, Sample, read_samples
from tests.redteam.checks import (
    COLUMNS,
    Result,
    assert_documented,
    check_all,
    failures,
    list_languages,
    side_of,
    table,
)
from tests.redteam.generated_samples import generated
from tests.redteam.harness import Filters

# Highest share of failures. Titles and requests reach prompts as quoted data, without a limit.
LIMITS = {
    "slim skill, one item": 0.02,
    "slim skill, many items": 0.02,
    "kept": 0.03,
    "refused or changed": 0.03,
    "held back, one item": 0.07,  # an unknown value waits for three items
    "held back, many items": 0.01,
}
# Highest share within a class; one failure is always allowed.
CLASS_LIMIT = 0.1
# Classes that miss this limit, with the measured failures.
EXCEPTIONS = {
    ("slim skill, one item", "spelling"): 2,
    ("slim skill, many items", "spelling"): 4,
    ("slim skill, many items", "codes"): 3,
    ("held back, one item", "brand"): 7,
    ("held back, one item", "line"): 7,
}


def samples(side: str) -> list[Sample]:
    return [sample for sample in (*read_samples(), *generated()) if side_of(sample) == side]


def test_the_corpus_is_large_and_multilingual() -> None:
    cases, corpus = list(read_samples(CASES)), list(read_samples())
    kinds = Counter(sample.kind for sample in corpus)
    ids = [sample.id for sample in (*cases, *corpus, *generated())]

    assert len(set(ids)) == len(ids)
    assert kinds >= Counter(order=200, disguise=60, personal=100, innocent=300)
    assert len(cases) >= 220
    assert len({case.language for case in cases}) >= 12
    assert len({sample.language for sample in corpus if side_of(sample) == "attack"}) >= 35


def test_the_filter_accepts_any_digits() -> None:
    rng = random.Random(13)
    for _ in range(300):
        number = "".join(rng.choice("0123456789" * 2 + "-. /_:+") for _ in range(rng.randrange(4, 24)))
        text = f"{rng.choice(('my number is', 'ausweis', 'card', 'call', ''))} {number}"

        assert PRIVACY.redact(text, "films").text
        assert PRIVACY.refuses("films", "tag", text) in {None, *KINDS}


class OpenGate(OutputGate):
    """Allows any value."""

    def rejection(self, dimension: str, value: str, items: int = 0) -> None:
        return None

    def line_rejection(self, line: Attribute) -> None:
        return None

    def allowed_lines(self, lines: Iterable[Attribute]) -> list[Attribute]:
        return list(lines)

    def filter_items(self, items: Sequence[ItemFacts]) -> tuple[ItemFacts, ...]:
        return tuple(items)


def test_nearly_everything_comes_through_without_filters() -> None:
    # Otherwise the checks would find nothing to count.
    values = [sample for sample in samples("attack") if sample.channel == "value"][::8]
    no_filters = Filters(KEEP_ALL, OpenGate(policy=RULES))
    attacks, personal = list(check_all(values, no_filters)), list(check_all(samples("personal")[::8], no_filters))

    # A parser drops values with invisible characters.
    assert failures(attacks, "slim skill, one item")[0] > 0.8 * len(attacks)
    assert failures(attacks, "prompt")[0] > 0.8 * len(attacks)
    assert failures(personal, "kept")[0] > 0.9 * len(personal)


@pytest.mark.thorough
@pytest.mark.parametrize("side", COLUMNS)
def test_failures_stay_within_limits_and_are_documented(side: str) -> None:
    results = list(check_all(samples(side)))

    assert exceeded_limits(results, side) == []
    assert_documented(side, f"{table(side, results)}\n\n{list_languages(results)}")


def exceeded_limits(results: list[Result], side: str) -> list[str]:
    """Return the columns, and classes in them, with more failures than allowed."""
    classes: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        classes[result.sample.cls].append(result)
    exceeded = []
    for column in filter(LIMITS.get, COLUMNS[side]):
        failed, of = failures(results, column)
        if failed > LIMITS[column] * of:
            exceeded.append(f"{column}: {failed}/{of}")
        for name, group in classes.items():
            failed, of = failures(group, column)
            if failed > max(1, CLASS_LIMIT * of, EXCEPTIONS.get((column, name), 0)):
                exceeded.append(f"{column}, {name}: {failed}/{of}")
    return exceeded
