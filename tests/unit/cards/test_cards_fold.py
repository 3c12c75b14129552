"""Properties of a card's log: it folds to the card byte for byte, within bounds, and can lose a line."""

from dataclasses import replace
from datetime import timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from operators.attributes import normalise
from operators.cards.fold import apply_diff, drop_stale_quotations, fold_cards, redact_card_log
from operators.cards.lines import line_id
from operators.cards.merge import SUPERSEDED, apply_command, merge_extraction
from operators.language.ports import Effect, Extraction, PreferenceFinding
from schemas import MAX_CARD_LINES, MAX_PAST_LINES, Stance, decode, encode
from schemas.cards import Card, CardAction, CardChangeKind, CardCommand, CardDiff, CardLineInput, Strength
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import NOW

VALUES = ["jazz", "old jazz records", "tea", "green tea", "coriander", "dark chocolate", "Belgian dark chocolate",
          "morning runs", "runs", "insulin", "window seats", "blues"]  # fmt: skip
STANCES = [Stance.PREFERS, Stance.AVOIDS]


@st.composite
def findings(draw: st.DrawFn) -> PreferenceFinding:
    value = draw(st.sampled_from(VALUES))
    effect = draw(st.sampled_from([Effect.STATES, Effect.STATES, Effect.UPDATES, Effect.WITHDRAWS, Effect.FORGETS]))
    return PreferenceFinding(
        stance=draw(st.sampled_from(STANCES)),
        value=value,
        words=draw(st.sampled_from(["", f"I like {value}", f"{value} and jazz", "you know what I mean"])),
        event_id=f"u{draw(st.integers(0, 60))}",
        stated_at=NOW + timedelta(days=draw(st.integers(0, 900))),
        strength=draw(st.sampled_from([Strength.SAID, Strength.IMPLIED])),
        effect=effect,
        replaces=draw(st.sampled_from(VALUES)) if effect is Effect.UPDATES else None,
    )


Step = tuple[str, object]
chunks = st.lists(findings(), min_size=1, max_size=5).map(lambda told: ("hear", told))
commands = st.tuples(st.sampled_from(list(CardAction)), st.sampled_from(VALUES), st.integers(0, 20)).map(
    lambda told: ("command", told)
)
steps = st.lists(st.one_of(chunks, chunks, commands), min_size=1, max_size=14)


def history(told: list[Step]) -> list[CardDiff]:
    """The log that these steps make, each resolved against the card as it is then."""
    card: Card | None = None
    diffs: list[CardDiff] = []
    for at, (kind, what) in enumerate(told):
        diff = {"hear": _heard, "command": _commanded, "set": _set}[kind](card, at, what)
        if diff is not None:
            diff = decode(CardDiff, encode(diff))
            card = apply_diff(card, diff)
            diffs.append(diff)
    return diffs


def _heard(card: Card | None, at: int, what: object) -> CardDiff | None:
    assert isinstance(what, list)
    when = max(each.stated_at for each in what)
    return merge_extraction(card, "ann", Extraction(findings=tuple(what)), f"chunk{at}", when, "talk", None, PRIVACY)


def _commanded(card: Card | None, at: int, what: object) -> CardDiff | None:
    assert isinstance(what, tuple)
    action, value, place = what
    lines = () if card is None else (*card.lines, *card.past)
    named = lines[place % len(lines)].line_id if lines else "prefers:stated:nothing"
    command = CardCommand(
        event_id=f"command{at}",
        occurred_at=NOW + timedelta(days=10 * at),
        user_id="ann",
        action=action,
        line_id=named,
        line=CardLineInput(value=value) if action is CardAction.SET else None,
        actor="ann",
        reason=f"about {value}",
    )
    return apply_command(card, command, None, PRIVACY)


