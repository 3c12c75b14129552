"""What `sager eval feedback` tells of a play in lines for programs, played in this process or through a broker."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluation.feedback.figures import Bin
    from evaluation.feedback.play import Played


def passes_of(played: "Played") -> list[dict[str, Any]]:
    """A line per pass."""
    from evaluation.feedback.scenarios import TESTS  # noqa: PLC0415

    return [
        {
            "line": "pass",
            "phase": each.phase,
            "pass": each.number,
            "right": round(each.right, 4),
            "test": TESTS[each.phase],
            "success": round(each.success, 4),
            "scenarios": len(each.turns),
            "tested": len(each.test),
            "asked": sum(turn.asked for turn in each.turns),
        }
        for each in played.passes
    ]


def phases_of(played: "Played") -> dict[str, list[float]]:
    """The share right by phase, after each pass."""
    from evaluation.feedback.scenarios import TESTS  # noqa: PLC0415

    told = {}
    for learned, tested in TESTS.items():
        told[f"phase_{learned}"] = [round(each.right, 4) for each in played.of(learned)]
        told[f"phase_{tested}"] = [round(each.success, 4) for each in played.of(learned)]
    return told


def reliabilities_of(played: "Played") -> list[dict[str, Any]]:
    """A line for the candidates' chances, and one for that none suits."""
    from evaluation.feedback.figures import all_turns, expected_error, of_candidates, of_nothing  # noqa: PLC0415

    turns = all_turns(played)
    return [
        {
            "line": "reliability",
            "of": name,
            "expected_error": round(expected_error(bins), 4),
            "bins": [_bin(each) for each in bins],
        }
        for name, bins in (("candidates", of_candidates(turns)), ("nothing", of_nothing(turns)))
    ]


def _bin(found: "Bin") -> dict[str, Any]:
    return {
        "from": found.low,
        "to": found.high,
        "predicted": round(found.predicted, 4),
        "came": round(found.came, 4),
        "n": found.cases,
    }
