"""Under which heading `sager --help` lists each command. A test finds a command that stands under none."""

HEADINGS: dict[str, tuple[str, ...]] = {
    "Getting started": ("demo", "up", "import", "doctor", "config"),
    "A person's policy": ("policy", "slim"),
    "Data and analysis": ("sql", "export", "replay", "coverage", "global-skill", "schemas"),
    "Operations": ("worker", "materialize", "serve", "topics", "acls", "token", "dead-letters", "rebuild"),
    "Evaluation": ("eval",),
}
POLICY_HEADINGS: dict[str, tuple[str, ...]] = {
    "See": ("show", "log", "diff", "explain", "verify", "anchor"),
    "Change": ("add", "reword", "remove", "set-tier", "pin", "unpin", "freeze", "unfreeze", "roll-back"),
    "Take along, forget": ("export", "import", "forget"),
}
OTHERS = "Other commands"


def arranged(names: list[str], headings: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """These commands by heading, in the headings' order; without headings all under `Commands`.

    >>> arranged(["slim", "up", "new"], HEADINGS)
    {'Getting started': ['up'], "A person's policy": ['slim'], 'Other commands': ['new']}
    """
    if not headings:
        return {"Commands": names}
    found = {heading: [name for name in listed if name in names] for heading, listed in headings.items()}
    listed = {name for each in found.values() for name in each}
    found[OTHERS] = [name for name in names if name not in listed]
    return {heading: each for heading, each in found.items() if each}
