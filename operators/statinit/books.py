"""Books: genre, author, mood, fine category and era (paper App. E, Table 6).

Series, reading level and format are left out, as in the paper's signal pruning.
"""

from functools import lru_cache
from typing import Final

from operators.statinit import text
from schemas import Candidate, Fact

GENERAL: Final = "general fiction"
# Fifteen classes; the paper does not name its own, so these follow the raw genres of the catalogues measured.
GENRES: Final = text.Vocabulary(
    {
        "mystery": """mystery, detective, whodunit, sleuth, crime, murder, true crime, police procedural, noir,
            private eye, investigator, cold case""",
        "thriller": "thriller, suspense, espionage, spy, spies, conspiracy, assassin, serial killer, hostage",
        "romance": """romance, romantic, love story, love stories, erotica, erotic, chick lit, new adult, bride, duke,
            billionaire, rake""",
        "fantasy": """fantasy, fantasies, magic, dragon, wizard, witch, sorcerer, fae, faerie, fairy tale, elf, elves,
            paranormal, vampire, werewolf, shapeshifter, supernatural, mythology, myth, folklore, urban fantasy,
            demon, throne of""",
        "science fiction": """science fiction, sci fi, scifi, sf, space opera, dystopia, dystopian, alien, robot,
            android, cyberpunk, steampunk, time travel, post apocalyptic, galaxy, starship, speculative fiction""",
        "horror": "horror, ghost, haunted, haunting, zombie, gothic, creepy, occult, possession",
        "historical": """historical, history historical fiction biography, regency, victorian, medieval, tudor,
            world war ii, wwii, civil war, 18th century, 19th century, alternate history""",
        "literary": """literary, classic, classics, poetry, poem, drama, dramas, essay, literature, world literature,
            literary fiction, magical realism, short story, short stories, anthologies, anthology, booker prize,
            pulitzer""",
        "young adult": "young adult, ya, teen, teenage, high school, coming of age",
        "children": """children, childrens, kid, picture book, middle grade, bedtime, early learning, toddler,
            nursery rhyme, growing up, juvenile""",
        "comics": "comic, comics, graphic novel, graphic, manga, superhero, batman, comic strip",
        "biography": """biography, biographies, memoir, autobiography, autobiographies, leaders, arts literature,
            true story, true stories""",
        "religion": """christian, christianity, bible, faith, religion, religious, spirituality, spiritual, prayer,
            theology, church, worship, devotional, buddhism, islam, judaism, amish, inspirational""",
        "non-fiction": """non fiction, nonfiction, history, politics, business, money, self help, health, fitness,
            diet, science, math, mathematics, medicine, medical, engineering, computer, technology, education,
            textbook, reference, cookbook, cooking, food, wine, craft, hobby, gardening, travel, psychology,
            philosophy, economics, photography, art, arts, music, sports, outdoors, parenting, relationships,
            social sciences, humanities, nature, animals, guide, handbook, how to, test preparation""",
        GENERAL: """fiction, literature fiction, genre fiction, contemporary, general fiction, womens fiction, action,
            adventure, humor, entertainment, realistic fiction, family, lgbt, westerns, western, united states,
            novel""",
    }
)
# The same without what a plot may mention in any genre ("two children", "the nature of grief").
GENRES_IN_TEXT: Final = GENRES.without(
    """children, childrens, kid, growing up, high school, leaders, faith, church, history, money, food, wine, nature,
    animals, music, arts, art, family, relationships, education, technology, science, politics, travel, health,
    united states, drama, dramas, duke, bride, action, possession, alien, murder, guide, sports, outdoors"""
)
# Reading moods, worded so that they can stand alone in a skill, as in the paper's E.3.
MOODS: Final = text.Vocabulary(
    {
        "uplifting reads": """uplifting, inspiring, inspirational, inspiration, heartwarming, hopeful, hope, joy,
            joyful, feel good, triumph, faith, happiness, motivational, christmas, healing, second chance, miracle""",
        "dark reads": """dark, darkness, darkest, disturbing, gritty, bleak, grim, sinister, evil, brutal, creepy,
            macabre, noir, gothic, blood, bloody, dead, death, deadly, killer, nightmare, horror, vampire""",
        "funny reads": """funny, hilarious, hilariously, humor, humour, humorous, comedy, comedic, comic fantasy,
            witty, satire, satirical, laugh, laugh out loud, romantic comedy, parody, wickedly funny""",
        "suspenseful reads": """suspense, suspenseful, gripping, page turner, edge of your seat, twist, chilling,
            tense, pulse pounding, riveting, thriller, thrilling, race against time, secret, danger, dangerous""",
        "emotional reads": """emotional, moving, heartbreaking, heartbreak, heartbroken, tearjerker, poignant, tender,
            bittersweet, grief, loss, tragic, tragedy, passion, passionate, heart, love, love story""",
        "thought-provoking reads": """thought provoking, profound, philosophical, philosophy, psychology,
            psychological, meditation, reflective, provocative, insightful, politics, social commentary,
            modern classics, literary fiction, meaning of life""",
        "adventurous reads": """adventure, adventurous, epic, quest, journey, voyage, swashbuckling, exploration,
            expedition, treasure, survival, pirate, battle, warrior, action""",
    }
)
# Categories that a genre names better, or that too many books have.
COARSE: Final = frozenset(
    {
        *("books", "kindle ebooks", "kindle store", "fiction", "non-fiction", "nonfiction", "literature", "classics"),
        *("literature & fiction", "genre fiction", "adult fiction", "general fiction", "realistic fiction"),
        *("contemporary", "contemporary fiction", "mystery, thriller & suspense", "thrillers & suspense"),
        *("science fiction & fantasy", "teen & young adult", "children's books", "comics & graphic novels"),
        *("christian books & bibles", "religion & spirituality", "biographies & memoirs", "arts & literature"),
        *("new, used & rental textbooks", "united states", "americas", "world"),
    }
)
# Words of shelves that are readers' housekeeping, or that all books share.
_SHELF_NOISE: Final = frozenset(
    """a adult age and author authors award best book books by classic classics contemporary currently default e
    ebook ebooks fave faves favorite favorites favourite fi fic fiction for general genre i in kindle library lit
    literature modern my n na new non novel novels of on own owned realistic read reading reads s sci series shelf
    stand standalone stories story tbr the to want young""".split()  # noqa: SIM905 - as prose it can be read
)
# Values that words can name before any item was seen.
VOCABULARY: Final = text.closed_facts(genre=GENRES.labels, mood=MOODS.labels)


