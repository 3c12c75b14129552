"""Formats numbers for reports, and the command that repeats a row."""

import re
import shlex
from collections.abc import Mapping, Sequence

from evaluation.kept import Row
from evaluation.report.uncertainty import Difference

NONE = "-"
SHORT: Mapping[str, str] = {
    "hit_at_1": "H@1",
    "hit_at_3": "H@3",
    "hit_at_5": "H@5",
    "ndcg_at_3": "N@3",
    "ndcg_at_5": "N@5",
}
_NOT_REPEATED = {"seed", "concurrency"}
"""Options left out of the command: the seed has its own column, and concurrency changes no answer."""


def number(value: float) -> str:
    """A measure in the format of the paper's tables."""
    return f"{value:.4f}"


def bounded(row: Row) -> str:
    """Hit@1 with its interval."""
    return f"{number(row.measures['hit_at_1'])} [{row.ci95_hit_at_1[0]:.3f}, {row.ci95_hit_at_1[1]:.3f}]"


def measures(row: Row, names: Sequence[str]) -> list[str]:
    """Measures in this order; Hit@1 has its interval."""
    return [bounded(row) if name == "hit_at_1" else number(row.measures[name]) for name in names]


def heads(names: Sequence[str]) -> list[str]:
    """The headings of such measures."""
    return [f"{SHORT[name]} [95 %]" if name == "hit_at_1" else SHORT[name] for name in names]


def compared(found: Difference | None) -> list[str]:
    """A difference with its interval, and p."""
    if found is None:
        return [NONE, NONE]
    return [f"{found.value:+.4f} [{found.low:+.3f}, {found.high:+.3f}]", probability(found.p)]


def probability(p: float) -> str:
    """The p-value with three digits.

    >>> probability(0.0312), probability(1e-9)
    ('0.031', '<0.001')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def change(relative: float | None) -> str:
    """A relative change.

    >>> change(-0.1307), change(None)
    ('-13.1 %', '-')
    """
    return NONE if relative is None else f"{100 * relative:+.1f} %"


def costs(row: Row) -> list[str]:
    """Seconds, LLM calls, tokens in and out."""
    return [f"{row.seconds:,.1f}", *(f"{n:,}" for n in (row.llm_calls, row.prompt_tokens, row.completion_tokens))]


COSTS = ("seconds", "LLM calls", "tokens in", "tokens out")


def command(row: Row) -> str:
    """The command that repeats a run, with the folder of its data set in the working directory."""
    words = ["sager", "eval", "--data", row.data, "--arm", row.arm, "--candidates", row.candidates]
    words += ["--users", str(row.users), "--seed", str(row.seed)]
    for name, value in row.settings.items():
        if name in _NOT_REPEATED or value is None or value is False:
            continue
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)


def slug(text: str) -> str:
    """The text as part of a file name.

    >>> slug("Amazon Books/2018")
    'amazon-books-2018'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "data"
