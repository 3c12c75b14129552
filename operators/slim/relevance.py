"""Task-conditioned extraction without a model (paper 2.3): the lines of a skill that a request names."""

from operators.words import words
from schemas import PolicySkill

_SIBILANT = ("ches", "shes", "sses", "xes", "zes")
_MIN_PLURAL = 4


def relevant_to(instruction: str, skill: PolicySkill) -> frozenset[str]:
    """Return ids of the attributes all of whose words appear in the instruction, in singular or plural.

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
