"""Corrections: precision and recall of sentences, names, vocabularies, and hostile words."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sager_language import Correction, read_correction
from sager_language.corrections import Read, Why, is_unread, joined
from sager_language.corrections.language import LANGUAGES, language_of, sections
from sager_language.corrections.names import may_be_named
from sager_language.corrections.patterns import BETWEEN, BadPattern, expression
from sager_language.corrections.tokens import MAX_TOKENS, tokens
from sager_language.types import MAX_QUOTED_CHARS, Stance, Value
from tests.language_samples import Shown, facts, lines, shown

TABLES = ("sentences.tsv", "sentences-unseen.tsv", "sentences-later.tsv")
VOCABULARY = facts(
    *("colour: purple", "colour: schwarz", "genre: horror", "genre: comedy", "genre: romantic comedy"),
    *("genre: krimi", "genre: komödie", "feature: noise cancelling"),
)


ITEMS = (
    shown(
        *("h1", "wearing_style: in-ear design", "colour: red", "connection: bluetooth link"),
        title="Okapi One", price=50, year=2020, rating=4.0,
    ),
    shown(
        *("h2", "wearing_style: on-ear design", "colour: blue", "connection: wired connection"),
        title="Fennec Two", price=80, year=2022, rating=4.5,
    ),
    shown(
        *("h3", "wearing_style: behind-the-neck band", "colour: green", "connection: 2.4 GHz low-latency dongle"),
        title="Quokka Three", price=20, year=2015, rating=3.5,
    ),
)  # fmt: skip


def _told(read: Read) -> str:
    said = read.statement
    scope = f" @{read.scope.value}" if read.scope else ""
    if said.bound is not None:
        if said.bound.above is None and said.bound.below is None:
            return f"any {said.bound.measure.value}{scope}"
        less = said.bound.below is not None
        amount = said.bound.below if less else said.bound.above
        return f"{said.bound.measure.value}{'<' if less else '>'}{amount:g}{scope}"
    what = f"#{said.item_id}" if said.item_id else f"{said.dimension}={said.value}"
    over = f" over {said.over}" if said.over else ""
    return f"{said.stance.value} {what}{over}{' changed' if said.changed else ''}{scope}"


def told(found: Correction) -> list[str]:
    """What was understood, as the table has it."""
    return [*map(_told, found.reads), *(f"suits #{item}" for item in found.suits)]


def sentences(name: str) -> list[tuple[str, list[str], str | None]]:
    """Return each sentence, its meaning and the item in question."""
    rows = []
    for line in lines(name):
        left, _, text = line.partition("	")
        said, _, about = left.partition(" ~")
        rows.append((text, [] if said == "-" else said.split("; "), about or None))
    return rows


def read_of(text: str, about: str | None) -> Correction:
    return read_correction(text, items=ITEMS, vocabulary=VOCABULARY, about=about, domain="headphones")


@pytest.mark.parametrize(("text", "said", "about"), sentences("sentences.tsv"))
def test_a_sentence_says_what_it_says(text: str, said: list[str], about: str | None) -> None:
    assert sorted(told(read_of(text, about))) == sorted(said)


def test_nothing_is_understood_that_was_not_said_and_little_is_missed() -> None:
    rows = [(said, told(read_of(text, about))) for table in TABLES for text, said, about in sentences(table)]
    right = sum(len(set(said) & set(found)) for said, found in rows)

    precision = right / sum(len(found) for _, found in rows)
    recall = right / sum(len(said) for said, _ in rows)

    assert precision == 1.0
    assert recall > 0.97
    assert len(rows) > 650


def test_what_is_said_of_somebody_else_is_told() -> None:
    assert read_of("My daughter likes red", None).why is Why.FOR_ANOTHER
    assert read_of("My daughter and I like red", None).why is not Why.FOR_ANOTHER


def test_a_value_that_is_not_shown_is_known_by_the_vocabulary() -> None:
    known = facts("colour: mauve")

    assert told(read_correction("no mauve", items=ITEMS, vocabulary=known)) == ["avoids colour=mauve"]


def test_a_vocabulary_of_thousands_is_searched_for_what_the_words_may_name() -> None:
    words = ("no", "value", "77", "comedies")
    known = facts(*(f"tag: value {n}" for n in range(3)), "tag: other", "genre: Comedy", "genre: Ωmega")

    assert [fact.value for fact in may_be_named(known, words)] == ["value 0", "value 1", "value 2", "Comedy", "Ωmega"]


# --- frames of corrections: one thing for another, the same in another form, nearer

TOWN = facts(
    *("cuisine: italian", "cuisine: thai", "cuisine: greek", "side: rice", "side: noodles", "side: reis"),
    *("side: nudeln", "theme: zombies", "colour: black", "colour: schwarz", "colour: rot", "cuisine: italienisch"),
    *("cuisine: thailändisch", "colour: red"),
)
NEAR = (
    shown("h1", "colour: red", title="Okapi One", distance=2.0, price=10.0),
    shown("h2", "colour: blue", title="Fennec Two", distance=4.0, price=20.0),
)
FRAMES = """
not Italian, Thai                            | instead cuisine=thai over italian
Please not Italian, Greek!                   | instead cuisine=greek over italian
not Italian, Thai or Greek                   | avoids cuisine=italian; avoids cuisine=thai; avoids cuisine=greek
not Italian, black                           | avoids cuisine=italian
not Italian, please                          | avoids cuisine=italian
not the red one, the blue one                | avoids #h1; prefers #h2
nicht italienisch, thailändisch              | instead cuisine=thailändisch over italienisch
nicht rot, schwarz oder blau                 | avoids colour=rot
I meant the blue one                         | prefers #h2 @now
sorry, we had in mind something Greek        | prefers cuisine=greek @now
I meant to say that Greek is fine            | -
I never meant Greek                          | -
my wife meant the red one                    | -
ich meinte doch schwarz                      | prefers colour=schwarz @now
ich meinte nicht schwarz                     | -
same but in black                            | prefers colour=black @now
The same one in black, please                | prefers colour=black @now
the same in black?                           | prefers colour=black @now
exactly the same thing, only in black        | prefers colour=black @now
the same in black looks awful                | -
not the same in black                        | -
it's the same with the red one               | -
gibt es dasselbe in schwarz?                 | prefers colour=schwarz @now
das gleiche, aber in schwarz                 | prefers colour=schwarz @now
dasselbe Problem in schwarz                  | -
instead of rice take noodles                 | instead side=noodles over rice
Instead of rice, I'll have noodles           | instead side=noodles over rice
instead of rice we took noodles              | -
statt Reis nimm Nudeln                       | instead side=nudeln over reis
statt Reis bekam ich Nudeln                  | -
nothing with zombies in it                   | avoids theme=zombies
nichts mit Zombies drin, bitte               | avoids theme=zombies
my son wants nothing with zombies            | -
closer to the station                        | distance<3
something a bit nearer to my office          | distance<3
closer to the station than the first one     | distance<2
closer to the original                       | -
is it closer to the station?                 | -
the red one is closer to the station         | -
etwas näher am Bahnhof                       | distance<3
es soll näher am Zentrum sein                | distance<3
näher am Original                            | -
das rote ist näher am Bahnhof                | -
"""


@pytest.mark.parametrize("row", FRAMES.strip().splitlines())
def test_a_frame_of_a_correction_means_what_it_means(row: str) -> None:
    text, _, meaning = (part.strip() for part in row.partition("|"))
    found = told(read_correction(text, items=NEAR, vocabulary=TOWN, domain="things"))

    assert sorted(found) == ([] if meaning == "-" else sorted(meaning.split("; ")))


# --- names


BOTH = (
    shown("f1", "director: Ana Ruiz", "actor: Ana Ruiz", "genre: drama", title="Her"),
    shown("f2", "category: book", "category: other", "colour: orange", title="Anything"),
    shown("f3", "flavour: orange", "condition: new", "pace: not too fast", title="The Long Night (1999)"),
)


def named(text: str, items: tuple[Shown, ...] = BOTH, about: str | None = None) -> list[str]:
    said = [read.statement for read in read_correction(text, items=items, about=about, domain="films").reads]
    return [f"{each.stance.value} {each.item_id or f'{each.dimension}={each.value}'}" for each in said]


def test_who_directs_and_plays_is_one_person() -> None:
    assert named("no Ana Ruiz") == ["avoids director=Ana Ruiz", "avoids actor=Ana Ruiz"]
    assert named("I don't want the actor Ana Ruiz") == ["avoids actor=Ana Ruiz"]


def test_a_value_of_two_things_is_neither_unless_told() -> None:
    assert named("no orange") == []
    assert named("I don't like the colour orange") == ["avoids colour=orange"]
    assert named("no orange", about="f3") == ["avoids flavour=orange"]


@pytest.mark.parametrize("text", ["I don't want any other", "I don't want anything", "I don't want this book"])
def test_words_for_anything_name_no_category(text: str) -> None:
    assert named(text) == []


def test_a_category_in_general_is_named() -> None:
    assert named("no books please") == ["avoids category=book"]
    assert named("I don't want this book", about="f2") == ["avoids f2"]


def test_a_title_is_named_without_its_year() -> None:
    assert named("not The Long Night") == ["avoids f3"]
    assert named("more like The Long Night (1999)") == ["prefers f3"]


def test_a_value_of_words_that_patterns_are_made_of_is_a_name_as_a_whole() -> None:
    assert named("I prefer not too fast") == ["prefers pace=not too fast"]
    assert named("I want a new one") == ["prefers condition=new"]


def test_items_of_one_title_are_not_named_by_it() -> None:
    twins = (shown("a", "colour: red", title="lamp"), shown("b", "colour: blue", title="lamp"))

    assert named("I don't want lamp", twins) == []
    assert named("I don't want a red lamp", twins) == ["avoids colour=red"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_other_names_never_shadow_a_value_of_that_name(language: str) -> None:
    no = {"en": "no", "de": "kein"}[language]
    for line in sections(language)["names"]:
        value, _, phrases = line.partition(" = ")
        for phrase in phrases.split(" | "):
            catalogue = facts(f"genre: {value}", f"shelf: {phrase}")
            found = read_correction(f"{no} {phrase}", vocabulary=catalogue, language=language)
            assert {read.statement.value for read in found.reads} <= {phrase}


# --- vocabularies


HORROR, COMEDY = facts("genre: horror", "genre: comedy")


def tags(*values: str) -> tuple[Value, ...]:
    return tuple(Value("tag", value) for value in values)


def stated(text: str, vocabulary: tuple[Value, ...]) -> list[tuple[Stance, str | None, str | None]]:
    reads = read_correction(text, vocabulary=vocabulary, domain="films").reads
    return [(read.statement.stance, read.statement.dimension, read.statement.value) for read in reads]


@pytest.mark.parametrize(
    "poison",
    [
        *("horror", "no horror", "No, horror", "please no horror", "horror, please", "no horror please", "HORROR"),
        *("horror and comedy", "horrors", "kein horror", "ich mag horror"),
    ],
)
def test_a_value_of_others_does_not_turn_a_sentence_about_a_known_one(poison: str) -> None:
    for text in ("no horror, please", "No horror please!", "kein Horror"):
        assert stated(text, joined((HORROR, COMEDY), tags(poison))) == [(Stance.AVOIDS, "genre", "horror")]


def test_a_rarer_value_of_others_does_not_turn_a_sentence_about_a_common_one() -> None:
    vocabulary = joined((), (HORROR,), tags("no horror", "horror"))

    assert vocabulary == (HORROR,)
    assert stated("no horror, please", vocabulary) == [(Stance.AVOIDS, "genre", "horror")]


def test_values_of_others_with_a_name_of_their_own_can_be_tags() -> None:
    values = tags("folk horror", "true story", "film noir", "anti war")

    assert joined((HORROR, COMEDY), values) == (HORROR, COMEDY, *values)
    assert stated("no folk horror", joined((HORROR,), values)) == [(Stance.AVOIDS, "tag", "folk horror")]


def test_all_facts_of_the_persons_own_lists_can_be_tags() -> None:
    own = (HORROR, *tags("horror", "no horror"))

    assert joined(own, (HORROR, COMEDY)) == (*own, COMEDY)


# --- hostile words


GENRES = facts("genre: horror", "genre: comedy", "genre: noir", "genre: drama")
HOSTILE = (
    *ITEMS,
    shown("x1", "tag: I don't want blue", "tag: not", "tag: never again", title="Ignore all previous instructions"),
    shown("x2", "tag: no red", "tag: .", "tag: \u200b", "tag: 🍕", title="“I don't want red”"),
)
KNOWN = {(fact.dimension, fact.value) for item in HOSTILE for fact in item.facts} | {
    (fact.dimension, fact.value) for fact in GENRES
}
FRAGMENTS = st.sampled_from(
    [
        *("I don't want ", "red", "blue", " no ", ", ", " and ", ". ", "option B ", "cheaper ", "the ", " because "),
        *("\u200b", "“", "'", '"', "but ", "I used to like ", "I ", "B ", "than ", "under 20 ", "\u0301", "ﷺ", "> "),
        *(
            "\n",
            "nicht ",
            "ich mag ",
            "keine ",
            "\u202e",
            "…",
            "\uff1f",
            "\uff2e\uff4f ",
            "🍕",
            "?",
            "\U000e0041",
            "my daughter likes ",
        ),
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(FRAGMENTS, max_size=60).map("".join))


def read_hostile(text: str) -> Correction:
    return read_correction(text, items=HOSTILE, vocabulary=GENRES, domain="films")


@given(text=TEXTS)
@settings(max_examples=300, deadline=None)
def test_only_known_things_are_spoken_of_in_the_persons_words(text: str) -> None:
    found = read_hostile(text)
    ids = {item.item_id for item in HOSTILE}
    for each in found.reads:
        said = each.statement
        assert said.item_id in ids if said.item_id else said.bound or (said.dimension, said.value) in KNOWN
        assert 0 < len(each.words) <= MAX_QUOTED_CHARS
    assert set(found.suits) <= ids
    assert isinstance(is_unread(text), bool)


@pytest.mark.parametrize(
    "text",
    [
        *("I don't want " * 150, "and " * 500, "no red, blue, " * 140, "red and " * 250, '"' * 2_000, "\"a'b" * 500),
        *("e" + "\u0301" * 1_999, "ﷺ" * 2_000, "\u200b" * 2_000, "\u202e" * 1_999, "🍕" * 2_000, ">\n" * 1_000),
        *("I used to like red " * 100, "the first one " * 140, "B " * 1_000, "under 20 " * 220, "for my " * 280),
        *("ignore all " * 180, "1,2.3" * 400, "a" * 2_000, "no " * 660, "((((" * 500, "'" * 2_000),
    ],
    ids=lambda text: ascii(text[:16]),
)
def test_texts_made_to_take_long_are_read_like_any(text: str) -> None:
    read_hostile(text[:2_000])


@pytest.mark.parametrize("name", LANGUAGES)
def test_no_pattern_repeats_a_group_without_a_limit(name: str) -> None:
    language = language_of(name)
    sentences = [pattern.sentence for pattern in language.patterns]
    anywhere = [language.blocks, language.unread, language.for_another, language.of_another, language.fill]

    for pattern in (*sentences, *anywhere, *language.reasons, *language.items):
        assert not re.search(r"\)(?:[*+]|\{\d+,\})", pattern.pattern)


def test_of_a_long_text_only_so_much_is_read() -> None:
    assert len(tokens("ﷺ" * 2_000)) == MAX_TOKENS
    assert len(read_correction("no red. " * 249 + "no blue.", items=ITEMS).reads) == 1


def test_values_of_items_are_no_words_of_the_person() -> None:
    """A value that reads as a sentence stands for itself: it says nothing when it is named."""
    for text in ("I like I don't want blue", "more like “I don't want red”", "I like no red"):
        found = read_hostile(text)
        assert all((each.statement.value or "") not in ("blue", "red") for each in found.reads)


@pytest.mark.parametrize("text", ["\u0406 d\u043en't w\u0430nt r\u0435d", "\u0399 \u0501on't want red"])
def test_letters_of_other_scripts_are_other_letters(text: str) -> None:
    found = read_correction(text, items=ITEMS)
    assert (found.reads, found.suits) == ((), ())


@pytest.mark.parametrize("pattern", ["(a", "a]", "{nobody}", "[a)"])
def test_a_pattern_that_cannot_be_read_is_named(pattern: str) -> None:
    with pytest.raises(BadPattern, match=re.escape(pattern.strip("{}"))):
        expression(pattern, {})


def test_a_pattern_that_means_itself_is_refused() -> None:
    with pytest.raises(BadPattern, match="circles"):
        expression("{a}", {"a": "b {a}"})
    assert expression("a [b]", {}).replace(BETWEEN, " ") == "a (?:b )?"
