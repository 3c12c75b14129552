"""How `sager policy` tells of lines that no model gets, and what an operator can do about it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from streams.cli.output import note, printable

if TYPE_CHECKING:
    from operators.vouch import Held, Vouching
    from schemas import Attribute

WHY = {
    "unknown": "not known as a label or a name, and not met on enough items",
    "long": "longer than names and labels are",
    "signs": "with signs that names and labels seldom have",
    "disguise": "in a spelling or with signs that names and labels never have",
    "words": "with a word that orders have and labels seldom",
    "order": "in the words of an order",
    "unlisted": "neither on the operator's list nor met on enough items",
}


def gate() -> "Vouching":
    """What vouches for values by the effective configuration, which has been read, and its warnings told, before."""
    from streams.settings import Settings  # noqa: PLC0415
    from streams.vouching import vouching_of  # noqa: PLC0415

    return vouching_of(Settings())


def note_unvouched(lines: "Iterable[Attribute]", vouching: "Vouching") -> None:
    """Say of each of these lines that no model gets, why that is, and how an operator vouches for it."""
    for line in lines:
        held = vouching.of_line(line)
        if held is not None:
            note(
                f"unvouched: {printable(line.value)!r} is kept and shown to people, but it is {told(held)}: no slim "
                f"skill and no prompt has it, unless a line of the file in SAGER_VOUCHED says\n"
                f"  {line.dimension}: {printable(line.value)}"
            )


def told(held: "Held") -> str:
    """Why a value is held back, in words."""
    return WHY[held.value]
