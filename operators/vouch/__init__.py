"""What may be let out to models and apps: words from outside are data in a shape that cannot act.

A value of an item, a command or an import goes into a slim skill or a prompt only if something vouches for it: a closed
vocabulary of our parsers (`closed`), the operator's list (`listed`), its shape (`shape`), or, for what is odd but no
order, several different items (`gate`). What is held back is kept, and shown to people. It rests on nothing that
recognises attacks: operators.privacy does that, beside it.
"""

from operators.vouch.facets import in_words, told, worded
from operators.vouch.gate import EVERYTHING, LEAST_ITEMS, Held, Vouching, without_count
from operators.vouch.lists import BadList, is_closed, listed

__all__ = [
    "EVERYTHING",
    "LEAST_ITEMS",
    "BadList",
    "Held",
    "Vouching",
    "in_words",
    "is_closed",
    "listed",
    "told",
    "without_count",
    "worded",
]
