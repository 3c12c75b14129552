"""Films and series: genre, qualifier, director, viewing mood and more (paper App. E, Table 6, row MovieTV).

| dimension | values | from | at most |
|---|---|---|---|
| genre | the 17 classes of `GENRES` | `genres`, `categories`; else title and description | 6 |
| qualifier | the labels of `QUALIFIERS` | the same, and `plot_keywords` | 3 |
| director | names | `directors`; else title and first 400 characters of the description | 3 |
| mood | the 8 classes of `MOODS` | description, `plot_keywords`, title | 2 |
| actor | names | `actors`, `cast`, `starring` | 3 |
| keyword | plot keywords as given | `plot_keywords`, `keywords`, `tags` | 5 |
| country | the first country | `country` | 1 |
| era | `1990s`; one for all before 1900 | `year`, or `(1995)` in the title | 1 |
| year | `1995 releases` | the same | 1 |

What a seller says of a tape or a disc ("VHS VG+", "Used: Good", "7.5 x 5.4 x 0.6 inches") is taken out of the
description before anything is read from it.
"""

import re
from typing import Final

from operators.statinit import text
from schemas import Candidate, Fact

GENRES: Final = text.Vocabulary(
    {
        "action": "action, martial arts, kung fu, shoot out, car chase",
        "adventure": "adventure, swashbuckler, expedition, treasure hunt, quest",
        "animation": "animation, animated, anime, cartoon, stop motion, pixar",
        "comedy": "comedy, comedies, sitcom, stand up, slapstick, spoof, parody, rom com, mockumentary",
        "crime": "crime, gangster, mafia, mob, heist, film noir, detective, drug cartel",
        "documentary": "documentary, documentaries, docuseries, true life, nature series, concert film",
        "drama": "drama, melodrama, soap opera, docudrama",
        "family": "family, kid, children, kids family, childrens, for all ages, disney",
        "fantasy": "fantasy, fairy tale, wizard, dragon, sorcerer, sword and sorcery, mythical",
        "horror": "horror, slasher, zombie, haunted, gore, vampire, werewolf, demonic, possession",
        "musical": "musical, music, opera, ballet, concert, performing arts, dance, broadway, songs",
        "mystery": "mystery, whodunit, murder mystery, sleuth, unsolved",
        "romance": "romance, romantic, love story, love affair, rom com, romcom",
        "sci-fi": """sci fi, scifi, science fiction, space opera, alien, robot, cyborg, dystopia, dystopian,
            time travel, outer space, spaceship, android""",
        "thriller": "thriller, suspense, psychological thriller, espionage, conspiracy, assassin, hostage",
        "war": "war, military, world war ii, wwii, vietnam war, battlefield, soldier",
        "western": "western, cowboy, gunslinger, wild west, outlaw",
    }
)
GENRES_IN_TEXT: Final = GENRES.without(
    "family, kid, children, childrens, music, dance, songs, military, possession, outlaw"
)
"""The same without what a plot may mention in any genre ("her family", "two children")."""
QUALIFIERS: Final = text.Vocabulary(
    {
        "historical": """history, historical, period piece, period drama, costume drama, medieval, ancient rome,
            victorian""",
        "biographical": "biography, biographical, biopic",
        "true story": """true story, based on true story, based on a true story, real life events,
            based on real events""",
        "sports": "sport, sports, boxing, baseball, basketball, football, wrestling",
        "film noir": "film noir, neo noir, noir",
        "superhero": "superhero, marvel comics, dc comics, based on comic, based on comic book",
        "spy": "spy, spies, secret agent, espionage, cia, official james bond series, mi6",
        "heist": "heist, bank robbery, robbery, caper",
        "teen": "teen, teenage, teen movie, high school, coming of age",
        "dark comedy": "dark comedy, black comedy, black humor, satire, satirical",
        "romantic comedy": "romantic comedy, rom com, romcom",
        "independent": """independent film, indie, art house, arthouse, arthouse international,
            art house international""",
        "foreign": "foreign, foreign language, foreign film, bollywood, world cinema",
        "cult": "cult, cult film, cult classic, midnight movie, b movie",
        "classic": "classic, classics, classic film, silent film, golden age, black and white",
        "anime": "anime, manga",
        "martial arts": "martial arts, kung fu, samurai, ninja, karate",
        "holiday": "christmas, holiday, halloween",
        "sequel": "sequel, second part, third part, fourth part",
        "big screen": "imax, 3d",
        "short": "short, short film",
    }
)
"""What refines a genre; the raw genres that are not among the 17 (history, biography, sport, film-noir) are here."""
MOODS: Final = text.Vocabulary(
    {
        "funny tone": """funny, hilarious, humor, humorous, humour, witty, laugh, comedic, comic, slapstick, spoof,
            parody, satire, goofy, prank, mishap, misadventure, zany, wacky, bumbling, absurd, hijinks,
            crude humor""",
        "uplifting tone": """uplifting, inspiring, inspirational, heartwarming, feel good, hope, hopeful, triumph,
            dream, friendship, underdog, courage, redemption, joy, magical, happiness, perseverance, miracle,
            christmas""",
        "dark tone": """dark, darkness, gritty, bleak, disturbing, sinister, evil, brutal, serial killer, murder,
            death, violent, violence, gore, torture, suicide, blood, corruption, revenge, rape, nightmare,
            psychopath""",
        "tense tone": """tense, suspense, suspenseful, gripping, thrilling, race against time, hostage, chase, escape,
            on the run, kidnapped, kidnapping, conspiracy, terrorist, trapped, hunted, danger, deadly,
            cat and mouse""",
        "romantic tone": """romantic, romance, love, falls in love, love triangle, lover, wedding, kiss, marriage,
            passion, affair, soulmate, bride, true love""",
        "emotional tone": """emotional, moving, heartbreaking, poignant, tearjerker, grief, loss, tragic, tragedy,
            tender, bittersweet, dying, cancer, orphan, mourning, loneliness, estranged""",
        "mind-bending tone": """mind bending, surreal, twist, surprise ending, psychological, dreamlike,
            hallucination, memory, amnesia, time travel, parallel, alternate reality, virtual reality, philosophical,
            paradox, dystopia, nonlinear timeline, existential""",
        "epic tone": """epic, battle, war, quest, kingdom, empire, legend, legendary, hero, heroic, sweeping, army,
            king, saga, warrior, destiny, save the world, journey, spectacular""",
    }
)
"""Viewing moods, worded as in the paper's E.3 ("funny tone"), so that they can stand alone in a skill."""
VOCABULARY: Final = text.closed(genre=GENRES.labels, qualifier=QUALIFIERS.labels, mood=MOODS.labels)
"""Values that words can name before any item was seen."""
NOT_TELLING: Final = frozenset(
    {"seen", "to see", "watched", "owned", "dvd", "netflix queue", "female nudity", "vomiting"}
)
"""Keywords that say something about a copy or a viewer, or are noise in plot keyword lists."""
_CUE: Final = re.compile(r"[dDaAfF](?<!\w.)(?i:irected by |irectors?: ?| film (?:by|from) |ilmmaker )")
_SEGMENT: Final = re.compile(r"(?<=[.;|!?])\s+|[|\n]")
_MEDIA_WORDS: Final = text.word_set("vhs dvd blu-ray bluray laserdisc disc tape used inches ounces condition")
_CARRIER: Final = r"\b(?:vhs|dvds?|blu-?rays?|laser ?discs?|discs?|tapes?|cassettes?|sleeve|slipcover|box set)\b"
_STATE: Final = (
    r"(?:\bvg\b\+*|\bnm\b|\blike new\b|\bbrand new\b|\bvery good\b|\bgood condition\b|\bcondition\b|\bsealed\b"
    r"|\bscratch\w*|\bregion (?:free|code|[0-9])|\bntsc\b|\bpal\b|\bwidescreen\b|\bfull ?screen\b|\brated\b"
    r"|\bformat\b|\brewound\b|\bplays\b|\btested\b|\bex-rental\b|\bclamshell\b|\bships?\b|\bpre-?owned\b|\bused\b|\bacceptable\b|\bstickers?\b)"
)
_NOISE: Final = re.compile(
    rf"{_CARRIER}.{{0,60}}?{_STATE}|{_STATE}.{{0,60}}?{_CARRIER}|^\W*{_CARRIER}\W*$"
    r"|\b(?:used|condition)\s*[:\u2013-]\s*(?:like new|very good|good|acceptable|fair|new|vg)"
    r"|\bin (?:very )?(?:good|excellent|great|fine) (?:used )?condition\b"
    r"|\d(?:\.\d+)? ?x ?\d+(?:\.\d+)?.{0,20}?\b(?:inch(?:es)?|cm|in)\b|\b\d+(?:\.\d+)? (?:ounces|oz)\b"
)


