"""What is heard in a chunk of several turns: whose words count, what is forgotten, and how much is kept."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from operators.language.finding import Effect, Finding
from sager_language.preferences import own_words
from schemas import Fact
from schemas.cards import MAX_FINDINGS, Card, CardLine, Turn
from schemas.statements import MAX_WORDS, Scope, Stance
from schemas.utterances import Role
from tests.unit.listen.listen_builders import NOON, heard, turn

FILMS = (
    Fact(dimension="genre", value="horror"),
    Fact(dimension="genre", value="Science Fiction"),
    Fact(dimension="director", value="Agnès Varda"),
    Fact(dimension="mood", value="dark"),
    Fact(dimension="style", value="dark"),
)


def films(domain: str) -> tuple[Fact, ...]:
    return FILMS if domain == "films" else ()


def of_films(text: str, card: Card | None = None) -> list[tuple[str, str, str | None]]:
    found = heard(turn(text, domain="films"), vocabulary=films, card=card).findings
    return [(finding.dimension, finding.value, finding.domain) for finding in found]


def card_with(*lines: tuple[Stance, str]) -> Card:
    known = tuple(
        CardLine(
            line_id=f"{stance.value}:stated:{at}",
            stance=stance,
            value=value,
            weight=1024,
            since=NOON,
            confirmed_at=NOON,
            version=1,
        )
        for at, (stance, value) in enumerate(lines)
    )
    return Card(event_id="diff", occurred_at=NOON, user_id="ann", version=1, lines=known)


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
    assert heard(turn(said, Role.ASSISTANT), turn(said, Role.OTHER, at=1)).findings == ()


def test_what_somebody_else_likes_is_counted() -> None:
    counted = heard("My sister loves golf. I love tea.", "My boss hates tea, and Anna enjoys golf.")
    assert counted.of_others == 2
    assert [finding.value for finding in counted.findings] == ["tea"]


def test_what_is_to_be_forgotten_does_not_come_back_from_the_same_chunk() -> None:
    found = heard("I love golf.", "I like tea.", "Please forget that I love golf.").findings
    assert [(finding.value, finding.effect) for finding in found] == [("tea", Effect.STATES), ("golf", Effect.FORGETS)]


def test_what_is_said_again_behind_it_counts_again() -> None:
    found = heard("Forget that I love golf.", "I love golf after all.", "I love golf!").findings
    assert [finding.effect for finding in found] == [Effect.FORGETS, Effect.STATES, Effect.STATES]


def test_forget_that_means_what_was_said_last() -> None:
    found = heard("I love golf.", turn("Noted!", Role.ASSISTANT, at=1), turn("Please forget that.", at=2)).findings
    assert [(finding.value, finding.effect) for finding in found] == [("golf", Effect.FORGETS)]


def test_everything_about_a_thing_is_what_the_card_says_of_it() -> None:
    card = card_with((Stance.AVOIDS, "mini golf"), (Stance.PREFERS, "golf"), (Stance.PREFERS, "tea"))
    found = heard("Forget everything I said about golf.", card=card).findings
    assert [(finding.stance, finding.value) for finding in found] == [
        (Stance.PREFERS, "golf"),
        (Stance.AVOIDS, "mini golf"),
    ]


def test_another_favourite_takes_the_place_of_the_one_on_the_card() -> None:
    card = card_with((Stance.PREFERS, "green (colour)"))
    (found,) = heard("My favourite colour is blue.", card=card).findings
    assert (found.value, found.effect, found.replaces) == ("blue (colour)", Effect.UPDATES, "green (colour)")


def test_somebody_in_a_role_says_nothing_of_themselves_until_it_ends() -> None:
    found = heard("Let's role-play, I am a pirate.", "I love rum.", "Stop the role-play. I love tea.", "I hate golf.")
    assert [finding.value for finding in found.findings] == ["tea", "golf"]


def test_a_joke_is_taken_back_by_what_follows_it() -> None:
    assert [finding.value for finding in heard("I love tea. I love rain. Just kidding!").findings] == ["tea"]


def test_a_chunk_brings_no_more_findings_than_a_diff_has_room_for() -> None:
    many = " ".join(f"I love thing{at:03}." for at in range(400))
    assert len(heard(many).findings) == MAX_FINDINGS


def test_a_finding_names_its_turn() -> None:
    (found,) = heard("hello", "I love tea", "thanks").findings
    assert (found.event_id, found.said_at) == ("turn-1", turn("", at=1).said_at)


def test_the_same_chunk_says_the_same_again() -> None:
    said = "I used to love golf but now I prefer tea, thanks. Ich mag keine Oliven."
    assert heard(said) == heard(said)


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
_TURNS = st.lists(st.tuples(_TEXTS, st.sampled_from(list(Role))), max_size=5)


@given(_TURNS)
def test_every_finding_is_quoted_to_the_letter_from_the_persons_own_words(said: list[tuple[str, Role]]) -> None:
    turns = [turn(text, role, at) for at, (text, role) in enumerate(said)]
    by_id: dict[str, tuple[Turn, list[Turn]]] = {each.event_id: (each, turns[:at]) for at, each in enumerate(turns)}
    for finding in heard(*turns).findings:
        spoken, before = by_id[finding.event_id]
        assert spoken.role is Role.USER
        spans = own_words(spoken, before)
        assert any(finding.words in span.text for span in spans)
        _is_bounded(finding)


def _is_bounded(finding: Finding) -> None:
    assert 0 < len(finding.words) <= MAX_WORDS
    assert 0 < len(finding.value) <= 100
    assert "\n" not in finding.value
    assert finding.stance in (Stance.PREFERS, Stance.AVOIDS)
    assert finding.replaces is None or finding.effect is Effect.UPDATES
    assert finding.scope in tuple(Scope)
    assert replace(finding) == finding


@given(_TEXTS)
def test_an_assistants_text_never_brings_a_finding(text: str) -> None:
    assert heard(turn(text, Role.ASSISTANT)).findings == ()
