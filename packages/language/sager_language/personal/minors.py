"""Children: their names, and what finds them: school, class and age.

All of it only where a text speaks of a child as the writer's own or of a person they know. "Films for children of 8"
and "Matilda goes to Crunchem Hall" stay; an age stays where nothing else identifies the child.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Final

from sager_language.personal.numbers import Span, plain
from sager_language.personal.persons import given_names
from sager_language.personal.text import patterns, stems_of
from sager_language.text import Lazy

_UPPER: Final = r"[A-ZÀ-ÖØ-ÞĀ-ŽŁ\u0410-\u042f\u0401]"
_CASED: Final = rf"(?-i:{_UPPER}[^\W\d_][\w'\u2019-]{{0,30}})"
_EDGE: Final = r"(?<![^\W_])"
_PARTICLE: Final = (
    r"(?:de|del|della|di|da|do|dos|das|van|von|der|den|des|du|la|le|les|of|am|an|im|nr|no|n[º°o]|św|sw|№)\.?\s?"
)
# Characters behind the child in which school, class and age are theirs.
_WITHIN: Final = 140
_ATTENDED: Final = 60
_BACK: Final = 90
_MOST: Final = 16
_MORE: Final = Lazy(
    rf"(?:\s\([^()]{{1,14}}\))?(?:,|\s(?:and|und|et|y|e|en|i|\u0438|ve|&))\s(?:(?:and|und|et|y|e|en|i|\u0438|ve)\s)?(?P<name>{_CASED})"
)
# Members of a family, by a first name.
_OURS: Final = Lazy(
    r"(?<![^\W_])(?i:our|unser(?:e|en|em)?|notre|nuestr[oa]|(?:il )?nostro|(?:la )?nostra|noss[oa]|onze|ons|nasz[a]?"
    r"|наш[\u0430]?|vår|bizim)\s"
    rf"(?:(?i:little|big|klein\w{{1,2}}|gro(?:ß|ss)\w{{1,2}}|petite?|peque\w+|mał[ya]|lilla)\s)?(?P<name>{_CASED})"
)
_STEMS_OF_OURS: Final = frozenset(
    {"our", "unse", "notr", "nues", "nost", "noss", "onze", "ons", "nasz", "наш", "наша", "vår", "bizi"}
)
# Of what may be the number in an age; section `ages-counted` lists the words.
_YEARS: Final = r"(?:1[0-7]|\d|(?<![^\W_])[^\W\d_]{1,14}|[一二三四五六七八九十]{1,2})"
_NUMBER_WORD: Final = Lazy(r"\d+|[一二三四五六七八九十]+|[^\W\d_]+")
_AGED: Final = 40
_APPOSED: Final = Lazy(rf"(?:^|(?<=[\s(]))(?P<name>{_CASED}),\s$")
# Right before the child: "she's my daughter", "ist mein Sohn".
_SAYS_WHO: Final = Lazy(
    r"(?:\bis|'s|\u2019s|\bist|\best|c'est|\bes|è|é|\bjest|to|\u044d\u0442\u043e|\u2014|\u2013|-)\s$", re.IGNORECASE
)
_SUBJECT: Final = Lazy(
    rf"(?:^|[.!?]\s)(?P<name>{_CASED})(?=\s(?:is|goes|has|was|turned|loves|ist|geht|hat|wird|mag|est|va|a|es|tiene|è|ha|tem|é|van|zit|ma"
    r"|chodzi|\(|\d))"
)
_OF_A_CHILD: Final = Lazy(r"\d\s?[歳才]|年生|小学校|幼稚園|保育園|中学|\d年\d")
_CJK_NAME: Final = Lazy(
    r"[、,]?(?:(?P<ja>[\u3041-\u3096]{2,5}?|[\u30a0-\u30ff]{2,6}|[\u3005\u3400-\u9fff]{1,4}?)"
    r"(?=(?P<sama>ちゃん|くん|君|さん)?(?:は|が|も|と|\(|、|\s?\d|,))"
    r"|\s?(?P<ko>(?!친구|생일|학교|둘이|하나|모두|방이)[\uac00-\ud7af]{2,3}?이?)(?=[는은이가]\s))"
)
ZH_NAME: Final = Lazy(
    r"(?P<zh>(?:小[\u4e00-\u9fff]|([\u4e00-\u9fff])\2|欧阳[\u4e00-\u9fff]{1,2}|司徒[\u4e00-\u9fff]{1,2}"
    r"|[王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤]"
    r"[\u4e00-\u9fff]{1,2}?))(?=今|在|住|上|读|是|很|喜|的|和|爱|讨|不|常|总|也|都|对|说|给|养|每|从|会|非|\d|[,\uff0c。、\s(]|$|[一二三四五六七八九十]{1,2}岁)"
)
# A name without a surname: only where an age, a class or a school stands right behind.
_ZH_CHILD: Final = Lazy(
    r"(?P<zh>[\u4e00-\u9fff]{2,3}?)(?=(?:今年|刚满|刚|已经|快)?(?:\d{1,2}|[一二三四五六七八九十]{1,2})岁"
    r"|(?:在|上|读|念|就读于?)[\u4e00-\u9fff]{0,8}?(?:年级|年級|小学|小學|中学|中學|幼儿园|幼稚園|初[一二三]|高[一二三]))"
)
ZH_NOT: Final = frozenset(
    {
        "今年",
        "现在",
        "已经",
        "刚刚",
        "马上",
        "都在",
        "正在",
        "明年",
        "去年",
        "小时",
        "小的",
        "天天",
        "常常",
        "上上",
        "高中",
        "向来",
        "方面",
    }
)
_CJK: Final = Lazy(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CJK_SCHOOL: Final = Lazy(
    r"[\uac00-\ud7af]{2,10}?(?:초등학교|중학교|고등학교|유치원|어린이집)"
    r"|[\u30a0-\u30ff\u3040-\u309f\u3400-\u9fff]{1,10}?(?:小学校|中学校|幼稚園|保育園|高校|小学|中学|幼儿园|幼稚园|学校|高中|初中)"
)
_CJK_LEAD: Final = Lazy(r"^.*(?:[はがも]|在|上|读|去|进|就读于|[,\uff0c、。\s\d岁歳])")


@cache
def _children() -> re.Pattern[str]:
    return re.compile(
        rf"{_EDGE}(?:{'|'.join(patterns('children'))})(?![^\W_])|(?:{'|'.join(patterns('children-unspaced'))})",
        re.IGNORECASE,
    )


@cache
def _named() -> re.Pattern[str]:
    return re.compile(
        r"(?:,?\s(?:is called|named|called|namens|heißt|s'appelle|se llama|si chiama|chama-se|se chama|heet"
        rf"|ma na imię|зовут|ad\u0131)\s|\s?[,(:]?\s)(?P<name>{_CASED}(?:\s{_CASED})?)"
        rf"|\s(?P<arabic>[\u0620-\u064a]{{2,12}})(?=\s(?:عمر|تدرس|يدرس|في|،))",
        re.IGNORECASE,
    )


@cache
def _schools() -> re.Pattern[str]:
    kinds = "|".join(patterns("school-kinds"))
    before = rf"{_CASED}(?:['\u2019]s)?[\s-]"
    behind = rf"(?:\s(?:{_PARTICLE}){{0,3}}(?:{_CASED}|\d{{1,4}}\b)|\s?[«\"„][^»\"“]{{1,40}}[»\"“])"
    return re.compile(
        r"(?P<school>(?:مدرسة|روضة|حضانة)\s[\u0620-\u064a]{2,15}"
        rf"|(?:{before}){{0,4}}{_EDGE}(?:{kinds})\b(?:{behind}|\s(?:school|academy)){{0,4}})",
        re.IGNORECASE,
    )


@cache
def _attends() -> re.Pattern[str]:
    return re.compile(rf"{_EDGE}(?:{'|'.join(patterns('attends'))})", re.IGNORECASE)


@cache
def _classes() -> re.Pattern[str]:
    return re.compile("|".join(patterns("classes")), re.IGNORECASE)


@cache
def _ages() -> re.Pattern[str]:
    listed = "|".join(row.replace("{n}", _YEARS) for row in patterns("ages"))
    return re.compile(rf"(?:{listed})", re.IGNORECASE)


@cache
def _counted() -> frozenset[str]:
    return frozenset(word for row in patterns("ages-counted") for word in row.split(", "))


def _ages_in(text: str, first: int, end: int) -> Iterator[Span]:
    for found in _ages().finditer(text, first, end):
        words = _NUMBER_WORD.findall(found[0].casefold())
        if any(word.isdecimal() or _CJK.match(word) or word in _counted() for word in words):
            yield found.span()


@cache
def _no_names() -> frozenset[str]:
    return frozenset(word for name in ("no-names", "roles") for row in patterns(name) for word in row.split(", "))


@cache
def _stems() -> frozenset[str]:
    return frozenset(stem for row in patterns("glance-children") for stem in row.split(", "))


def minors(text: str) -> Iterator[Span]:
    """Find children's names, schools, classes and ages.

    >>> text = "My daughter Tamsin is 9 and goes to Oakfield Primary, class 4B; she loves horses"
    >>> [text[a:b] for a, b in minors(text)]
    ['Tamsin', 'Oakfield Primary', 'class 4B', 'is 9']
    """
    stems = stems_of(text)
    if not stems.isdisjoint(_STEMS_OF_OURS):
        yield from _ours(plain(text))
    if stems.isdisjoint(_stems()) and not _CJK.search(text):
        return
    children = [found.span() for found in _children().finditer(text)][:_MOST]
    if not children:
        return
    text = plain(text)
    for begins, at in children:
        first, end = max(0, begins - _BACK), min(len(text), at + _WITHIN)
        names = [*_names(text, at), *_before(text, begins, first)]
        details = [*names, *_schools_in(text, first, at, end), *_classes_in(text, first, end)]
        yield from details
        if details or text[at : at + 2].strip().startswith("["):
            yield from _ages_in(text, first, end)


def _ours(text: str) -> Iterator[Span]:
    for found in islice(_OURS.finditer(text), _MOST):
        end = min(len(text), found.end() + _WITHIN)
        if not _is_name(found["name"]):
            continue
        details = [*_schools_in(text, found.end(), found.end(), end), *_classes_in(text, found.end(), end)]
        ages = list(_ages_in(text, found.end(), min(end, found.end() + _AGED)))
        if details or (ages and found["name"] in given_names()):
            yield found.span("name")
            yield from details
            yield from ages


def _names(text: str, at: int) -> Iterator[Span]:
    if _CJK.match(text, at - 1):
        yield from _unspaced_name(text, at)
        return
    found = _named().match(text, at)
    if found is None:
        return
    name = "name" if found["name"] else "arabic"
    if _is_name(found[name]):
        yield found.span(name)
        end = found.end()
        while (more := _MORE.match(text, end)) is not None and _is_name(more["name"]):
            yield more.span("name")
            end = more.end()


def _before(text: str, begins: int, first: int) -> Iterator[Span]:
    if _CJK.match(text, begins):
        return
    found = _APPOSED.search(text, first, begins)
    if found is None and _SAYS_WHO.search(text, first, begins):
        found = _SUBJECT.search(text, first, begins)
    if found is not None and _is_name(found["name"]):
        yield found.span("name")


def _unspaced_name(text: str, at: int) -> Iterator[Span]:
    found = ZH_NAME.match(text, at) if text[at - 1] != "の" else None
    if found is not None and found["zh"] not in ZH_NOT:
        yield found.span("zh")
        return
    child = _ZH_CHILD.match(text, at) if text[at - 1] != "の" else None
    if child is not None and child["zh"] not in ZH_NOT:
        yield child.span("zh")
        return
    match = _CJK_NAME.match(text, at)
    # Without capitals or surnames, only the rest of the text shows that this is a name, and not a film or a school.
    if match is not None and (match["ko"] or match["sama"] or _OF_A_CHILD.search(text)):
        yield match.span("ja" if match["ja"] else "ko")


def _is_name(words: str) -> bool:
    return _no_names().isdisjoint(words.casefold().split())


def _schools_in(text: str, first: int, at: int, end: int) -> Iterator[Span]:
    if _CJK.match(text, at - 1):
        for found in _CJK_SCHOOL.finditer(text, at, end):
            lead = _CJK_LEAD.match(found[0])
            begins = found.start() + (lead.end() if lead else 0)
            if found.end() - begins > 2:  # noqa: PLR2004 - more than the kind alone
                yield begins, found.end()
        return
    for found in _schools().finditer(text, first, end):
        is_named = len(found["school"].split()) > 1 or "-" in found["school"] or _is_compound(found["school"])
        if is_named and (
            _attends().search(text, max(first, found.start() - _ATTENDED), found.start() + 1)
            or _turkish(found["school"])
        ):
            yield found.span("school")


def _is_attended(text: str, first: int, at: int) -> bool:
    return _attends().search(text, first, at + 1) is not None


def _is_compound(school: str) -> bool:
    return (
        school[:1].isupper()
        and re.search(r"\w{4,}(?:schule|school|gymnasium|kita|skolan?)$", school, re.IGNORECASE) is not None
    )


def _turkish(school: str) -> bool:
    return re.search(r"(?:okulu|lisesi|kreşi|koleji)", school, re.IGNORECASE) is not None


def _classes_in(text: str, first: int, end: int) -> Iterator[Span]:
    yield from (found.span() for found in _classes().finditer(text, first, end))
