"""Which lines of a skill bear on what is asked for: task-conditioned extraction without a model (paper 2.3)."""

from operators.words import words
from schemas import PolicySkill

_SIBILANT = ("ches", "shes", "sses", "xes", "zes")
_MIN_PLURAL = 4


def relevant_to(instruction: str, skill: PolicySkill) -> frozenset[str]:
    """Ids of the attributes all of whose words appear in the instruction, in singular or plural.

    It knows words, not sense: what an instruction speaks against counts as named too. So it only decides what comes
    first among what the user likes anyway, and never lets anything in.
    """
    asked = {form for word in words(instruction) for form in _forms(word)}
    return frozenset(
        line.attribute_id
        for line in skill.attributes
        if (said := words(line.value)) and all(_forms(word) & asked for word in said)
    )


def _forms(word: str) -> frozenset[str]:
    """A word and what it may be the plural of.

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
