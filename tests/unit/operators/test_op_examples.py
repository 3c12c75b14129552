"""The examples in the docstrings of operators are true."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import operators


@pytest.mark.parametrize("name", [each.name for each in pkgutil.walk_packages(operators.__path__, "operators.")])
def test_examples_are_true(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
