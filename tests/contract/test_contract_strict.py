"""A number is a number in every record: whoever reads it, in whichever language, reads the same."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from schemas import TOPICS, BadRecord, decode
from schemas.base import Model
from tests.contract.test_contract_golden import BASES
from tests.golden import wire


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], float]]:
    """The paths of all numbers and truth values of a record; not in an item's metadata, which are the app's."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name != "metadata":
                yield from numbers(part, (*path, name))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from numbers(part, (*path, place))
    elif isinstance(value, bool | int | float):
        yield path, value


def with_value(record: Any, path: tuple[Any, ...], value: Any) -> bytes:
    changed = json.loads(json.dumps(record))
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return json.dumps(changed).encode()


def others(value: float) -> list[Any]:
    """The same in other types, which a lenient reader would take."""
    if isinstance(value, bool):
        return [int(value), float(value), str(value).lower(), "yes" if value else "no"]
    return [str(value), True, False, [value], *([] if isinstance(value, float) else [float(value), value + 0.5])]


@pytest.mark.parametrize("base", BASES)
def test_no_number_of_a_record_may_be_written_as_another_type(base: str) -> None:
    record = json.loads(wire(base))
    found = list(numbers(record))

    taken = []
    for path, value in found:
        for other in others(value):
            with suppress(BadRecord):
                decode(TOPICS[base].model, with_value(record, path, other))
                taken.append((path, other))

    assert found
    assert taken == []


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, list | tuple):
        for part in schema:
            yield from parts(part)
    elif isinstance(schema, dict):
        yield schema
        for name, part in schema.items():
            if name != "metadata":
                yield from parts(part)


def models(base: type[Model] = Model) -> Iterator[type[Model]]:
    for each in base.__subclasses__():
        yield each
        yield from models(each)


def test_every_model_reads_numbers_strictly() -> None:
    """Also those that no example has, and those that come later."""
    lenient = {
        model.__name__
        for model in models()
        for part in parts(model.__pydantic_core_schema__)
        if part.get("type") in ("int", "float", "bool") and not part.get("strict")
    }

    assert len(list(models())) > len(TOPICS)
    assert lenient == set()
