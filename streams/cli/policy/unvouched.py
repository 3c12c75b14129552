"""How `sager policy` tells of lines that no model gets, and what an operator can do about it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from streams.cli.output import note, printable
from streams.rights.unvouched import told

if TYPE_CHECKING:
    from operators.vouch import Vouching
    from schemas import Attribute


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