NAMES = [None, "films", "books"]
placed = st.builds(
    lambda told, domain: replace(told, domain=domain, dimension="genre" if domain else "stated"),
    findings(),
    st.sampled_from(NAMES),
)
set_somewhere = st.builds(
    lambda value, stance, domain: CardLineInput(value=value, stance=stance, domain=domain),
    st.sampled_from(VALUES),
    st.sampled_from(STANCES),
    st.sampled_from(NAMES),
).map(lambda stated: ("set", stated))
everything = st.lists(
    st.one_of(st.lists(placed, min_size=1, max_size=4).map(lambda told: ("hear", told)), commands, set_somewhere),
    min_size=1,
    max_size=12,
)


def _set(card: Card | None, at: int, stated: object) -> CardDiff | None:
    assert isinstance(stated, CardLineInput)
    command = CardCommand(event_id=f"set{at}", occurred_at=NOW + timedelta(days=10 * at), user_id="ann",
                          action=CardAction.SET, line=stated, actor="ann")  # fmt: skip
    return apply_command(card, command, None, PRIVACY)


@given(everything)
@settings(max_examples=60)
def test_card_equals_the_fold_of_its_log(told: list[Step]) -> None:
    diffs = history(told)
    card: Card | None = None
    seen: list[bytes] = []
    for diff in diffs:
        card = apply_diff(card, diff)
        seen.append(encode(card))
        assert decode(Card, seen[-1]) == card
        assert len(card.lines) <= MAX_CARD_LINES
        assert len(card.past) <= MAX_PAST_LINES
        assert all(line.overtaken_at is None for line in card.lines)
        assert all(line.overtaken_at is not None for line in card.past)
        assert not {line.line_id for line in card.lines} & {line.line_id for line in card.past}
    assert [encode(diff) for diff in history(told)] == [encode(diff) for diff in diffs]
    assert [encode(fold_cards(diffs[: end + 1])["ann"]) for end in range(len(diffs))] == seen


@given(everything)
@settings(max_examples=60)
def test_domain_statement_does_not_end_a_general_line(told: list[Step]) -> None:
    card: Card | None = None
    for diff in history(told):
        card = apply_diff(card, diff)
        for change in diff.changes:
            ended = change.line
            if ended is None or change.kind not in (CardChangeKind.OVERTAKEN, CardChangeKind.MERGED):
                continue
            if change.reason == SUPERSEDED or diff.event_id.startswith("command"):
                continue  # the person, or whoever commands, names the line that is to end
            heirs = [line for line in (*card.lines, *card.past) if line.line_id == ended.overtaken_by]
            assert all(heir.domain in (None, ended.domain) for heir in heirs)


@given(steps)
def test_card_never_prefers_and_avoids_the_same_value(told: list[Step]) -> None:
    diffs = history(told)
    if diffs:
        about = [(line.domain, line.dimension, normalise(line.value)) for line in fold_cards(diffs)["ann"].lines]
        assert len(about) == len(set(about))


@given(steps, st.sampled_from(VALUES), st.sampled_from(STANCES))
def test_redacted_log_folds_to_the_card_without_the_line(told: list[Step], value: str, stance: Stance) -> None:
    diffs = history(told)
    name = line_id(stance, "stated", value)
    bare = redact_card_log(diffs, name)
    assert [diff.version for diff in bare] == [diff.version for diff in diffs]
    assert redact_card_log(bare, name) == bare
    for diff in bare:
        written = encode(diff).decode()
        assert f'"{name}"' not in written
        changed = [change.line for change in diff.changes if change.line is not None]
        assert all(value.casefold() not in line.words.casefold() for line in changed) or name not in str(diffs)
    if diffs:
        card = fold_cards(diffs)["ann"]
        assert [line.line_id for line in fold_cards(bare)["ann"].lines] == [
            line.line_id for line in card.lines if line.line_id != name
        ]


