"""A reliability diagram as SVG: what was told against what came true, with how many cases."""

from collections.abc import Mapping, Sequence
from html import escape
from math import sqrt

from evaluation.feedback.figures import Bin

SIDE, MARGIN, GAP = 260, 46, 40
_LARGEST = 11.0
_STYLE = "font-family:sans-serif;font-size:12px;fill:#555"
_COLOUR, _LINE = "#0072b2", "#999"
"""Of a palette for colour-blind readers; both are seen on light and on dark pages."""


def reliability(found: Mapping[str, Sequence[Bin]]) -> str:
    """The diagram of several kinds of chances side by side, each under its name.

    A point stands for predictions of about the same chance: the more of them, the larger. On the diagonal, what was
    told came true as often as it was told.
    """
    width = len(found) * (SIDE + MARGIN + GAP) + GAP
    height = SIDE + 2 * MARGIN
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="Reliability: {escape(", ".join(found))}">'
        )
    ]
    for place, (name, bins) in enumerate(found.items()):
        parts += _panel(name, bins, MARGIN + place * (SIDE + MARGIN + GAP))
    return "\n".join([*parts, "</svg>", ""])


def _panel(name: str, bins: Sequence[Bin], left: int) -> list[str]:
    bottom, top = MARGIN // 2 + SIDE, MARGIN // 2
    most = max((each.cases for each in bins), default=1)
    drawn = [
        f'<rect x="{left}" y="{top}" width="{SIDE}" height="{SIDE}" fill="none" stroke="{_LINE}"/>',
        f'<line x1="{left}" y1="{bottom}" x2="{left + SIDE}" y2="{top}" stroke="{_LINE}" stroke-dasharray="4 4"/>',
        f'<text x="{left + SIDE // 2}" y="{top - 7}" text-anchor="middle" style="{_STYLE}">{escape(name)}</text>',
        f'<text x="{left + SIDE // 2}" y="{bottom + 34}" text-anchor="middle" style="{_STYLE}">chance told</text>',
    ]
    for tenths in (0, 5, 10):
        at = SIDE * tenths // 10
        drawn += [
            f'<text x="{left + at}" y="{bottom + 17}" text-anchor="middle" style="{_STYLE}">{tenths / 10:g}</text>',
            f'<text x="{left - 6}" y="{bottom - at + 4}" text-anchor="end" style="{_STYLE}">{tenths / 10:g}</text>',
        ]
    for each in bins:
        x, y = left + SIDE * each.predicted, bottom - SIDE * each.came
        size = max(2.5, _LARGEST * sqrt(each.cases / most))
        drawn.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="{_COLOUR}" fill-opacity="0.75">'
            f"<title>told {each.predicted:.2f}, came true {each.came:.2f}, {each.cases:,} cases</title></circle>"
        )
    return drawn
