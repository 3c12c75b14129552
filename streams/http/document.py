"""The API's own description, as OpenAPI 3.1: what FastAPI derives from the routes, made fit for readers and generators.

It is the same for every deployment, so that clients are generated from a committed file.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from schemas import SkillCommand
from streams.http.commands import OURS as COMMAND_OURS
from streams.http.examples import ANSWERS, ASKED
from streams.http.problems import CONTENT_TYPE
from streams.http.routes import ROUTERS

TITLE, VERSION = "sager-streams", "1"
ABOUT = """\
Tell what people were shown and what they took; read back one short line on each of them, the slim skill.

Every request carries a bearer token, whose scopes say what it may do and about whom. Errors are problem details
(RFC 9457). Ids in paths are percent-encoded. Events and corrections may be sent again with the same `event_id`: each
counts once."""
BEARER = "bearer"
TAGS = {
    "slim skills": "What to put into a prompt about a person: asked for, or followed as it changes.",
    "events": "What an app tells: lists that were shown, what was taken, signals, the catalogue.",
    "rankings": "Candidates in the order that suits a person, and the question that would tell most.",
    "corrections": "What a person says of their taste, in words or by a form.",
    "skills": "What is known of a person, since when, and why.",
    "for models": "A skill and its log as a model may read them.",
    "commands": "What a person, or somebody for them, changes in a skill.",
    "cards": "What a person said of themselves in conversations: read for a request, and changed.",
    "rights": "Export, import and forgetting, each with a preview that is confirmed.",
    "analytics": "Named queries over the snapshot, for dashboards.",
    "operation": "How the deployment does: status, dead letters, webhooks, arms side by side.",
    "token": "The token of the request itself.",
}
PROBLEMS = {
    "401": ("Unauthorized", "No valid token."),
    "403": ("Forbidden", "Not with this token; the same whether the user exists or not."),
    "422": ("Invalid", "A parameter, or a field of the body, is not what it has to be: `errors` names it."),
    "429": ("TooMany", "Over a rate or a share: `Retry-After` says when to try again."),
    "503": ("Unavailable", "Starting, overloaded, or Kafka or the snapshot is away: try again."),
}
"""What every request may meet, by status: its name among the components, and when."""
NOT_FOUND = ("NotFound", "Nothing of that is there, or is known yet.")
OTHER = ("Other", "Another problem: what is wrong, and what to do.")
PROBLEM = {
    "type": "object",
    "description": "What is wrong, and what to do (RFC 9457); never an id, a value or a secret. Some say more.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "Always `about:blank`: the status says it."},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "description": "The HTTP status."},
        "detail": {"type": "string", "description": "What is wrong, and what to do."},
        "errors": {
            "type": "array",
            "description": "Fields that are invalid; at most five.",
            "items": {
                "type": "object",
                "required": ["field", "what"],
                "properties": {
                    "field": {"type": "string", "description": "Its path, such as `candidates.0.item_id`."},
                    "what": {"type": "string", "description": "What is wrong with it."},
                },
            },
        },
    },
    "additionalProperties": True,
}
COMMAND = "Command"
COMMAND_ABOUT = (
    "What is to change, and why. Beside `domain` and `action`: `add` takes `line`; `reword` takes `attribute_id` and "
    "`value`; `set-tier` takes `attribute_id` and `tier`; `remove`, `pin` and `unpin` take `attribute_id`; `roll-back` "
    "takes `to_version`; `freeze` and `unfreeze` take nothing."
)
SCHEMAS = "#/components/schemas/"
NULL = {"type": "null"}
LITERAL = frozenset({"default", "example", "examples", "enum", "const"})
"""What stands there is a value, and no schema."""


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document. It is shared: change nothing in it."""
    app = FastAPI(
        title=TITLE,
        version=VERSION,
        summary="How each person decides, learned from their choices as a stream.",
        description=ABOUT,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        servers=[{"url": "/", "description": "The server that this document comes from."}],
        separate_input_output_schemas=False,
    )
    routes = {
        (method.lower(), route.path_format): route
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    app.router.routes.extend(route for router in ROUTERS for route in router.routes)
    found = app.openapi()
    used = set()
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            used.update(operation["tags"])
            _complete(operation, routes[method, path])
    _ask_for_commands(found)
    _rename(found)
    components = found["components"]
    components["schemas"] = {
        name: _untitled(schema) for name, schema in sorted({**components["schemas"], "Problem": PROBLEM}.items())
    }
    components["responses"] = {name: _problem(about) for name, about in (*PROBLEMS.values(), NOT_FOUND, OTHER)}
    components["securitySchemes"] = {
        BEARER: {
            "type": "http",
            "scheme": BEARER,
            "description": "A token that `sager token new` makes. Each request names the scopes that it needs.",
        }
    }
    found["tags"] = [{"name": tag, "description": about} for tag, about in TAGS.items() if tag in used]
    return found


def _ask_for_commands(found: dict[str, Any]) -> None:
    """A command's body is checked by hand, as the server sets some of its fields; the others are its schema here."""
    schema = SkillCommand.model_json_schema(ref_template=SCHEMAS + "{model}")
    definitions = schema.pop("$defs", {})
    found["components"]["schemas"] = {**definitions, **found["components"]["schemas"], COMMAND: schema}
    for name in COMMAND_OURS:
        schema["properties"].pop(name, None)
    schema["required"] = [name for name in schema["required"] if name not in COMMAND_OURS]
    schema.pop("allOf")  # which field goes with which action; some are those that the server sets
    schema["description"], schema["additionalProperties"] = COMMAND_ABOUT, False
    body = found["paths"]["/v1/users/{user}/commands"]["post"]["requestBody"]
    body["content"]["application/json"]["schema"] = {"$ref": f"{SCHEMAS}{COMMAND}"}


def _rename(found: dict[str, Any]) -> None:
    """Gives classes of the same name in two modules names to read: `TokenScope`, not `streams__http__tokens__Scope`.

    What flows, a class of `schemas`, keeps its own.
    """
    schemas = found["components"]["schemas"]
    renamed = {}
    for name in [name for name in schemas if "__" in name]:
        *package, module, short = name.split("__")
        renamed[name] = short if package == ["schemas"] else f"{module.rstrip('s').title()}{short}"
    if set(renamed.values()) & schemas.keys() or len(set(renamed.values())) < len(renamed):
        raise ValueError(f"two models have one name: {sorted(renamed.values())}")
    for old, new in renamed.items():
        schemas[new] = schemas.pop(old)
    _redirect(found, {f"{SCHEMAS}{old}": f"{SCHEMAS}{new}" for old, new in renamed.items()})


def _redirect(part: Any, renamed: dict[str, str]) -> None:
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _redirect(each, renamed)
    if isinstance(part, dict) and (reference := part.get("$ref")) in renamed:
        part["$ref"] = renamed[reference]


def _complete(operation: dict[str, Any], route: APIRoute) -> None:
    """Brings one operation into its form."""
    first, _, rest = (route.description or "").partition("\n")
    alternatives = next(_scopes(route.dependant), ())
    needed = " or ".join(" and ".join(f"`{scope}`" for scope in scopes) for scopes in alternatives)
    operation["operationId"] = route.name
    operation["summary"] = first.rstrip(".").replace("`", "")  # the one text that is no Markdown
    operation["description"] = "\n\n".join(
        part for part in (rest.strip(), f"Needs the scope {needed}." if needed else "Needs any valid token.") if part
    )
    operation["security"] = [{BEARER: [str(scope) for scope in scopes]} for scopes in alternatives] or [{BEARER: []}]
    for parameter in operation.get("parameters", []):
        parameter["schema"] = _parameter(parameter["schema"])
    for body in _contents(operation.get("requestBody", {})):
        body["schema"] = _untitled(body["schema"])
        if example := ASKED.get(route.name):
            body["example"] = example
    responses = operation["responses"]
    for status, response in responses.items():
        if response.get("description") == "Successful Response":
            response["description"] = "Done."
        for body in _contents(response):
            body["schema"] = _untitled(body["schema"])
            if (example := ANSWERS.get(route.name)) and status.startswith("2"):
                body["example"] = example
    responses.pop("default", None)
    if "{" in route.path_format:
        responses.setdefault("404", {"$ref": "#/components/responses/NotFound"})
    for status, (name, _) in {**PROBLEMS, "default": OTHER}.items():
        responses[status] = {"$ref": f"#/components/responses/{name}"}


def _scopes(dependant: Dependant) -> Iterator[tuple[tuple[str, ...], ...]]:
    """The scopes that a route's dependencies ask for: one of these groups, all of it."""
    for each in dependant.dependencies:
        if (found := getattr(each.call, "alternatives", None)) is not None:
            yield found
        yield from _scopes(each)


def _contents(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from part.get("content", {}).values()


def _problem(about: str) -> dict[str, Any]:
    return {"description": about, "content": {CONTENT_TYPE: {"schema": {"$ref": f"{SCHEMAS}Problem"}}}}


def _parameter(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there or it is not: no query says null."""
    schema = {name: value for name, value in _untitled(schema).items() if name != "description"}
    kept = [each for each in schema.get("anyOf", []) if each != NULL]
    if len(kept) == 1:
        schema.pop("anyOf")
        schema = {**kept[0], **schema}
    # Bounds behind a validator of ours are left as Python calls them.
    return {{"ge": "minimum", "le": "maximum"}.get(name, name): value for name, value in schema.items()}


def _untitled(schema: Any, names: bool = False) -> Any:
    """A schema without the titles that only repeat its fields' names.

    Args:
        schema: it, or a part of it.
        names: whether this part's keys are names of fields.
    """
    if isinstance(schema, list):
        return [_untitled(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: value if name in LITERAL and not names else _untitled(value, name == "properties" and not names)
        for name, value in schema.items()
        if names or name != "title" or not isinstance(value, str)
    }
