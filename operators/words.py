"""The words of a request: which lines of a skill and which items they name, without a model."""

from functools import lru_cache

from operators.attributes import normalise
from schemas import PolicySkill

_COMMON = frozenset(
    """
    a an and any are at be but for from have i in is it like me my of on or some something that the this to want with
    would you
    """.split()  # noqa: SIM905 - as prose it can be read
)
_SIBILANT = ("ches", "shes", "sses", "xes", "zes")
_MIN_PLURAL = 4


@lru_cache(maxsize=8_192)
def words(text: str) -> frozenset[str]:
    """The words of a text that mean something by themselves.

    >>> sorted(words("Something like the Sci-Fi of 1984"))
    ['1984', 'fi', 'sci']
    """
    return frozenset(normalise(text).split("-")) - _COMMON - {""}


def relevant_to(instruction: str, skill: PolicySkill) -> frozenset[str]:
    """Return ids of the attributes all of whose words appear in the instruction, in singular or plural (paper 2.3).

    A line that the instruction speaks against is named too. So this only decides which likes come first, and never adds
    a line.
    """
    asked = {form for word in words(instruction) for form in _forms(word)}
    return frozenset(
        line.attribute_id
        for line in skill.attributes
        if (said := words(line.value)) and all(_forms(word) & asked for word in said)
    )


def _forms(word: str) -> frozenset[str]:
    """Return a word and the singulars that it may be the plural of.

    >>> sorted(_forms("mysteries")), sorted(_forms("dishes")), sorted(_forms("gas"))
    (['mysterie', 'mysteries', 'mystery'], ['dish', 'dishe', 'dishes'], ['gas'])
    """
    forms = {word}
    if len(word) >= _MIN_PLURAL and word.endswith("s") and not word.endswith("ss"):
        forms.add(word[:-1])
        if word.endswith("ies"):
            forms.add(f"{word[:-3]}y")
        if word.endswith(_SIBILANT):
            forms.add(word[:-2])
    return frozenset(forms)
