"""The dashboard *Policies*: a person's skill and why each line is there, and what everybody's skills became.

It names people, so that it lies apart from the others, which a Grafana without sign-in shows.
"""

from infra.monitoring.infinity import NUMBER, TIME, Asked, Column, View, choice, encoded

USER, DOMAIN, LINE = "${user:percentencode}", "${domain:percentencode}", "${line:percentencode}"
SKILL = f"/v1/users/{USER}/skills/{DOMAIN}"
_HITS = [Column(f"hit_at_{n}", f"hit@{n}", NUMBER) for n in (1, 3, 5)]

ONE = (
    View(
        "The skill",
        "Each line with its tier and its evidence: how often what it says was taken, and how often that was to be "
        "expected. Only medium and high reach a prompt.",
        Asked(
            SKILL,
            "attributes",
            [
                Column("kind", "kind"),
                Column("dimension", "dimension"),
                Column("value", "value"),
                Column("tier", "tier"),
                Column("taken", "taken", NUMBER),
                Column("expected", "expected", NUMBER),
                Column("source", "source"),
            ],
        ),
    ),
    View(
        "What the person said",
        "Statements with the person's own words. They go before what was learned. Empty: nothing was said, or it has "
        "run out.",
        Asked(
            SKILL,
            "stated",
            [
                Column("stance", "stance"),
                Column("dimension", "dimension"),
                Column("value", "value"),
                Column("words", "words"),
                Column("scope", "scope"),
                Column("said_at", "said", TIME),
            ],
        ),
    ),
    View(
        "Why the line is there",
        "Every event that moved the chosen line, as a sentence, newest last. It looks wrong: `sager policy remove`, or "
        "let the person say so.",
        Asked(
            f"/v1/users/{USER}/domains/{DOMAIN}/lines/{LINE}",
            "steps",
            [
                Column("occurred_at", "when", TIME),
                Column("kind", "what"),
                Column("tier_after", "tier since"),
                Column("sentence", "why"),
            ],
        ),
        width=24,
    ),
)
ALL = (
    View(
        "Does it get better?",
        "Hit rates by how many choices somebody had made. Flat from the first choice on: see the arms, and whether "
        "items have the attributes that people go by.",
        Asked(f"/v1/analytics/learning-curve?domain={DOMAIN}", "rows", [Column("nth", "nth choice", NUMBER), *_HITS]),
        kind="lines",
        unit="percentunit",
        x="nth choice",
        most=1,
    ),
    View(
        "Arms side by side",
        "Comparable only if users were assigned at random. The arm without a skill is as good: look at what skills say "
        "of a few people above.",
        Asked(
            f"/v1/arms?domain={DOMAIN}",
            "arms",
            [
                Column("week", "week"),
                Column("arm", "arm"),
                Column("users", "people", NUMBER),
                Column("choices", "choices", NUMBER),
                *_HITS,
                Column("ndcg_at_5", "NDCG@5", NUMBER),
            ],
        ),
    ),
    View(
        "Lines between tiers",
        "How many lines moved from which tier to which in twelve weeks. Many from high to low: tastes shift, or lists "
        "are shown that nobody chooses from.",
        Asked(
            f"/v1/analytics/tier-flow?domain={DOMAIN}",
            "rows",
            [Column("source", "from"), Column("target", "to"), Column("value", "lines", NUMBER)],
        ),
    ),
    View(
        "Lines that most people hold",
        "How many skills hold a line, by tier. One that nearly all hold tells people apart no more: it tells what is "
        "popular.",
        Asked(
            f"/v1/analytics/adoption?domain={DOMAIN}&limit=15",
            "rows",
            [
                Column("value", "line"),
                Column("high", "high", NUMBER),
                Column("medium", "medium", NUMBER),
                Column("low", "low", NUMBER),
            ],
        ),
        kind="bars",
        unit="short",
        x="line",
    ),
    View(
        "Does it know when nothing suits?",
        "By tenth: how probable rankings said it was that nothing is taken, and in which share nothing was. Far apart: "
        "see *calibration* in docs/analytics.md.",
        Asked(
            f"/v1/analytics/calibration?domain={DOMAIN}",
            "rows",
            [
                Column("predicted", "said", NUMBER),
                Column("happened", "nothing taken", NUMBER),
                Column("rankings", "rankings", NUMBER),
            ],
        ),
        unit="short",
    ),
    View(
        "What models cost",
        "Week by week and by part, at the configured prices. Rising with no more choices: see the dashboard LLM cost.",
        Asked(
            f"/v1/analytics/costs?domain={DOMAIN}",
            "rows",
            [
                Column("week", "week"),
                Column("part", "part"),
                Column("calls", "calls", NUMBER),
                Column("cost_dollars", "dollars", NUMBER),
            ],
        ),
    ),
)
PEOPLE = "/v1/analytics/people"
VARIABLES = (
    choice("domain", "domain", Asked(f"{PEOPLE}?limit=1000", "rows", [Column("domain", "domain")])),
    choice("user", "person", Asked(f"{PEOPLE}?domain={DOMAIN}&limit=1000", "rows", [Column("user_id", "user_id")])),
    choice("line", "line", Asked(SKILL, "attributes", [Column("attribute_id", "attribute_id")])),
)


def policy() -> str:
    """The dashboard's JSON."""
    return encoded(
        "sager-policy",
        "sager-streams: Policies",
        "A person's skill and why each line is there; what everybody's skills became, and what came of it.",
        VARIABLES,
        (("One person", ONE), ("Everybody", ALL)),
    )
