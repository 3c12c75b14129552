"""How a user decides, in counts: what a skill keeps of each habit under test."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import AfterValidator, Field

HabitName = Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,39}$")]
"""A question about how somebody decides, such as `price`; `operators.habits.axes` has all that are asked."""
MAX_HABITS = 64
_Parts = Annotated[int, Field(ge=0, lt=2**31)]


class HabitCounts(NamedTuple):
    """The choices that answered one question either way, in 1/1024 of a choice; old ones fade.

    A choice from ten films, six of them newer than the list's median, adds 1,024 to `asked`, 614 to `expected`, and
    1,024 to `taken` if the film taken is one of the six.
    """

    taken: _Parts = 0
    expected: _Parts = 0
    asked: _Parts = 0


if TYPE_CHECKING:
    HeldHabit = HabitCounts
else:
    # By way of a plain tuple: a named one would read texts as numbers, and tell of every entry that is too much.
    HeldHabit = Annotated[tuple[_Parts, _Parts, _Parts], AfterValidator(HabitCounts._make)]

HabitAdded = tuple[Annotated[int, Field(ge=0, le=1_024)], Annotated[int, Field(ge=1, le=1_023)]]
"""What one choice adds to `taken` and `expected`, in 1/1024; to `asked` it adds 1,024."""
