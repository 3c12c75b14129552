"""The OpenAPI 3.1 document: FastAPI's, completed for readers and client generators."""

from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from streams.http import events, rights, skills, slims
from streams.http.problems import CONTENT_TYPE
from streams.http.routing import RequireScopes
from streams.http.tokens import Scope

ROUTERS = (
    events.events, events.rankings, slims.routes, events.corrections, skills.reads, skills.changes, skills.cards,
    rights.routes, skills.models,
)  # fmt: skip
TITLE, VERSION = "sager-streams", "1"
ABOUT = """\
Send lists that people were shown and their choices; read back one short line on each person, the slim skill.

Every request carries a bearer token, whose scopes limit its actions and its users. Errors are problem details
(RFC 9457). Ids in paths are percent-encoded. Events and corrections may be sent again with the same `event_id`: each
counts once."""
BEARER = "bearer"
TAGS = {
    "slim skills": "A line about a person for a prompt: read once, or followed as it changes.",
    "events": "Lists that were shown, choices, signals, the catalogue.",
    "rankings": "Candidates in the order that suits a person, and the most useful question.",
    "corrections": "Statements of a person about their taste, in words or by a form.",
    "skills": "The skill of a person, its history and its reasons.",
    "for models": "A skill and its reasons as a model may read them.",
    "commands": "Changes that a person makes in a skill.",
    "cards": "Statements of a person in conversations, for a request.",
    "rights": "Export, import and erasure, each with a preview.",
}
# Errors of all operations by status: the component's name and description.
PROBLEMS = {
    "401": ("Unauthorized", "There is no valid token."),
    "403": ("Forbidden", "The token lacks the scope, whether the user exists or not."),
    "422": ("Invalid", "A parameter or a field of the body is invalid: `errors` names it."),
    "429": ("TooMany", "Over a rate or share: `Retry-After` has the seconds to wait."),
    "503": ("Unavailable", "Starting or overloaded, or Kafka or the snapshot is unavailable: try again."),
    "default": ("Other", "Another problem, and what to do."),
}
NOT_FOUND = ("NotFound", "It does not exist, or not yet.")
SCHEMAS = "#/components/schemas/"
PROBLEM = {
    "type": "object",
    "description": "An error, and what to do (RFC 9457); never an id, a value or a secret.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "Always `about:blank`."},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "description": "The HTTP status."},
        "detail": {"type": "string", "description": "The error, and what to do."},
        "errors": {
            "type": "array",
            "description": "Fields that are invalid; at most five.",
            "items": {"$ref": f"{SCHEMAS}FieldError"},
        },
    },
    "additionalProperties": True,
}
NULL = {"type": "null"}


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document, which callers must not change."""
    app = FastAPI(
        title=TITLE,
        version=VERSION,
        summary="How each person decides, learned from their choices as a stream.",
        description=ABOUT,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        servers=[{"url": "/", "description": "The server that this document comes from."}],
        separate_input_output_schemas=False,
    )
    app.router.routes.extend(route for router in ROUTERS for route in router.routes)
    found: dict[str, Any] = _untitled(app.openapi()) | {"info": app.openapi()["info"]}
    for route in app.router.routes:
        if isinstance(route, APIRoute):
            for method in route.methods or ():
                _complete(found["paths"][route.path_format][method.lower()], route)
    components = found["components"]
    schemas = {**components["schemas"], "Problem": PROBLEM}
    components["schemas"] = {name: schemas[name] for name in sorted(schemas) if not name.endswith("ValidationError")}
    components["responses"] = {name: _problem(about) for name, about in (*PROBLEMS.values(), NOT_FOUND)}
    about_tokens = "A token that `sager token new` makes. Each request names the scopes that it needs."
    components["securitySchemes"] = {BEARER: {"type": "http", "scheme": BEARER, "description": about_tokens}}
    found["tags"] = [{"name": tag, "description": about} for tag, about in TAGS.items()]
    return found


def scopes_of(route: APIRoute) -> tuple[tuple[Scope, ...], ...]:
    """Return the alternative groups of scopes of a route; none: any token."""
    for each in route.dependant.dependencies:
        if isinstance(each.call, RequireScopes):
            scopes = each.call.scopes
            return (scopes,) if each.call.every else tuple((scope,) for scope in scopes)
    return ()


def _complete(operation: dict[str, Any], route: APIRoute) -> None:
    first, _, rest = (route.description or "").partition("\n")
    alternatives = scopes_of(route)
    needed = " or ".join(" and ".join(f"`{scope}`" for scope in scopes) for scopes in alternatives)
    operation["operationId"] = route.name
    operation["summary"] = first.rstrip(".").replace("`", "")  # summaries are no Markdown
    scopes_text = f"Needs the scope {needed}." if needed else "Needs any valid token."
    operation["description"] = "\n\n".join(filter(None, (rest.strip(), scopes_text)))
    operation["security"] = [{BEARER: [str(scope) for scope in scopes]} for scopes in alternatives] or [{BEARER: []}]
    for parameter in operation.get("parameters", []):
        parameter["schema"] = _parameter(parameter["schema"])
    responses = operation["responses"]
    responses["200"]["description"] = responses["200"]["description"].replace("Successful Response", "Done.")
    if "{" in route.path_format:
        responses["404"] = {"$ref": "#/components/responses/NotFound"}
    for status, (name, _) in PROBLEMS.items():
        responses[status] = {"$ref": f"#/components/responses/{name}"}


def _problem(about: str) -> dict[str, Any]:
    return {"description": about, "content": {CONTENT_TYPE: {"schema": {"$ref": f"{SCHEMAS}Problem"}}}}


def _parameter(schema: dict[str, Any]) -> dict[str, Any]:
    # Without null: an optional parameter is left out.
    schema = {name: value for name, value in schema.items() if name != "description"}
    kept = [each for each in schema.get("anyOf", []) if each != NULL]
    if len(kept) == 1:
        schema.pop("anyOf")
        schema = {**kept[0], **schema}
    return schema


def _untitled(part: Any, names: bool = False) -> Any:
    """Drop titles, which repeat field names; `names`: keys are field names."""
    if isinstance(part, list):
        return [_untitled(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: _untitled(value, name == "properties" and not names)
        for name, value in part.items()
        if names or name != "title" or not isinstance(value, str)
    }
