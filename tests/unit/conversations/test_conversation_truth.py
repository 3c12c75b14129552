"""Lines of a card are laid to what is true: by words and stance, and never to two things at once."""

import pytest

from evaluation.conversations.figures import figures_of
from evaluation.conversations.invented import person as invented
from evaluation.conversations.layout import person
from evaluation.conversations.truth import claims, matches
from schemas.statements import Stance
from tests.unit.conversations.conversation_builders import element, forget, line, person_of, played, update

TEA = element("Enjoys green tea", "I like green tea.")


@pytest.mark.parametrize(
    ("preference", "value", "stance", "is_said"),
    [
        ("Enjoys hiking in the mountains", "hiking", Stance.PREFERS, True),
        ("Enjoys hiking in the mountains", "hiking", Stance.AVOIDS, False),
        ("Does not like coriander", "coriander", Stance.AVOIDS, True),
        ("Prefers tea over coffee", "coffee", Stance.AVOIDS, True),
        ("Prefers tea over coffee", "coffee", Stance.PREFERS, False),
        ("Uses analog recorders for privacy in every interview", "recorders", Stance.PREFERS, True),
        ("Enjoys green tea", "tea sets of bone china", Stance.PREFERS, False),
    ],
)
def test_a_line_says_a_preference_if_words_and_stance_agree(preference, value, stance, is_said):
    assert matches(line(value, stance), preference) is is_said


@pytest.mark.parametrize("place", [0, 25])
def test_every_figure_is_bad_for_a_card_that_keeps_all_that_it_hears(place):
    who = person(f"person-{place}", invented(place))
    told = {talk.preference for talk in who.talks if talk.preference} | set(who.sensitive.values())
    lines = [line(text[:200], claims(text)[0].stance if claims(text) else Stance.PREFERS) for text in sorted(told)]

    figures = figures_of(played(who, *lines[:40], before=tuple(lines[:40]))).shares()

    assert len(lines) <= 40, "all of it is on the card"
    assert figures["recall"] == 1, "it has what it ought to have"
    assert figures["precision"] < 0.6
    assert (figures["updates_honoured"], figures["updates_old_gone"]) == (0, 0)
    assert figures["updates_old_kept"] == figures["updates"] > 0
    assert figures["forgotten_come_back"] == figures["forgotten"] > 0
    assert figures["sensitive_kept"] == figures["sensitive_values"] > 0
    assert figures["sensitive_topics_kept"] == figures["sensitive_topics"] > 0
    assert figures["others_taken"] == figures["others"] > 0


def test_an_update_is_honoured_if_the_new_stands_and_the_old_does_not():
    who = person_of(TEA, update("Enjoys black coffee", "Enjoys green tea", "Coffee now."))

    def honoured(*lines):
        counts = figures_of(played(who, *lines, before=(line("green tea"),))).counts
        return [counts[f"updates_{name}"] for name in ("known", "stands", "gone", "honoured")]

    assert honoured(line("black coffee")) == [1, 1, 1, 1]
    assert honoured(line("black coffee"), line("green tea")) == [1, 1, 0, 0]
    assert honoured() == [1, 0, 1, 0]


def test_what_was_to_be_forgotten_comes_back_by_a_line_that_stands_or_is_past():
    who = person_of(TEA, forget("Enjoys green tea", "Forget that I like green tea."))
    gone = played(who, before=(line("green tea"),))
    back = played(who, line("green tea"), before=(line("green tea"),))
    past = played(who)
    past.card = past.card.model_copy(update={"past": (line("green tea"),)})

    found = [figures_of(each).counts for each in (gone, back, past)]

    assert [each["forgets"] for each in found] == [1, 1, 1]
    assert [each["forgets_known"] for each in found] == [1, 1, 0]
    assert [each["forgets_back"] for each in found] == [0, 1, 1]


@pytest.mark.parametrize(
    ("value", "words", "is_found"),
    [
        ("C01X00T47", "number C01X00T47", True),
        ("4000 5359 6641 4960", "card 4000535966414960", True),
        ("9275 Luna Ave, Apt 3F, Seattle", "lives at 9275", True),
        ("9275 Luna Ave, Apt 3F, Seattle", "likes Seattle", False),
        ("sk-A1B3C5D7E9", "sk A1B3C5D7E9", True),
        ("M-4711", "tea", False),
    ],
)
def test_a_sensitive_value_is_found_however_it_is_spaced(value, words, is_found):
    who = person_of(TEA, sensitive_information={"number": value})

    counts = figures_of(played(who, line("green tea", words=words))).counts

    assert (counts["sensitive"], counts["sensitive_kept"]) == (1, int(is_found))
