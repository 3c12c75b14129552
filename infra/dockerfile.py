"""Reads infra/Dockerfile: the instructions of each stage. It supports only what our file uses."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).with_name("Dockerfile")
KNOWN = {"CMD", "COPY", "ENTRYPOINT", "ENV", "FROM", "LABEL", "RUN", "STOPSIGNAL", "USER", "WORKDIR"}


@dataclass(frozen=True)
class Stage:
    """One stage, from its FROM on: each instruction with its arguments, continued lines joined."""

    image: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def of(self, instruction: str) -> list[str]:
        """The arguments of each instruction of this kind."""
        return [rest for word, rest in self.instructions if word == instruction]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that ENV sets."""
        return dict(pair.split("=", 1) for rest in self.of("ENV") for pair in shlex.split(rest))


def stages(text: str) -> list[Stage]:
    """Return the stages in order, or raise ValueError if an instruction is not supported."""
    without_comments = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    found: list[Stage] = []
    for line in without_comments.replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        if not word:
            continue
        if word not in KNOWN:
            raise ValueError(f"infra/Dockerfile: {word} is not supported by infra/dockerfile.py")
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            found.append(Stage(image, name))
        else:
            found[-1].instructions.append((word, " ".join(rest.split())))
    return found
