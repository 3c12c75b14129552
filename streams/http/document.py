"""The API's own description, as OpenAPI 3.1: FastAPI's, completed for readers and generators of clients.

It is the same for every deployment, so that clients are generated from a committed file.
"""

from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from streams.http import cards, events, operation, rights, skills, slim_routes
from streams.http.problems import CONTENT_TYPE
from streams.http.routing import Needs

ROUTERS = (
    events.events, events.rankings, slim_routes.routes, events.corrections, skills.reads, skills.changes, cards.routes,
    rights.routes, operation.routes, operation.analytics, skills.models,
)  # fmt: skip
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
SCHEMAS = "#/components/schemas/"
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
            "items": {"$ref": f"{SCHEMAS}FieldError"},
        },
    },
    "additionalProperties": True,
}
NULL = {"type": "null"}

# --- examples, by route

SHOWN = {
    "event_id": "e-1",
    "occurred_at": "2026-01-31T18:04:05Z",
    "ranking_id": "r-17",
    "user_id": "ann",
    "domain": "films",
    "instruction": "something to think about",
    "candidates": [
        {"item_id": "arrival", "title": "Arrival", "metadata": {"genres": ["Sci-Fi"], "year": 2016}},
        {"item_id": "amelie", "title": "Amélie", "metadata": {"genres": ["Romance"], "year": 2001}},
    ],
}
TAKEN = {"event_id": "e-2", "occurred_at": "2026-01-31T18:05:40Z"}
TAKEN |= {"user_id": "ann", "ranking_id": "r-17", "item_id": "arrival"}
CHOICE = {"events": [{"topic": "rankings", "event": SHOWN}, {"topic": "selections", "event": TAKEN}]}
ASKED: dict[str, dict[str, Any]] = {
    "send_events": CHOICE,
    "lint_events": CHOICE,
    "rank": {name: SHOWN[name] for name in ("user_id", "domain", "instruction", "candidates")} | {"clarify": True},
    "correct": {"text": "no horror, please"},
    "command": {"domain": "films", "action": "pin", "attribute_id": "preference:genre:noir", "reason": "she said so"},
    "forget_user": {"domain": "films"},
}
_STATED = {"statement_id": "avoids:preference:genre:horror", "says": "avoids horror (genre)", "words": "no horror"}
ANSWERS: dict[str, dict[str, Any]] = {
    "send_events": {
        "accepted": 1,
        "refused": 1,
        "results": [
            {"event_id": "e-1", "status": "accepted"},
            {"event_id": "e-2", "status": "refused", "errors": [{"field": "item_id", "what": "Field required"}]},
        ],
    },
    "correct": {
        "event_id": "e-3", "carried_out": True, "version": 8, "understood": True, "why": "", "explanation": "",
        "not_kept": [], "stated": [{**_STATED, "scope": "always"}],
    },
    "slim": {
        "user_id": "ann", "domain": "films", "skill_version": 7, "text": "likes: noir, westerns | style: prefers 1950s",
        "likes": ["noir", "westerns"], "style": "prefers 1950s", "tokens": 11,
    },
}  # fmt: skip


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document. Callers share it and must not change it."""
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
    used = set()
    for route in app.router.routes:
        if isinstance(route, APIRoute):
            for method in route.methods or ():
                operation = found["paths"][route.path_format][method.lower()]
                used.update(operation["tags"])
                _complete(operation, route)
    components = found["components"]
    schemas = {**components["schemas"], "Problem": PROBLEM}
    components["schemas"] = {name: schemas[name] for name in sorted(schemas) if not name.endswith("ValidationError")}
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


def _complete(operation: dict[str, Any], route: APIRoute) -> None:
    """Add the texts, scopes, examples and errors of one operation."""
    first, _, rest = (route.description or "").partition("\n")
    alternatives = next(
        (each.call.alternatives for each in route.dependant.dependencies if isinstance(each.call, Needs)), ()
    )
    needed = " or ".join(" and ".join(f"`{scope}`" for scope in scopes) for scopes in alternatives)
    operation["operationId"] = route.name
    operation["summary"] = first.rstrip(".").replace("`", "")  # the one text that is no Markdown
    scopes_text = f"Needs the scope {needed}." if needed else "Needs any valid token."
    operation["description"] = "\n\n".join(filter(None, (rest.strip(), scopes_text)))
    operation["security"] = [{BEARER: [str(scope) for scope in scopes]} for scopes in alternatives] or [{BEARER: []}]
    for parameter in operation.get("parameters", []):
        parameter["schema"] = _parameter(parameter["schema"])
    for body in operation.get("requestBody", {}).get("content", {}).values():
        if route.name in ASKED:
            body["example"] = ASKED[route.name]
    responses = operation["responses"]
    for status, response in responses.items():
        if response.get("description") == "Successful Response":
            response["description"] = "Done."
        for body in response.get("content", {}).values():
            if route.name in ANSWERS and status.startswith("2"):
                body["example"] = ANSWERS[route.name]
    responses.pop("422", None)
    if "{" in route.path_format:
        responses.setdefault("404", {"$ref": "#/components/responses/NotFound"})
    for status, (name, _) in {**PROBLEMS, "default": OTHER}.items():
        responses[status] = {"$ref": f"#/components/responses/{name}"}


def _problem(about: str) -> dict[str, Any]:
    return {"description": about, "content": {CONTENT_TYPE: {"schema": {"$ref": f"{SCHEMAS}Problem"}}}}


def _parameter(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter's schema without null: a parameter is there or it is not."""
    schema = {name: value for name, value in schema.items() if name != "description"}
    kept = [each for each in schema.get("anyOf", []) if each != NULL]
    if len(kept) == 1:
        schema.pop("anyOf")
        schema = {**kept[0], **schema}
    return schema


def _untitled(part: Any, names: bool = False) -> Any:
    """Return a part of the document without the titles that only repeat fields' names; `names`: its keys are fields."""
    if isinstance(part, list):
        return [_untitled(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: _untitled(value, name == "properties" and not names)
        for name, value in part.items()
        if names or name != "title" or not isinstance(value, str)
    }
