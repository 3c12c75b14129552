"""The API's document: committed as it is, complete, and true of the routes that there are."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute

from schemas.export import asyncapi
from streams.cli.output import json_text
from streams.http.openapi import PROBLEMS, ROUTERS, TAGS, document
from streams.http.tokens import Scope
from tests.contract.test_contract_docs import ROOT

API = ROOT / "docs" / "api"
AGAIN = "make api, or without Node: sager schemas export --out docs/api --documents"


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def names() -> list[str]:
    return [operation["operationId"] for _, _, operation in operations()]


@pytest.mark.parametrize(("name", "make"), [("openapi.json", document), ("asyncapi.json", asyncapi)])
def test_the_committed_documents_are_current(name: str, make: Callable[[], dict[str, Any]]) -> None:
    committed = (API / name).read_text(encoding="utf-8")

    assert committed == f"{json_text(make(), 2)}\n", f"{name} is not what the code says: {AGAIN}"


def test_every_route_of_the_api_is_in_it() -> None:
    routes = {
        (route.path_format, method.lower())
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }

    assert {(path, method) for path, method, _ in operations()} == routes


def test_every_operation_says_what_it_does_who_may_and_what_goes_wrong() -> None:
    scopes = {str(scope) for scope in Scope}
    for path, method, operation in operations():
        where = f"{method} {path}: see streams/http/openapi.py"
        assert operation["summary"], where
        assert not operation["summary"].endswith("."), where
        assert "Needs " in operation["description"], where
        assert len(operation["tags"]) == 1, where
        assert set(operation["tags"]) <= set(TAGS), where
        assert operation["responses"].keys() >= PROBLEMS.keys(), where
        assert {each for group in operation["security"] for each in group["bearer"]} <= scopes, where
        for parameter in operation.get("parameters", []):
            assert parameter.get("description"), f"{where}: {parameter['name']}"
            assert "null" not in json.dumps(parameter["schema"].get("anyOf", [])), f"{where}: {parameter['name']}"
