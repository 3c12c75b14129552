"""With a model: the endpoint reads chunks, its replies are kept, and rules take the place of an unusable answer."""

import asyncio
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from evaluation.conversations.figures import Totals, figures_of, stored
from evaluation.conversations.invented import person as invented
from evaluation.conversations.layout import Person, Unreadable, person, read, turns_of
from evaluation.conversations.listening import Conversation, simulate_person
from evaluation.conversations.questions import questions_of
from evaluation.conversations.truth import claims, matches
from operators.cards.lines import line_id
from schemas import Card, CardLine, Speaker, Stance
from streams.cli import app
from tests.openai_server import OpenAiServer, threaded

AT = datetime(2026, 3, 1, tzinfo=UTC)


def element(preference: str, *turns: str, **more: Any) -> dict[str, Any]:
    told = [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(turns)]
    return {"preference": preference, "pref_type": "stereotypical_pref", "who": "self", "conversations": told} | more


def update(preference: str, before: str, *turns: str) -> dict[str, Any]:
    return element(preference, *turns, updated=True, prev_pref=before)


def forget(preference: str, *turns: str) -> dict[str, Any]:
    name = f"Do not remember '{preference}' in memory"
    return element(name, *turns, pref_type="ask_to_forget", updated=True, prev_pref=preference)


def person_of(*elements: dict[str, Any], **more: Any) -> Person:
    return person("anna", {"conversations": {"chat_message": list(elements)}} | more)


def line(value: str, stance: Stance = Stance.PREFERS, **more: Any) -> CardLine:
    given = {"weight": 1_024, "since": AT, "confirmed_at": AT, "version": 1} | more
    return CardLine(line_id=line_id(stance, "stated", value), stance=stance, value=value, **given)


def card(*lines: CardLine) -> Card:
    return Card(event_id="chunk-1", occurred_at=AT, user_id="anna", version=1, lines=lines)


def played(who: Person, *lines: CardLine, before: tuple[CardLine, ...] = ()) -> Conversation:
    return Conversation(who, card(*lines), before=[before] * len(who.talks))


runner = CliRunner()


