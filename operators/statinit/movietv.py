"""Films and series: genre, qualifier, director, mood (paper App. E, Table 6)."""

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
# The same without what a plot may mention in any genre ("her family", "two children").
GENRES_IN_TEXT: Final = GENRES.without(
    "family, kid, children, childrens, music, dance, songs, military, possession, outlaw"
)
# What refines a genre; the raw genres that are not among the 17 (history, biography, sport, film-noir) are here.
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
# Viewing moods, worded as in the paper's E.3 ("funny tone"), so that they can stand alone in a skill.
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
# Values that words can name before any item was seen.
VOCABULARY: Final = text.closed_facts(genre=GENRES.labels, qualifier=QUALIFIERS.labels, mood=MOODS.labels)
# Keywords about a copy or a viewer, or noise in plot keyword lists.
IGNORED_KEYWORDS: Final = frozenset(
    {"seen", "to see", "watched", "owned", "dvd", "netflix queue", "female nudity", "vomiting"}
)


def parse(candidate: Candidate) -> tuple[Fact, ...]:
    """Read a film's facts (paper App. E, Table 6).

    >>> film = Candidate(
    ...     item_id="m1", title="Salt Harbour (1996)", metadata={"genres": "Crime|Film-Noir", "director": "Mina Sorel"},
    ...     description="A brutal heist.")
    >>> [f"{fact.dimension}={fact.value}" for fact in parse(film)]
    ['genre=crime', 'qualifier=film noir', 'director=Mina Sorel', 'mood=dark tone', 'era=1990s', 'year=1996 releases']
    """
    folded = text.fold_keys(candidate.metadata)
    year = text.year(folded, candidate.title)
    description = text.description_of(candidate)
    keywords = [text.label(raw) for raw in text.values_of(folded, "keyword")]
    given = [*text.values_of(folded, "genre"), *text.values_of(folded, "category")]
    tags = " / ".join(keywords)
    words = f"{candidate.title} / {description[: text.MINED_CHARS]} / {tags}"
    genres = GENRES.find_in(given)
    return text.facts(
        ("genre", genres or GENRES_IN_TEXT.find(words)[:3], 6),
        ("qualifier", QUALIFIERS.find(" / ".join((*given, tags if genres else words))), 3),
        ("director", text.people(text.values_of(folded, "director"), 3), 3),
        ("mood", MOODS.find(words), 2),
        ("actor", text.people(text.values_of(folded, "actor"), 3), 3),
        ("keyword", [keyword for keyword in keywords if keyword not in IGNORED_KEYWORDS], 5),
        ("country", [text.name(raw) for raw in text.values_of(folded, "country")[:1]], 1),
        ("era", (text.decade(year),), 1),
        ("year", (text.release_year(year),), 1),
    )
