"""The API's routes, a file for each subject."""

from streams.http.routes import (
    analytics,
    arms,
    cards,
    commands,
    corrections,
    events,
    letters,
    lines,
    rank,
    rights,
    skills,
    slim,
    status,
    token,
    told,
)

ROUTERS = (
    events.router,
    rank.router,
    slim.router,
    corrections.router,
    skills.router,
    lines.router,
    commands.router,
    cards.router,
    rights.router,
    letters.router,
    arms.router,
    analytics.router,
    status.router,
    token.router,
    told.router,
)
