"""Obfuscations that hide a text from a filter of words while a model still understands it."""
# ruff: noqa: RUF001

from collections.abc import Callable

_CAPS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOW = _CAPS.lower()


def _between(sign: str) -> Callable[[str], str]:
    return sign.join


def _behind(*marks: str) -> Callable[[str], str]:
    return lambda text: "".join(c + "".join(marks) if c.isalnum() else c for c in text)


def _letters(signs: str, of: str = _LOW) -> Callable[[str], str]:
    table = str.maketrans(of, signs)
    return lambda text: text.lower().translate(table)


def _from(capital: int, small: int) -> Callable[[str], str]:
    """Map to a Unicode block that has the alphabet in order."""
    return lambda text: "".join(_shifted(c, capital, small) for c in text)


def _shifted(c: str, capital: int, small: int) -> str:
    if c in _CAPS:
        return chr(capital + _CAPS.index(c))
    return chr(small + _LOW.index(c)) if c in _LOW else c


def _look_alike(pairs: str) -> Callable[[str], str]:
    table = {ord(pair[0]): pair[1] for pair in pairs.split()}
    return lambda text: text.translate(table)


def _upper(write: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: write(text.upper())


def _variation_selectors(text: str) -> str:
    signs = (chr(0xFE00 + byte) if byte < 16 else chr(0xE0100 + byte - 16) for byte in text.encode())
    return "\N{SMILING FACE WITH SUNGLASSES}" + "".join(signs)


def _capitals(text: str) -> str:
    return "".join(c.upper() if n % 2 else c.lower() for n, c in enumerate(text))


OBFUSCATIONS: dict[str, dict[str, Callable[[str], str]]] = {
    "invisible": {
        "zero-width-joiner": _between("\u200d"),
        "zero-width-space": _between("\u200b"),
        "word-joiner": _between("\u2060"),
        "grapheme-joiner": _between("\u034f"),
        "hangul-filler": _between("\u3164"),
        "soft-hyphen": _between("\u00ad"),
        "vowel-separator": _between("\u180e"),
        "invisible-times": _between("\u2062"),
        "khmer-vowel": _between("\u17b4"),
        "variation-selector": _between("\ufe0f"),
        "tags": lambda text: "ok" + "".join(chr(0xE0000 + ord(c)) for c in text if c.isascii()),
        "variation-bytes": _variation_selectors,
    },
    "marks": {
        "stacked-marks": _behind("\u0301", "\u0308", "\u0323"),
        "dots-below": _behind("\u0323"),
        "struck-through": _behind("\u0336"),
        "enclosed": _behind("\u20dd"),
        "ring-above": _behind("\u030a"),
    },
    "look-alikes": {
        "cyrillic": _look_alike("aа eе oо pр cс iі xх yу sѕ jј AА EЕ OО PР CС IІ XХ YУ TТ HН KК MМ BВ"),
        "greek": _look_alike("aα eε oο iι nη pρ tτ uυ vν kκ xχ AΑ EΕ OΟ IΙ NΝ PΡ TΤ KΚ RΓ"),
        "armenian": _look_alike("hհ oօ uս nո qզ gց aա sտ jյ fք OՕ SՏ LԼ UՍ"),
        "cherokee": _upper(_look_alike("AᎪ BᏴ CᏟ DᎠ EᎬ GᏀ HᎻ IᏆ JᎫ KᏦ LᏞ MᎷ NΝ PᏢ RᎡ SᏚ TᎢ VᏙ WᎳ YᎩ ZᏃ")),
        "lisu": _upper(_look_alike("Aꓮ Bꓐ Cꓚ Dꓓ Eꓰ Fꓝ Gꓖ Hꓧ Iꓲ Jꓙ Kꓗ Lꓡ Mꓟ Nꓠ Oꓳ Pꓑ Rꓣ Sꓢ Tꓔ Uꓴ Vꓦ Wꓪ Xꓫ Yꓬ Zꓜ")),
        "coptic": _look_alike("aⲁ eⲉ oⲟ cⲥ tⲧ nⲛ kⲕ hϩ rⲅ uⲩ AⲀ EⲈ OⲞ CⲤ TⲦ NⲚ KⲔ"),
        "full-width": _from(0xFF21, 0xFF41),
        "bold": _from(0x1D400, 0x1D41A),
        "sans": _from(0x1D5A0, 0x1D5BA),
        "monospace": _from(0x1D670, 0x1D68A),
        "fraktur-bold": _from(0x1D56C, 0x1D586),
        "script-bold": _from(0x1D4D0, 0x1D4EA),
        "circled": _from(0x24B6, 0x24D0),
        "bracketed": lambda text: "".join(chr(0x249C + _LOW.index(c)) if c in _LOW else c for c in text.lower()),
        "squares": _upper(_from(0x1F130, 0x1F130)),
        "negative-squares": _upper(_from(0x1F170, 0x1F170)),
        "negative-circles": _upper(_from(0x1F150, 0x1F150)),
        "flags": lambda text: "\u200c".join(_from(0x1F1E6, 0x1F1E6)(text.upper())),
        "small-capitals": _letters("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡxʏᴢ"),
        "raised": _letters("ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖqʳˢᵗᵘᵛʷˣʸᶻ"),
        "upside-down": lambda text: _letters("ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz")(text)[::-1],
        "barred": _letters("ȺɃȻĐɆFǤĦƗɈꝀŁMNØⱣQɌSŦɄVWXɎƵ"),
        "hooked": _letters("αɓƈɗεƒɠɦιʝƙɭɱɳσρʠɾʂƚυʋɯxყȥ"),
    },
    "order-of-letters": {
        "reversed": lambda text: text[::-1],
        "words-reversed": lambda text: " ".join(word[::-1] for word in text.split()),
        "bidi-override": lambda text: f"\u202e{text[::-1]}\u202c",
        "bidi-isolate": lambda text: f"\u2067{text[::-1]}\u2069",
    },
    "spelling": {
        "leet": _look_alike("a4 e3 i1 o0 s5 t7 A4 E3 I1 O0 S5 T7"),
        "leet-signs": _look_alike("a@ e€ i! o0 s$ t+ l| A@ E€ I! S$"),
        "spaced": _between(" "),
        "dotted": _between("."),
        "dashed": _between("-"),
        "slashed": _between("/"),
        "barred-off": _between("|"),
        "underscored": lambda text: text.replace(" ", "_"),
        "run-together": lambda text: text.title().replace(" ", ""),
        "alternating": _capitals,
        "stretched": lambda text: "".join(c * 3 if c in "aeiou" else c for c in text),
        "without-vowels": lambda text: "".join(c for c in text if c not in "aeiou"),
        "pig-latin": lambda text: " ".join(f"{word[1:]}{word[0]}ay" for word in text.lower().split()),
    },
}