def parse(candidate: Candidate) -> tuple[Fact, ...]:
    """Read a book's facts (paper App. E, Table 6).

    >>> metadata = {"authors": "Ines Varga", "categories": "['Mystery, Thriller & Suspense', 'Historical Mystery']"}
    >>> [f"{fact.dimension}={fact.value}" for fact in parse(Candidate(item_id="b1", metadata=metadata))][:4]
    ['genre=mystery', 'genre=thriller', 'genre=historical', 'author=Ines Varga']
    """
    folded = text.fold_keys(candidate.metadata)
    year = text.year(folded, candidate.title)
    categories = [text.label(raw) for raw in text.values_of(folded, "category")]
    shelves = [text.label(raw.replace("-", " ")) for raw in text.values_of(folded, "shelf")]
    words = f"{candidate.title} / {text.description_of(candidate)[: text.MINED_CHARS]}"
    # The end of a category's path first, where it is finest. Coarse ones too: a catalogue's own classes distinguish
    # readers where ours do not (Amazon: Hit@1 of the prior .248 with them, .220 without, popular negatives).
    fine = [*reversed(categories), *_fine_shelves(shelves)]
    return text.facts(
        ("genre", _genres([*text.values_of(folded, "genre"), *categories, *shelves], words), 5),
        ("author", text.people(text.values_of(folded, "author"), 2), 2),
        ("mood", MOODS.find(words, [label for label in (*categories, *shelves) if label not in COARSE]), 2),
        ("category", fine, 14),
        ("era", (text.decade(year),), 1),
        ("year", (text.release_year(year),), 1),
    )


def _genres(structured: list[str], words: str) -> list[str]:
    # Search title and description only if the structured fields give no class, or only the general one.
    found = GENRES.find_in(structured, floor=0.25)
    if not found or found == [GENERAL]:
        found = GENRES_IN_TEXT.find(words)[:3] or found
    return [genre for genre in found if genre != GENERAL] or found


def _fine_shelves(labels: list[str]) -> list[str]:
    # Shorter shelves first: they are closer to a catalogue's classes.
    return sorted(filter(None, map(_fine, labels)), key=lambda label: label.count(" "))


@lru_cache(maxsize=8_192)
def _fine(shelf: str) -> str:
    # Genre words go last: `fantasy urban` is `urban fantasy`.
    words = shelf.split()
    if shelf in GENRES or all(word in _SHELF_NOISE or word in GENRES for word in words):
        return ""
    return " ".join(sorted(words, key=GENRES.__contains__))