@given(steps, st.integers(0, 20))
def test_redaction_completes_a_partly_redacted_log(told: list[Step], parts: int) -> None:
    diffs = history(told)
    name = line_id(Stance.PREFERS, "stated", "jazz")
    bare = redact_card_log(diffs, name)
    half = [*bare[:parts], *diffs[parts:]]
    assert [diff.version for diff in redact_card_log(half, name)] == [diff.version for diff in diffs]
    assert all(f'"{name}"' not in encode(diff).decode() for diff in redact_card_log(half, name))
    if diffs:
        assert fold_cards(redact_card_log(half, name))["ann"].lines == fold_cards(bare)["ann"].lines


@given(steps)
@settings(max_examples=60)
def test_forgotten_value_is_removed_from_card_and_log(told: list[Step]) -> None:
    wish = PreferenceFinding(Stance.PREFERS, "jazz", "forget that I like jazz", "wish", NOW + timedelta(days=2_000),
                   effect=Effect.FORGETS)  # fmt: skip
    diffs = history([*told, ("hear", [wish])])
    gone = [change.line_id for diff in diffs for change in diff.changes if change.line is None]
    before = encode(fold_cards(diffs)["ann"])
    diffs = drop_stale_quotations(diffs)
    assert encode(fold_cards(diffs)["ann"]) == before
    for name in gone:
        diffs = redact_card_log(diffs, name)
    card = fold_cards(diffs)["ann"]
    assert "jazz" not in encode(card).decode().casefold()
    assert all("jazz" not in encode(diff).decode().casefold() for diff in diffs)


def test_evicted_past_lines_stay_evicted_after_redaction() -> None:
    told: list[Step] = []
    for at in range(50):
        said = [PreferenceFinding(Stance.PREFERS, f"thing{at} one{at}", "", f"a{at}", NOW + timedelta(days=at))]
        taken = [PreferenceFinding(Stance.PREFERS, f"thing{at} one{at}", "", f"b{at}", NOW + timedelta(days=at),
                         effect=Effect.WITHDRAWS)]  # fmt: skip
        told += [("hear", said), ("hear", taken)]
    diffs = history(told)
    name = line_id(Stance.PREFERS, "stated", "thing30 one30")
    card = fold_cards(diffs)["ann"]
    bare = redact_card_log(diffs, name)
    assert len(card.past) == MAX_PAST_LINES
    assert [line.line_id for line in fold_cards(bare)["ann"].past] == [
        line.line_id for line in card.past if line.line_id != name
    ]
    assert redact_card_log(bare, name) == bare


@given(st.lists(st.integers(0, 300), min_size=1, max_size=5, unique=True), st.randoms())
def test_repeats_count_the_same_in_any_order(days: list[int], chance: Random) -> None:
    said = [PreferenceFinding(Stance.PREFERS, "tea", "", f"u{day}", NOW + timedelta(days=day)) for day in days]
    shuffled = chance.sample(said, len(said))
    first, then = (
        fold_cards(history([("hear", [each]) for each in told]))["ann"].lines[0]
        for told in (sorted_by_day(said), shuffled)
    )
    for name in ("weight", "against", "times", "since", "confirmed_at", "line_id", "value", "strength"):
        assert getattr(first, name) == getattr(then, name)
    assert set(first.evidence) == set(then.evidence)


def sorted_by_day(said: list[PreferenceFinding]) -> list[PreferenceFinding]:
    return sorted(said, key=lambda each: each.stated_at)


@given(st.permutations([("likes", 0), ("avoids", 40), ("likes", 90)]))
def test_latest_statement_wins_in_any_order(told: list[tuple[str, int]]) -> None:
    stances = {"likes": Stance.PREFERS, "avoids": Stance.AVOIDS}
    said = [PreferenceFinding(stances[how], "tea", "", f"u{day}", NOW + timedelta(days=day)) for how, day in told]
    (line,) = fold_cards(history([("hear", [each]) for each in said]))["ann"].lines
    assert line.stance is Stance.PREFERS
    assert [each.stance for each in fold_cards(history([("hear", said)]))["ann"].lines] == [Stance.PREFERS]
