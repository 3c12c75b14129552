"""The tables of what people let be known beside their choices: signals, words, and that nothing suited."""

from streams.materializer.columns import Table, flag, number, real, text, texts
from streams.materializer.fields import (
    DOMAIN,
    ENVELOPE,
    EVENT_ID,
    EVENT_KEY,
    INSTRUCTION,
    ITEM_ID,
    OCCURRED_AT,
    PROVENANCE,
    RANKING_ID,
    SESSION_ID,
    SKILL_VERSION,
    USER,
)
from streams.materializer.ranking_tables import ARM

SUBJECT = (
    text("stance", "prefers, avoids or instead"),
    text("dimension", "Such as genre; null: it is about an item or a bound"),
    text("value", "Such as horror"),
    text("over", "instead: what it replaces"),
    text("item_id", "The item, where it is about one"),
    text("measure", "Such as price, where it is about a bound"),
    real("above", "Only items with more of the measure than this"),
    real("below", "Only items with less of the measure than this"),
)
"""What somebody wants or does not want, in fields."""

FEEDBACK = Table(
    "feedback",
    "Signals about items that are no choices: ratings, likes, skips, purchases, an app's own. What came of them is in "
    "skill_diffs, by event_id",
    EVENT_KEY,
    (
        *ENVELOPE,
        DOMAIN,
        ITEM_ID,
        text("title", "The item's title"),
        text("signal", "liked, disliked, rated, saved, hidden, skipped, dwelled, purchased, returned, or an app's own"),
        real("value", "rated: the rating; dwelled: seconds"),
        real("scale_worst", "rated: the worst rating that there is, if the app told it; else 1"),
        real("scale_best", "rated: the best one, likewise; else 5"),
        text("ranking_id", "The ranking in which the item was shown, if it was in one"),
        SESSION_ID,
        *PROVENANCE,
    ),
)
CORRECTION_DIRECTIVES = Table(
    "correction_directives",
    "One row per thing that a person said by a form; comes with its row of corrections. Private values are withheld: "
    "private:KIND",
    EVENT_KEY,
    (
        USER,
        EVENT_ID,
        number("seq", "Place within the correction, from 1"),
        DOMAIN,
        OCCURRED_AT,
        *SUBJECT,
        flag("changed", "Whether they say that they once thought otherwise"),
    ),
)
CORRECTIONS = Table(
    "corrections",
    "What people said, in words or by a form, about a ranking, an item or in general; corrections_understood has what "
    "came of it",
    EVENT_KEY,
    (
        *ENVELOPE,
        DOMAIN,
        text("text", "The person's own words, without what is personal"),
        text("language", "As the app told it, such as de; null: told by the words"),
        texts("item_ids", "What the person saw while they said it, first place first"),
        text("item_id", "The item that it is about, if it is about one"),
        texts("suits", "The items that they said would do"),
        text("scope", "now, session or always; null: as the words say, else always"),
        text("answers", "The question that it answers: question_id in rankings"),
        text("ranking_id", "The ranking that it is about, if it is about one"),
        SESSION_ID,
        *PROVENANCE,
    ),
    children=(CORRECTION_DIRECTIVES,),
)
ABSTENTIONS = Table(
    "abstentions",
    "Rankings of which nothing was taken, because the person said so; no word against any item of them",
    EVENT_KEY,
    (
        *ENVELOPE,
        DOMAIN,
        RANKING_ID,
        INSTRUCTION,
        texts("item_ids", "What was shown, first place first"),
        SKILL_VERSION,
        ARM,
        SESSION_ID,
        *PROVENANCE,
    ),
)
