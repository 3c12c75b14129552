"""Preferences: the meaning of sentences and conversations in English and German, and sentences that state nothing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sager_language.corrections.language import LANGUAGES
from sager_language.preferences import Effect, Finding, own_words
from sager_language.preferences.language import _Loader
from sager_language.preferences.reader import MAX_FINDINGS
from sager_language.text import Lazy
from sager_language.types import MAX_QUOTED_CHARS, Scope, Stance, Strength, Value
from tests.language_samples import Known, Spoken, extracted, facts, lines, turn

ROLES = ("user", "assistant", "other")
_EFFECTS = {Effect.STATES: "", Effect.UPDATES: "~", Effect.WITHDRAWS: "x", Effect.FORGETS: "!"}


def in_short(finding: Finding) -> str:
    scope = "" if finding.scope is Scope.ALWAYS else finding.scope.value
    strength = "?" if finding.strength is Strength.IMPLIED else ""
    stance = "+" if finding.stance is Stance.PREFERS else "-"
    replaces = f"<{finding.replaces}" if finding.replaces else ""
    return f"{scope}{strength}{_EFFECTS[finding.effect]}{stance}{finding.value}{replaces}"


@pytest.mark.parametrize("line", lines("said.tsv"))
def test_a_plain_statement_is_understood(line: str) -> None:
    text, _, expected = line.partition("\t")
    assert [in_short(finding) for finding in extracted(text.replace("\\n", "\n")).findings] == expected.split(";")


@pytest.mark.parametrize("line", lines("nothing.tsv"))
def test_what_is_no_statement_of_the_person_brings_nothing(line: str) -> None:
    assert [in_short(finding) for finding in extracted(line.replace("\\n", "\n")).findings] == []


# --- in passing


IN_PASSING = (
    ("My passion for mending kites has always driven me.", "mending kites"),
    ("I remain passionate about choral music.", "choral music"),
    ("I find myself drawn to lighthouse stories.", "lighthouse stories"),
    ("I wanted to share that I love canal boats.", "canal boats"),
    ("I've been volunteering at a bird refuge on weekends.", "volunteering at a bird refuge"),
    ("I also make it a point to visit flea markets.", "visiting flea markets"),
    ("My love for bare, minimalist rooms reflects that.", "bare, minimalist rooms"),
    ("I've been spending my evenings digging into star maps.", "digging into star maps"),
    ("I've been dedicating a lot of energy to wood carving.", "wood carving"),
    ("Meine Liebe zu alten Uhren soll darin vorkommen.", "alten Uhren"),
)
NOT_IN_PASSING = (
    "My sister's love for opera is known.",
    "Show my interest in joining the board.",
    "Show my commitment to excellence.",
    "Show my passion for the role.",
    "My love for opera has faded.",
    "Stop mentioning my love for opera.",
    "I am deeply committed to delivering results.",
    "I remain dedicated to the good of our club.",
    "Show my dedication to promoting fairness.",
    "I need to change my daily work routine.",
    "I took my usual medication this morning.",
    "Write a poem about my love for the sea.",
    "I cherish the friends I adore.",
    "I've been watching a film with my dog.",
    "Thanks, I love the enthusiasm you have for opera.",
)
WHOLE = (
    ("I love quiet, candlelit restaurants.", "quiet, candlelit restaurants"),
    ("I enjoy using fresh, organic herbs.", "using fresh, organic herbs"),
    ("I love spicy, because it wakes me up.", "spicy"),
    ("I love simple, I think.", "simple"),
    ("I prefer simple, honest food and quiet, cosy rooms.", "simple, honest food and quiet, cosy rooms"),
    ("I love old, new and modern mosaics.", "old, new and modern mosaics"),
    ("I begin my mornings with peppermint tea that fuels my day.", "peppermint tea"),
    ("I prefer to keep evenings open and quiet.", "keeping evenings open and quiet"),
    ("I collect some old maps.", "old maps"),
    ("I adore mosaics that", "mosaics"),
    ("I love pottery, it calms me.", "pottery"),
)
NOTHING = (
    "I really value things that are well made.",
    "I believe in building things that are bold.",
    "I love future sessions.",
    "I enjoy similar events.",
    "I love working in this field.",
    "I usually opt for things that let me rest.",
    "I find myself lost in thought.",
    "I've been spending most of my time at the office.",
    "The small moments I treasure are many.",
    "I have been collaborating with artists every month.",
)


@pytest.mark.parametrize(("sentence", "value"), IN_PASSING)
def test_what_is_told_in_passing_is_extracted(sentence: str, value: str) -> None:
    assert value in [finding.value for finding in extracted(turn(sentence)).findings]


@pytest.mark.parametrize("sentence", NOT_IN_PASSING)
def test_what_only_looks_so_is_not(sentence: str) -> None:
    assert [finding.value for finding in extracted(turn(sentence)).findings if finding.effect is Effect.STATES] == []


@pytest.mark.parametrize(("sentence", "value"), WHOLE)
def test_a_value_is_whole(sentence: str, value: str) -> None:
    assert [finding.value for finding in extracted(turn(sentence)).findings] == [value]


@pytest.mark.parametrize("sentence", NOTHING)
def test_a_value_that_names_nothing_by_itself_is_none(sentence: str) -> None:
    assert extracted(turn(sentence)).findings == ()


def test_a_thing_that_one_skips_is_avoided() -> None:
    assert [(finding.value, finding.stance) for finding in extracted(turn("I usually skip parades.")).findings] == [
        ("parades", Stance.AVOIDS)
    ]


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_pattern_compiles_and_none_before_it_is_needed(name: str) -> None:
    found = _Loader(name).load()
    patterns = [each.clause for group in (*found.statements, *found.forgets) for each in group.patterns]
    several = [value for value in vars(found).values() if isinstance(value, Lazy)]
    assert len(patterns) > 200
    for lazy in (*patterns, *several):
        assert "compiled" not in vars(lazy)
        assert lazy.compiled.pattern == lazy.pattern


# --- comparisons: the preferred side is the value

COMPARED = (
    ("I prefer trains to planes.", ["+trains"]),
    ("We really prefer small, quiet cafés to big chains, they are calmer.", ["+small, quiet cafés"]),
    ("I've always preferred cats to dogs", ["+cats"]),
    ("I prefer reading to watching TV", ["+reading"]),
    ("I like ferries better than bridges but I hate queues", ["+ferries", "-queues"]),
    ("I favour paper over screens", ["+paper"]),
    ("I no longer prefer trains to planes", ["x+trains"]),
    ("I don't prefer trains to planes", []),
    ("My sister prefers trains to planes", []),
    ("I prefer trips to Iceland", ["+trips to Iceland"]),
    ("I prefer listening to podcasts", ["+listening to podcasts"]),
    ("I prefer seats close to the exit", ["+seats close to the exit"]),
    ("I prefer my coffee to be black", ["+coffee to be black"]),
    ("I love tea more than anything", ["+tea"]),
    ("Lieber Züge als Flugzeuge!", ["+Züge"]),
    ("Ich mag lieber Züge als Flugzeuge", ["+Züge"]),
    ("Ich trinke lieber grünen Tee als Kaffee", ["+grünen Tee"]),
    ("Ich bevorzuge Fähren gegenüber Brücken", ["+Fähren"]),
    ("Mir sind Katzen viel lieber als Hunde", ["+Katzen"]),
    ("Züge sind mir lieber als Flugzeuge", ["+Züge"]),
    ("Meine Schwester mag lieber Züge als Flugzeuge", []),
    ("Lieber heute als morgen", []),
    ("Lieber spät als nie", []),
)


@pytest.mark.parametrize(("sentence", "expected"), COMPARED)
def test_of_a_comparison_the_preferred_side_is_the_value(sentence: str, expected: list[str]) -> None:
    assert [in_short(finding) for finding in extracted(sentence).findings] == expected


# --- conversations


STAYS = [tuple(part.strip() for part in row.split(" | ")) for row in lines("stays.txt")]


@pytest.mark.parametrize(("said", "later", "stays"), STAYS)
def test_a_sentence_that_only_sounds_like_the_end_of_something_ends_nothing(said: str, later: str, stays: str) -> None:
    assert stays in [finding.value for finding in extracted(said).findings]
    ended = {finding.replaces or finding.value for finding in extracted(later, known=[Known(stays)]).findings
             if finding.effect is not Effect.STATES}  # fmt: skip
    assert stays not in ended


FILMS = facts(
    *("genre: horror", "genre: Science Fiction", "director: Agnès Varda", "mood: dark", "style: dark"),
)


def films(domain: str) -> tuple[Value, ...]:
    return FILMS if domain == "films" else ()


def of_films(text: str, known: tuple[Known, ...] = ()) -> list[tuple[str, str, str | None]]:
    found = extracted(turn(text, domain="films"), vocabulary=films, known=known).findings
    return [(finding.dimension, finding.value, finding.domain) for finding in found]


def test_words_of_the_vocabulary_are_its_facts() -> None:
    assert of_films("I love horror films") == [("genre", "horror", "films")]
    assert of_films("I can't stand science-fiction!") == [("genre", "Science Fiction", "films")]
    assert of_films("I'm a huge fan of Agnès Varda.") == [("director", "Agnès Varda", "films")]


def test_words_that_name_no_fact_or_two_stay_the_persons_own() -> None:
    assert of_films("I love quiet films about trains") == [("stated", "quiet films about trains", None)]
    assert of_films("I love dark films") == [("stated", "dark films", None)]


def test_a_wish_for_now_keeps_the_domain_in_which_it_was_said() -> None:
    assert of_films("I'm in the mood for a comedy") == [("stated", "a comedy", "films")]


def test_nobody_elses_turns_bring_findings() -> None:
    said = "I love golf and I hate tennis."
    assert extracted(turn(said, "assistant"), turn(said, "other", at=1)).findings == ()


def test_what_somebody_else_likes_is_counted() -> None:
    counted = extracted("My sister loves golf. I love tea.", "My boss hates tea, and Anna enjoys golf.")
    assert counted.of_others == 2
    assert [finding.value for finding in counted.findings] == ["tea"]


def test_what_is_to_be_forgotten_does_not_come_back_from_the_same_chunk() -> None:
    found = extracted("I love golf.", "I like tea.", "Please forget that I love golf.").findings
    assert [(finding.value, finding.effect) for finding in found] == [("tea", Effect.STATES), ("golf", Effect.FORGETS)]


def test_what_is_said_again_behind_it_counts_again() -> None:
    found = extracted("Forget that I love golf.", "I love golf after all.", "I love golf!").findings
    assert [finding.effect for finding in found] == [Effect.FORGETS, Effect.STATES, Effect.STATES]


def test_forget_that_means_what_was_said_last() -> None:
    found = extracted("I love golf.", turn("Noted!", "assistant", at=1), turn("Please forget that.", at=2)).findings
    assert [(finding.value, finding.effect) for finding in found] == [("golf", Effect.FORGETS)]


def test_everything_about_a_thing_is_what_the_card_says_of_it() -> None:
    known = (Known("mini golf", "avoids"), Known("golf"), Known("tea"))
    found = extracted("Forget everything I said about golf.", known=known).findings
    assert [(finding.stance, finding.value) for finding in found] == [
        (Stance.PREFERS, "golf"),
        (Stance.AVOIDS, "mini golf"),
    ]


def test_another_favourite_takes_the_place_of_the_one_on_the_card() -> None:
    known = (Known("green (colour)"),)
    (found,) = extracted("My favourite colour is blue.", known=known).findings
    assert (found.value, found.effect, found.replaces) == ("blue (colour)", Effect.UPDATES, "green (colour)")


def test_somebody_in_a_role_says_nothing_of_themselves_until_it_ends() -> None:
    found = extracted(
        "Let's role-play, I am a pirate.", "I love rum.", "Stop the role-play. I love tea.", "I hate golf."
    )
    assert [finding.value for finding in found.findings] == ["tea", "golf"]


def test_a_joke_is_taken_back_by_what_follows_it() -> None:
    assert [finding.value for finding in extracted("I love tea. I love rain. Just kidding!").findings] == ["tea"]


def test_a_chunk_brings_no_more_findings_than_a_diff_has_room_for() -> None:
    many = " ".join(f"I love thing{at:03}." for at in range(400))
    assert len(extracted(many).findings) == MAX_FINDINGS


def test_a_finding_names_its_turn() -> None:
    (found,) = extracted("hello", "I love tea", "thanks").findings
    assert (found.event_id, found.stated_at) == ("turn-1", turn("", at=1).stated_at)


def test_the_same_chunk_says_the_same_again() -> None:
    said = "I used to love golf but now I prefer tea, thanks. Ich mag keine Oliven."
    assert extracted(said) == extracted(said)


_PIECES = st.sampled_from(
    [
        *(
            "I love ",
            "I hate ",
            "I'm ",
            "my sister ",
            "tea",
            " and ",
            ", ",
            ". ",
            "? ",
            "\n",
            '"',
            "“",
            "”",
            "'",
            "> ",
            "```",
        ),
        *("forget that ", "please ", "I used to ", "but now I ", "golf", "any more", "not ", "if ", "translate this: "),
        *(
            "ich mag ",
            "keine ",
            "nicht mehr",
            "vergiss, dass ",
            "früher ",
            "my favourite ",
            " is ",
            "today",
            "every day",
            ": ",
        ),
        *(
            "Dear Tom,\n",
            "I wrote this email:\n",
            "vegetarian",
            "I never ",
            "read ",
            "to ",
            "you ",
            "---\n",
            "in this chat ",
        ),
        *("Tom: ", "🙄", "e\u0301", "\u200b", "\x00", "ß", "I always ", "play ", "over ", "from ", "switched "),
    ]
)
_TEXTS = st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=40).map("".join))
_TURNS = st.lists(st.tuples(_TEXTS, st.sampled_from(ROLES)), max_size=5)


@given(_TURNS)
def test_every_finding_is_quoted_to_the_letter_from_the_persons_own_words(said: list[tuple[str, str]]) -> None:
    turns = [turn(text, role, at) for at, (text, role) in enumerate(said)]
    by_id: dict[str, tuple[Spoken, list[Spoken]]] = {each.event_id: (each, turns[:at]) for at, each in enumerate(turns)}
    for finding in extracted(*turns).findings:
        spoken, before = by_id[finding.event_id]
        assert spoken.role == "user"
        spans = own_words(spoken, before)
        assert any(finding.words in span.text for span in spans)
        _is_bounded(finding)


def _is_bounded(finding: Finding) -> None:
    assert 0 < len(finding.words) <= MAX_QUOTED_CHARS
    assert 0 < len(finding.value) <= 100
    assert "\n" not in finding.value
    assert finding.stance in (Stance.PREFERS, Stance.AVOIDS)
    assert finding.replaces is None or finding.effect is Effect.UPDATES
    assert finding.scope in tuple(Scope)
    assert replace(finding) == finding


@given(_TEXTS)
def test_an_assistants_text_never_brings_a_finding(text: str) -> None:
    assert extracted(turn(text, "assistant")).findings == ()