@pytest.fixture
def asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def ask(server, *given):
        monkeypatch.setenv("SAGER_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("SAGER_LLM_MODEL", "fake")
        monkeypatch.setenv("SAGER_LLM_ATTEMPTS", "1")
        told = runner.invoke(app, ["eval", "conversations", "--invent", "people", "--people", "2", "--json", *given])
        assert told.exit_code == 0, told.output
        return [json.loads(line) for line in told.stdout.splitlines()]

    return ask


def test_a_repeated_run_uses_cached_replies_only(asked):
    with threaded(OpenAiServer()) as server:
        [first] = asked(server, "--llm", "both")
        bodies = len(server.bodies)
        [again] = asked(server, "--llm", "both")

        assert bodies == len(server.bodies) > 0
    assert first["llm"] == "both"
    assert first["calls_per_conversation"] > 0
    assert first["model_tokens_per_conversation"] > 0
    assert first | {"seconds_per_conversation": 0} == again | {"seconds_per_conversation": 0}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": {"b": []}}', "[" * 100_000, "\ud800", "null"])
def test_an_unreadable_file_is_reported_and_the_others_are_read(tmp_path, text):
    bad = tmp_path / "a_persona0.json"
    bad.write_bytes(text.encode("utf-8", "surrogatepass"))
    (tmp_path / "a_persona1.json").write_text(json.dumps({"u": {"conversations": {}}}))

    first, second = read(tmp_path)

    assert isinstance(first, Unreadable)
    assert (first.path, bool(first.why)) == (bad, True)
    assert isinstance(second, Person)


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
def test_all_layouts_of_turns_are_read(told, expected):
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
def test_any_json_makes_a_person(elements, sensitive):
    made = person("anna", {"conversations": {"chat": elements}, "sensitive_information": sensitive})

    assert all(turn.text and isinstance(turn.role, Speaker) for talk in made.talks for turn in talk.turns)


PEOPLE = 6


@pytest.fixture(scope="module")
def plays():
    persons = [person(f"person-{place}", invented(place)) for place in range(PEOPLE)]
    return [asyncio.run(simulate_person(who)) for who in persons]


def test_cards_keep_no_sensitive_values(plays):
    told = _sum(plays).shares()

    assert (told["sensitive_values"] >= 8 * PEOPLE, told["sensitive_kept"]) == (True, 0)
    assert (told["sensitive_topics"], told["sensitive_topics_kept"]) == (PEOPLE, 0)
    assert (told["others"], told["others_taken"]) == (3 * PEOPLE, 0)


def test_forgotten_preferences_do_not_return(plays):
    told = _sum(plays).shares()

    assert told["forgotten_known_before"] >= PEOPLE, "they were known, else nothing is shown"
    assert told["forgotten_come_back"] == 0


def test_withdrawn_and_updated_preferences_are_counted():
    who = person_of(
        element("Likes rowing", "I love rowing."),
        element("Likes chess", "I love chess."),
        forget("Likes rowing", "Please forget that I love rowing."),
        update("Likes ludo", "Likes chess", "I don't like chess any more. I love ludo."),
    )

    each = asyncio.run(simulate_person(who))

    counts = figures_of(each).counts
    assert (counts["forgets"], counts["forgets_known"], counts["forgets_back"]) == (1, 1, 0)
    assert (counts["updates"], counts["updates_known"], counts["updates_honoured"]) == (1, 1, 1)
    assert "rowing" not in stored(each).casefold()


def _sum(plays):
    total = Totals()
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
def test_a_line_matches_a_preference_by_words_and_stance(preference, value, stance, is_said):
    assert matches(line(value, stance), preference) is is_said


@pytest.mark.parametrize("place", [0, 25])
def test_a_card_that_keeps_everything_scores_badly(place):
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


def test_a_forgotten_preference_is_found_in_present_and_past_lines():
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
def test_sensitive_values_are_found_in_any_spacing(value, words, is_found):
    who = person_of(TEA, sensitive_information={"number": value})

    counts = figures_of(played(who, line("green tea", words=words))).counts

    assert (counts["sensitive"], counts["sensitive_kept"]) == (1, int(is_found))


def test_questions_are_about_standing_forgotten_and_others_preferences():
    who = person(
        "anna",
        {
            "conversations": {
                "chat": [
                    element("Likes rowing", "I love rowing.", user_query='{"role": "user", "content": "Which sport?"}'),
                    element("Likes chess", "I love chess.", user_query={"role": "user", "content": "Which game?"}),
                    update("Likes ludo", "Likes chess", "I love ludo now.") | {"user_query": "Which game?"},
                    element("Likes opera", "Bo loves opera.", who="others", user_query="Which music?"),
                    element("Likes jazz", "I love jazz.", user_query="Which club?"),
                    forget("Likes jazz", "Forget that I love jazz.") | {"user_query": "Which club?"},
                    element("Likes tea", "I love tea."),
                    element("Has migraine", "It hurts.", pref_type="health_and_medical_conditions", user_query="What?"),
                ]
            }
        },
    )

    assert [(each.query, each.preference, each.is_wanted) for each in questions_of(who)] == [
        ("Which sport?", "Likes rowing", True),
        ("Which game?", "Likes ludo", True),
        ("Which music?", "Likes opera", False),
        ("Which club?", "Likes jazz", False),
    ]


class Examiner(OpenAiServer):
    """Answers with the card's first line, if it has one, and judges by the word `like` in the answer alone."""

    def _answer(self, body, act):
        prompt = body["messages"][-1]["content"]
        line = re.search(r"<card>\n.*\n- (.*)", prompt)
        said = re.search(r"<answer>\n(.*)\n</answer>", prompt)
        says = {"answer": line[1] if line else "no idea", "verdict": "yes" if said and "like" in said[1] else "no"}
        return super()._answer(body, replace(act, says=says))


def test_the_card_reaches_the_answer_and_the_judge_is_blind(asked):
    with threaded(Examiner()) as server:
        _, followed, left_out = asked(server, "--questions", "30", "--judge", "strict")
        prompts = [(body["model"], body["messages"][-1]["content"]) for body in server.bodies]
        bodies = len(server.bodies)
        asked(server, "--questions", "30", "--judge", "strict")

        assert len(server.bodies) == bodies, "all replies were cached"
    judged = [prompt for model, prompt in prompts if model == "strict"]
    answered = [prompt for model, prompt in prompts if model == "fake"]
    assert any("<card>" in prompt and "\n- likes " in prompt for prompt in answered)
    assert any("<card>" not in prompt for prompt in answered)
    assert (followed["kind"], left_out["kind"]) == ("preference followed", "left out")
    assert (followed["with_card"], followed["without_card"], followed["ci95"]) == (1, 0, [1, 1])
    # Here a yes is bad.
    assert (left_out["with_card"], left_out["without_card"], left_out["difference"]) == (0, 1, -1)
    assert (followed["people"], left_out["people"]) == (2, 2)
    parts = [re.fullmatch(r"(.*<answer>\n)(.*)(\n</answer>.*)", prompt, re.DOTALL).groups() for prompt in judged]
    of_card, of_none = (
        {(a, c) for a, answer, c in parts if (answer == "no idea") is is_none} for is_none in (False, True)
    )
    assert of_card == of_none, "but for the answer, both arms look the same to the judge"
