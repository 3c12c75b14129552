"""With a model: the endpoint reads chunks, its replies are kept, and rules take the place of an unusable answer."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from evaluation.conversations.figures import Run, figures_of, stored
from evaluation.conversations.invented import person as invented
from evaluation.conversations.invented import write
from evaluation.conversations.layout import About, Person, Unreadable, person, read, turns_of
from evaluation.conversations.listening import play
from evaluation.conversations.truth import claims, matches
from operators.cards.fold import fold_cards
from schemas import Speaker, encode
from schemas.statements import Stance
from streams.cli import app
from tests.openai_server import OpenAiServer, threaded
from tests.unit.conversations.conversation_builders import element, forget, line, person_of, played, update

runner = CliRunner()


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Runs the command over two invented people against this endpoint, and gives the summary."""
    monkeypatch.chdir(tmp_path)

    def ask(server, *given):
        monkeypatch.setenv("SAGER_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("SAGER_LLM_MODEL", "fake")
        monkeypatch.setenv("SAGER_LLM_ATTEMPTS", "1")
        told = runner.invoke(app, ["eval", "conversations", "--invent", "people", "--people", "2", "--json", *given])
        assert told.exit_code == 0, told.output
        return json.loads(told.stdout.splitlines()[-1]), told.stderr

    return ask


def test_replies_are_kept_so_that_a_repeated_run_asks_nothing(asked):
    with threaded(OpenAiServer()) as server:
        first, _ = asked(server, "--llm", "both")
        bodies = len(server.bodies)
        again, _ = asked(server, "--llm", "both")

        assert bodies == len(server.bodies) > 0
    assert first["llm"] == "both"
    assert first["calls_per_conversation"] > 0
    assert first["model_tokens_per_conversation"] > 0
    assert first | {"seconds_per_conversation": 0} == again | {"seconds_per_conversation": 0}


def test_what_rules_find_is_found_with_a_model_too_and_not_by_a_model_that_finds_nothing(asked):
    with threaded(OpenAiServer()) as server:
        both, _ = asked(server, "--llm", "both")
        alone, _ = asked(server, "--llm", "model")
        rules, _ = asked(server)

    assert both["recall"] == rules["recall"] > 0
    assert (alone["recall"], alone["lines"]) == (0, 0)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": {"b": []}}', "[" * 100_000, "\ud800", "null"])
def test_a_file_that_is_none_of_a_person_is_told_and_the_others_go_on(tmp_path, text):
    bad = tmp_path / "a_persona0.json"
    bad.write_bytes(text.encode("utf-8", "surrogatepass"))
    (tmp_path / "a_persona1.json").write_text(json.dumps({"u": {"conversations": {}}}))

    first, second = read(tmp_path)

    assert isinstance(first, Unreadable)
    assert (first.path, bool(first.why)) == (bad, True)
    assert isinstance(second, Person)


def test_what_is_to_be_forgotten_is_read_from_the_quote_where_no_field_names_it():
    [talk] = person_of(forget("Likes 'old' tea", "Forget it.") | {"prev_pref": None}).talks

    assert (talk.about, talk.preference) == (About.FORGET, "Likes 'old' tea")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            "User: I ski.\nAssistant: Where?\nUser: Here.",
            [("user", "I ski."), ("assistant", "Where?"), ("user", "Here.")],
        ),
        ([{"role": "Human", "content": "I ski."}], [("user", "I ski.")]),
        ([{"content": [{"type": "text", "text": "I ski."}, {"type": "image_url"}]}], [("user", "I ski.")]),
        ([{"role": "user"}, {"role": "user", "content": " "}, 7, None], []),
        (None, []),
    ],
)
def test_turns_are_read_in_every_form_in_which_they_come(told, expected):
    assert [(turn.role.value, turn.text) for turn in turns_of(told)] == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
fields = st.sampled_from(
    ("preference", "pref_type", "who", "conversations", "updated", "prev_pref", "user_query", "correct_answer", "x")
)


@given(st.lists(st.dictionaries(fields, json_values, max_size=9) | json_values, max_size=3), json_values)
def test_whatever_stands_in_a_file_makes_a_person(elements, sensitive):
    made = person("anna", {"conversations": {"chat": elements}, "sensitive_information": sensitive})

    assert all(turn.text and isinstance(turn.role, Speaker) for talk in made.talks for turn in talk.turns)


PEOPLE = 6


@pytest.fixture(scope="module")
def plays():
    persons = [person(f"person-{place}", invented(place)) for place in range(PEOPLE)]
    return [asyncio.run(play(who)) for who in persons]


def test_nothing_is_kept_that_must_not_be(plays):
    told = _sum(plays).shares()

    assert (told["sensitive_values"] >= 8 * PEOPLE, told["sensitive_kept"]) == (True, 0)
    assert (told["sensitive_topics"], told["sensitive_topics_kept"]) == (PEOPLE, 0)
    assert (told["others"], told["others_taken"]) == (3 * PEOPLE, 0)


def test_what_was_to_be_forgotten_is_nowhere(plays):
    told = _sum(plays).shares()

    assert told["forgotten_known_before"] >= PEOPLE, "they were known, else nothing is shown"
    assert told["forgotten_come_back"] == 0


def test_a_card_is_the_fold_of_its_log(plays):
    for each in plays:
        assert encode(fold_cards(each.log)[each.person.user_id]) == encode(each.card)


def test_a_person_who_takes_things_back_is_left_with_what_stands():
    who = person_of(
        element("Likes rowing", "I love rowing."),
        element("Likes chess", "I love chess."),
        forget("Likes rowing", "Please forget that I love rowing."),
        update("Likes ludo", "Likes chess", "I don't like chess any more. I love ludo."),
    )

    each = asyncio.run(play(who))

    counts = figures_of(each).counts
    assert (counts["forgets"], counts["forgets_known"], counts["forgets_back"]) == (1, 1, 0)
    assert (counts["updates"], counts["updates_known"], counts["updates_honoured"]) == (1, 1, 1)
    assert "rowing" not in stored(each).casefold()


def test_a_person_with_hostile_turns_under_an_odd_name_is_played(tmp_path):
    hostile = [
        element("Likes tea", "I love tea\0\ud800 " + "x" * 50_000, who=["self"]),
        element("A" * 5_000, "I love " + "[" * 900, user_query="?"),
        element("\u200b", "\u200b"),
    ]
    path = tmp_path / f"an odd *persona\n{'l' * 200}.json"
    path.write_text(json.dumps({"conversations": {"chat": hostile}}))

    told = runner.invoke(app, ["eval", "conversations", "--data", str(tmp_path), "--json"])

    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout.splitlines()[-1])["conversations"] == len(hostile)


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    first, second, other = (tmp_path / name for name in ("first", "second", "other"))
    one, two, three = write(first, 3), write(second, 3), write(other, 3, seed=1)

    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    assert [path.read_bytes() for path in one] != [path.read_bytes() for path in three]


def _sum(plays):
    total = Run()
    for each in plays:
        total.add(each)
    return total


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
