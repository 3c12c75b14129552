"""The example of the README."""

import doctest
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs() -> None:
    text = README.read_text(encoding="utf-8").replace("```", "\n")
    example = doctest.DocTestParser().get_doctest(text, {}, README.name, None, 0)

    assert len(example.examples) > 5
    assert doctest.DocTestRunner().run(example).failed == 0
