"""The tables of cards: what people said of themselves in conversations, as it stands and how it came.

What they said word by word is not here: `utterances` and what waits of them never become rows.
"""

from streams.materializer.columns import Column, Keep, Table, flag, moment, number, real, text, texts
from streams.materializer.fields import DOCUMENT, EVENT_ID, OCCURRED_AT, PROVENANCE, REASONED, USER

CARD_KEY = ("user_id",)
CARD_DIFF_KEY = ("user_id", "version")
VERSION = number("version", "The card's version after this diff")
LINE_ID = text("line_id", "Stance, dimension and value; the same thing said again is the same line")
ABOUT = (
    text("stance", "prefers or avoids"),
    text("dimension", "Of the domain's vocabulary, such as genre; stated: in words of none"),
    text("value", "Such as horror, or few words of the person's own"),
    text("domain", "Where it holds; null: anywhere"),
    text("strength", "said, implied, or set (by a command)"),
)
"""What a line says."""

CARD_LINES = Table(
    "card_lines",
    "The lines of all current cards, and those that are past; replaced together with the row of cards",
    CARD_KEY,
    (
        USER,
        number("version", "The card's version"),
        number("place", "Place on the card, from 1; those that are past come after the others"),
        LINE_ID,
        *ABOUT,
        text("words", "The person's own, without what is personal; empty: a command wrote it"),
        real("weight", "What speaks for it, in plain statements"),
        real("against", "What speaks against it, likewise"),
        moment("since", "When it was first said"),
        moment("confirmed_at", "When it was last said"),
        number("since_version", "The card's version that brought it"),
        number("times", "How often it was said"),
        texts("evidence", "The newest events behind it, newest last"),
        flag("pinned", "Whether a person has pinned it"),
        flag("is_past", "Whether it was overtaken, and holds no more"),
        text("overtaken_by", "The line that holds in its place, if any"),
        moment("overtaken_at", "Since when it holds no more"),
    ),
)
CARDS = Table(
    "cards",
    "The current card per person, across domains",
    CARD_KEY,
    (
        USER,
        number("version", "The card's version"),
        number("lines", "How many lines it has"),
        number("past", "How many lines that were overtaken it still knows"),
        number("pinned", "How many of its lines are pinned"),
        real("reward", "The running mean of rewards, from -1 to 1"),
        text("event_id", "The event of the last diff"),
        moment("updated_at", "When the last diff's event happened"),
        DOCUMENT,
        *PROVENANCE,
    ),
    Keep.NEWEST,
    (CARD_LINES,),
)
CARD_CHANGES = Table(
    "card_changes",
    "One row per change of a line; comes with its row of card_diffs",
    CARD_DIFF_KEY,
    (
        USER,
        VERSION,
        number("seq", "Place within the diff, from 1"),
        text(
            "kind",
            "added, confirmed, contradicted, overtaken, withdrawn, merged, rewarded, faded, crowded-out, set, pinned, "
            "unpinned, removed or forgotten",
        ),
        LINE_ID,
        text("reason", "Why"),
        *(Column(each.name, each.type, f"{each.comment}; null: the line is gone") for each in ABOUT),
        text("overtaken_by", "The line that holds in its place, if any"),
        EVENT_ID,
        OCCURRED_AT,
    ),
)
CARD_RECEIPTS = Table(
    "card_receipts",
    "One row per kind of what was said and not kept, of which nothing is quoted; comes with its row of card_diffs",
    CARD_DIFF_KEY,
    (
        USER,
        VERSION,
        text("kind", "Why it is not kept, such as health, or somebody-else: it was about another person"),
        number("times", "How often"),
        EVENT_ID,
        OCCURRED_AT,
    ),
)
CARD_DIFFS = Table(
    "card_diffs",
    "The log of cards: one row per version. One that was written anew to forget a line takes the place of the first",
    CARD_DIFF_KEY,
    (
        USER,
        VERSION,
        text("event_id", "The chunk of a conversation, command or signal behind it"),
        OCCURRED_AT,
        text("conversation_id", "The conversation; null: a command or a signal"),
        number("changes", "How many lines it changed: rows of card_changes"),
        number("not_kept", "How many things that were said are not kept: see card_receipts"),
        real("reward", "The running mean of rewards from then on, from -1 to 1; null: as before"),
        *REASONED,
        DOCUMENT,
        *PROVENANCE,
    ),
    Keep.LAST,
    (CARD_CHANGES, CARD_RECEIPTS),
)