def parse(candidate: Candidate) -> tuple[Fact, ...]:
    """What a film's metadata and words say (paper App. E, Table 6).

    >>> film = Candidate(
    ...     item_id="m1", title="Salt Harbour (1996)", metadata={"genres": "Crime|Film-Noir"},
    ...     description="['VHS VG+', 'A brutal heist, directed by Mina Sorel.']")
    >>> [f"{fact.dimension}={fact.value}" for fact in parse(film)]
    ['genre=crime', 'qualifier=film noir', 'director=Mina Sorel', 'mood=dark tone', 'era=1990s', 'year=1996 releases']
    """
    folded = text.by_key(candidate.metadata)
    year = text.year(folded, candidate.title)
    description = without_media_noise(text.description_of(candidate))
    keywords = [text.label(raw) for raw in text.values(folded, "keyword")]
    given = [*text.values(folded, "genre"), *text.values(folded, "category")]
    tags = " / ".join(keywords)
    words = f"{candidate.title} / {description[: text.MINED_CHARS]} / {tags}"
    genres = GENRES.find_in(given)
    return text.facts(
        ("genre", genres or GENRES_IN_TEXT.find(words)[:3], 6),
        ("qualifier", QUALIFIERS.find(" / ".join((*given, tags if genres else words))), 3),
        ("director", _directors(text.values(folded, "director"), candidate, description), 3),
        ("mood", MOODS.find(words), 2),
        ("actor", text.people(text.values(folded, "actor"), 3), 3),
        ("keyword", [keyword for keyword in keywords if keyword not in NOT_TELLING], 5),
        ("country", [text.name(raw) for raw in text.values(folded, "country")[:1]], 1),
        ("era", (text.decade(year),), 1),
        ("year", (text.releases(year),), 1),
    )


def without_media_noise(description: str) -> str:
    """The description without the sentences about the condition or the size of a tape or a disc (paper E.2).

    >>> without_media_noise("Used: Good. Two sisters rob a bank. DVD, region 2, like new")
    'Two sisters rob a bank.'
    >>> without_media_noise("A cursed VHS tape kills whoever watches it.")
    'A cursed VHS tape kills whoever watches it.'
    """
    lowered = description.lower()
    if not any(word in lowered for word in _MEDIA_WORDS):
        return description
    segments = _SEGMENT.split(description[: text.MINED_CHARS * 2])
    return " ".join(part for part in segments if _NOISE.search(part.lower()) is None)


def _directors(known: list[str], candidate: Candidate, description: str) -> list[str]:
    return text.people(known, 3) or text.credited(text.first_text(candidate, description), _CUE)
