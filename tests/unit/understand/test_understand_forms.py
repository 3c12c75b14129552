"""Corrections by a form: directives come back as they are, naming the facts that they mean."""

import pytest

from operators.language.ports import About, Read, Understood
from schemas import Bound, Directive, Fact, Measure, Scope, Stance
from tests.unit.understand.understand_builders import understood


def _avoids(dimension: str, value: str) -> Directive:
    return Directive(stance=Stance.AVOIDS, dimension=dimension, value=value)


def test_a_forms_directive_is_taken_as_it_is() -> None:
    said = _avoids("colour", "red")

    assert understood("", says=(said,)) == Understood((Read(said, "", None, "form"),))


@pytest.mark.parametrize("dimension", ["wearing_style", "wearing style", "Wearing Style", "WearingStyle"])
def test_it_names_the_fact_that_it_means(dimension: str) -> None:
    read = understood("", says=(_avoids(dimension, "In-Ear  design"),)).says[0]

    assert (read.directive.dimension, read.directive.value) == ("wearing_style", "in-ear design")


def test_both_sides_of_instead_are_named() -> None:
    said = Directive(stance=Stance.INSTEAD, dimension="Colour", value="RED", over="Blue")

    read = understood("", says=(said,)).says[0].directive

    assert (read.dimension, read.value, read.over) == ("colour", "red", "blue")


def test_an_unknown_value_stays_as_it_is_and_a_known_one_is_spelt_as_in_the_vocabulary() -> None:
    said, known = (_avoids("colour", "MAUVE"),), (Fact(dimension="colour", value="mauve"),)

    values = [understood("", vocabulary=each, says=said).says[0].directive.value for each in ((), known)]
    assert values == ["MAUVE", "mauve"]


@pytest.mark.parametrize("dimension", ["!!", "色", "1"])
def test_a_dimension_that_no_fact_can_have_says_nothing(dimension: str) -> None:
    assert not understood("", says=(_avoids(dimension, "red"),)).is_understood


def test_items_and_bounds_stay_as_they_are() -> None:
    said = (
        Directive(stance=Stance.AVOIDS, item_id="h1"),
        Directive(stance=Stance.PREFERS, bound=Bound(measure=Measure.PRICE, below=20.0)),
    )

    assert tuple(read.directive for read in understood("", says=said).says) == said


def test_the_forms_scope_is_the_scope() -> None:
    assert understood("", says=(_avoids("colour", "red"),), scope=Scope.SESSION).says[0].scope is Scope.SESSION


def test_a_form_is_not_read_as_words() -> None:
    said = _avoids("colour", "red")

    assert [read.directive for read in understood("I don't want blue", says=(said,)).says] == [said]


def test_items_that_would_do_are_understood() -> None:
    found = understood("", suits=("h2", "h1"))

    assert (found.suits, found.is_understood, found.about) == (("h2", "h1"), True, About.THE_PERSON)


def test_a_form_for_somebody_else_says_nothing_of_the_person() -> None:
    found = understood("a gift for my mother", says=(_avoids("colour", "red"),))

    assert (found.says, found.about) == ((), About.ANOTHER)
