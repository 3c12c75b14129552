"""Facets, and the way to a golden file, for the tests of the evolution."""

from pathlib import Path

from schemas import Facet
from tests.builders import id_of

GOLDEN = Path(__file__).parent / "golden"


def a_facet(text: str, confidence: float = 0.5, about: str | None = None) -> Facet:
    """`a_facet("readers like you take noir", 0.8, about="genre: noir")`."""
    return Facet(facet=text, confidence=confidence, attribute_id=id_of(about) if about else None)


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
