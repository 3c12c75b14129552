"""Obfuscations that hide a text from a filter of words while a model still understands it."""
# ruff: noqa: RUF001, SIM905

import base64
import codecs
import quopri
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


def _rotated(by: int) -> Callable[[str], str]:
    return _letters("".join(_LOW[(n + by) % 26] for n in range(26)))


def _variation_selectors(text: str) -> str:
    signs = (chr(0xFE00 + byte) if byte < 16 else chr(0xE0100 + byte - 16) for byte in text.encode())
    return "\N{SMILING FACE WITH SUNGLASSES}" + "".join(signs)


_MORSE = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.."
).split()


def _morse(text: str) -> str:
    words = text.lower().split()
    return " / ".join(" ".join(_MORSE[_LOW.index(c)] for c in word if c in _LOW) for word in words)


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
        "cherokee": lambda text: _look_alike("AᎪ BᏴ CᏟ DᎠ EᎬ GᏀ HᎻ IᏆ JᎫ KᏦ LᏞ MᎷ NΝ PᏢ RᎡ SᏚ TᎢ VᏙ WᎳ YᎩ ZᏃ")(
            text.upper()
        ),
        "lisu": lambda text: _look_alike("Aꓮ Bꓐ Cꓚ Dꓓ Eꓰ Fꓝ Gꓖ Hꓧ Iꓲ Jꓙ Kꓗ Lꓡ Mꓟ Nꓠ Oꓳ Pꓑ Rꓣ Sꓢ Tꓔ Uꓴ Vꓦ Wꓪ Xꓫ Yꓬ Zꓜ")(
            text.upper()
        ),
        "coptic": _look_alike("aⲁ eⲉ oⲟ cⲥ tⲧ nⲛ kⲕ hϩ rⲅ uⲩ AⲀ EⲈ OⲞ CⲤ TⲦ NⲚ KⲔ"),
        "full-width": _from(0xFF21, 0xFF41),
        "bold": _from(0x1D400, 0x1D41A),
        "sans": _from(0x1D5A0, 0x1D5BA),
        "monospace": _from(0x1D670, 0x1D68A),
        "fraktur-bold": _from(0x1D56C, 0x1D586),
        "script-bold": _from(0x1D4D0, 0x1D4EA),
        "circled": _from(0x24B6, 0x24D0),
        "bracketed": lambda text: "".join(chr(0x249C + _LOW.index(c)) if c in _LOW else c for c in text.lower()),
        "squares": lambda text: _from(0x1F130, 0x1F130)(text.upper()),
        "negative-squares": lambda text: _from(0x1F170, 0x1F170)(text.upper()),
        "negative-circles": lambda text: _from(0x1F150, 0x1F150)(text.upper()),
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
    "codes": {
        "base64": lambda text: base64.b64encode(text.encode()).decode(),
        "base64-url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
        "base32": lambda text: base64.b32encode(text.encode()).decode(),
        "base85": lambda text: base64.b85encode(text.encode()).decode(),
        "hex": lambda text: text.encode().hex(),
        "hex-spaced": lambda text: text.encode().hex(" "),
        "percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
        "entities": lambda text: "".join(f"&#{ord(c)};" for c in text),
        "hex-entities": lambda text: "".join(f"&#x{ord(c):x};" for c in text),
        "escapes": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
        "byte-escapes": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
        "quoted-printable": lambda text: quopri.encodestring(text.upper().encode(), quotetabs=True).decode().strip(),
        "binary": lambda text: " ".join(f"{byte:08b}" for byte in text.encode()),
        "decimal": lambda text: " ".join(str(byte) for byte in text.encode()),
        "rot13": lambda text: codecs.encode(text, "rot13"),
        "rot3": _rotated(3),
        "rot5": _rotated(5),
        "mirrored": _letters(_LOW[::-1]),
        "morse": _morse,
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
