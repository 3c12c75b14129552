"""Examples of the API's document, by route: what is asked, and what is answered."""

from typing import Any

ARRIVAL = {"item_id": "arrival", "title": "Arrival", "metadata": {"genres": ["Sci-Fi"], "year": 2016}}
AMELIE = {"item_id": "amelie", "title": "Amélie", "metadata": {"genres": ["Romance"], "year": 2001}}
SHOWN = {
    "event_id": "e-1",
    "occurred_at": "2026-01-31T18:04:05Z",
    "ranking_id": "r-17",
    "user_id": "ann",
    "domain": "films",
    "instruction": "something to think about",
    "candidates": [ARRIVAL, AMELIE],
}
TAKEN = {
    "event_id": "e-2",
    "occurred_at": "2026-01-31T18:05:40Z",
    "user_id": "ann",
    "ranking_id": "r-17",
    "item_id": "arrival",
}
CHOICE = {"events": [{"topic": "rankings", "event": SHOWN}, {"topic": "selections", "event": TAKEN}]}

ASKED: dict[str, dict[str, Any]] = {
    "send_events": CHOICE,
    "lint_events": CHOICE,
    "rank": {
        "user_id": "ann",
        "domain": "films",
        "candidates": [AMELIE, ARRIVAL],
        "instruction": "something to think about",
        "clarify": True,
    },
    "correct": {"text": "no horror, please"},
    "command": {
        "domain": "films",
        "action": "pin",
        "attribute_id": "preference:genre:noir",
        "reason": "she said so",
    },
    "forget_user": {"domain": "films"},
}
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
        "event_id": "e-3",
        "carried_out": True,
        "version": 8,
        "understood": True,
        "why": "",
        "explanation": "",
        "not_kept": [],
        "stated": [
            {
                "statement_id": "avoids:preference:genre:horror",
                "says": "avoids horror (genre)",
                "words": "no horror",
                "scope": "always",
            }
        ],
    },
    "slim": {
        "user_id": "ann",
        "domain": "films",
        "skill_version": 7,
        "text": "likes: noir, westerns | style: prefers 1950s",
        "likes": ["noir", "westerns"],
        "style": "prefers 1950s",
        "tokens": 11,
    },
}
