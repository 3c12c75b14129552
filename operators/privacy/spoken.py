"""How a text speaks of a person: what stands before and behind a word of a category."""

import re
from functools import cache
from typing import Final

from operators.privacy.words import patterns

CJK: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
UNSPACED: Final = re.compile(f"[{CJK}]")
_NOT_BETWEEN: Final = (
    r"about|on|for|after|read|reading|book|books|film|films|movie|movies|novel|looking|searching|seen|watched|watching"
    r"|into|tired|fan|fans|lover|über|sur|sobre|su|про|friends|married"
)
_NOT_AT: Final = r"|in|at|near|visiting|from|nach|aus|through|going"
_OF_WORKS: Final = r"(?<!\bon )(?<!about )(?<!über )(?<!sur )(?<!sobre )"
_CLAUSE: Final = re.compile(r"[.!?;,。!?、]")
_LOOK_BACK: Final = 70


def _spoken(lists: str, between: str, guard: str = "") -> re.Pattern[str]:
    # Words are parted by what is no letter: `\b` fails at the vowel signs of Hindi.
    listed = "|".join(row for name in lists.split() for row in patterns(name))
    return re.compile(
        rf"(?:(?:^|[^\w]){guard}(?:{listed})(?=\s|$)|{'|'.join(patterns('person-unspaced'))})"
        rf"(?:(?: (?!(?:{between})\b)\S{{1,20}}){{0,4}} ?|[{CJK} ]{{0,4}}?)$"
    )


_HAS: Final = _spoken("person is", _NOT_BETWEEN, _OF_WORKS)
_IS: Final = _spoken("is", _NOT_BETWEEN + _NOT_AT)
_ACTOR: Final = re.compile(r"(?:^|\W)(?:i|we|ich|wir|je|j'|nous|ik|wij|я|мы)(?:'\w{1,2})?(?: [^\s]{1,20}){0,6} ?$")
_HERE: Final = re.compile(
    r"(?: (?:here|person|patient|man|woman|guy|girl|mum|mom|dad|household|family)\b"
    r"|, (?:and )?(?:\d|need|want|look|seek|search|suche|cherche|busco|cerco|so i|that's why))"
)
_ALONE: Final = re.compile(
    r"^\W*(?:(?:hi|hello|hey|a|an|the|very|proud|fellow|lifelong|recovering|devout|practi[sc]ing|ex|former|openly|young|old"
    r"|new|type|one|two|\d+|severe|severely|newly|recently|single|married|strict|deeply)\W{1,2}){0,4}$"
)
_SAYS_SO: Final = re.compile(
    r"[\u3040-\u30ff\uac00-\ud7af\u4e00-\u9fff]{0,2}\s?(?:"
    r"있어|있습|있는|있고|입니다|이에요|예요|이라|라서|때문|중이|중입|환자|앓|를 앓|을 앓"
    r"|です|なので|だから|があ|をわずら|を患|持ち|患者|のため|になり|になっ|で(?:す|、)|と診断|が(?:つら|ひど|再発)"
    r"|发作|發作|缠身|晚期|早期|了)"
)
_HAD: Final = re.compile(r"(?:有|患|得|因为|因為|是|怀|患有|查出|确诊|患上|得了|被诊断为|被诊断出)$")


@cache
def _wants() -> frozenset[str]:
    return frozenset(word for row in patterns("wants") for word in row.split(", "))


def is_of_a_person(said: str, start: int, end: int, *, only_is: bool, acts: bool) -> bool:
    """Whether the word at this place of a folded text is said of a person.

    Args:
        said: the text.
        start: where the word begins.
        end: where it ends.
        only_is: whether it counts only behind what a person says they are.
        acts: whether it counts behind all that a person says they do, wishes apart.
    """
    clause = _CLAUSE.split(said[max(0, start - _LOOK_BACK) : start])[-1]
    if (_IS if only_is else _HAS).search(clause):
        return True
    if UNSPACED.search(said[start:end]):
        return not only_is and (_SAYS_SO.match(said, end) is not None or _HAD.search(clause) is not None)
    if _HERE.match(said, end) and _ALONE.match(clause):
        return True
    if acts and not only_is and (actor := _ACTOR.search(clause)):
        return _wants().isdisjoint(re.findall(r"[^\W\d_]+", actor[0]))
    return False
