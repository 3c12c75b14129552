"""What other people have and take adds names to a vocabulary, and changes the meaning of no sentence."""

import pytest

from operators.language.corrections import understand
from sager_language.corrections.vocabulary import joined
from schemas import Correction, Fact, PolicySkill, Stance
from streams.language import RULES
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import NOW

HORROR, COMEDY = Fact(dimension="genre", value="horror"), Fact(dimension="genre", value="comedy")
SKILL = PolicySkill(event_id="x", occurred_at=NOW, user_id="ann", domain="films")


def named(*values: str) -> tuple[Fact, ...]:
    return tuple(Fact(dimension="tag", value=value) for value in values)


def stated(text: str, vocabulary: tuple[Fact, ...]) -> list[tuple[Stance, str | None, str | None]]:
    said = Correction(event_id="c", occurred_at=NOW, user_id="ann", domain="films", text=text)
    reads = (read.directive for read in understand(said, (), SKILL, vocabulary, privacy=PRIVACY, reader=RULES).says)
    return [(directive.stance, directive.dimension, directive.value) for directive in reads]


@pytest.mark.parametrize(
    "poison",
    [
        *("horror", "no horror", "No, horror", "please no horror", "horror, please", "no horror please", "HORROR"),
        *("horror and comedy", "horrors", "kein horror", "ich mag horror"),
    ],
)
def test_a_value_of_others_does_not_turn_a_sentence_about_a_known_one(poison: str) -> None:
    for text in ("no horror, please", "No horror please!", "kein Horror"):
        assert stated(text, joined((HORROR, COMEDY), named(poison))) == [(Stance.AVOIDS, "genre", "horror")]


def test_a_rarer_value_of_others_does_not_turn_a_sentence_about_a_common_one() -> None:
    vocabulary = joined((), (HORROR,), named("no horror", "horror"))

    assert vocabulary == (HORROR,)
    assert stated("no horror, please", vocabulary) == [(Stance.AVOIDS, "genre", "horror")]


def test_values_of_others_with_a_name_of_their_own_can_be_named() -> None:
    values = named("folk horror", "true story", "film noir", "anti war")

    assert joined((HORROR, COMEDY), values) == (HORROR, COMEDY, *values)
    assert stated("no folk horror", joined((HORROR,), values)) == [(Stance.AVOIDS, "tag", "folk horror")]


def test_all_facts_of_the_persons_own_lists_can_be_named() -> None:
    own = (HORROR, *named("horror", "no horror"))

    assert joined(own, (HORROR, COMEDY)) == (*own, COMEDY)
