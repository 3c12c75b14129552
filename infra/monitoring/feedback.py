"""The dashboard *Feedback*: what people tell beside choices, whether it is understood, and how tastes change."""

from infra.monitoring import alerts
from infra.monitoring.panels import (
    COUNT,
    INSTANCE,
    OF,
    PER_SECOND,
    SHARE,
    Dashboard,
    Panel,
    Query,
    choice,
    window,
)
from infra.monitoring.promql import per_second

OF_DOMAIN = f'{OF},domain=~"$domain"'
WINDOW = "$window"


def rate(metric: str, *by: str, of: str = OF_DOMAIN) -> str:
    """Like `per_second`, over `$window`: such events are too few for the shortest interval."""
    return per_second(metric, *by, of=of, window=WINDOW)


SIGNALS = (
    Panel(
        "Signals, by kind",
        "What apps tell of items beside choices: liked, rated, skipped, returned. A kind that stops: has an app "
        "changed?",
        PER_SECOND,
        [Query(rate("sager_signals_total", "signal"), "{{signal}}")],
        stack=True,
    ),
    Panel(
        "Signals, by outcome",
        "`heard` counts. `unknown-signal`: an app sends a kind that SAGER_SIGNALS does not name, "
        "and nothing comes of it.",
        PER_SECOND,
        [Query(rate("sager_signals_total", "outcome"), "{{outcome}}")],
    ),
    Panel(
        "Several taken at once",
        "Selections of more than one item. None, where people can take several: the app sends the first one alone.",
        PER_SECOND,
        [Query(rate("sager_several_taken_total", "domain"), "{{domain}}")],
    ),
    Panel(
        "Lists of which nothing was taken",
        "Abstentions per list of which something was taken, by domain. High and steady: the candidates do not suit, "
        "whatever their order.",
        SHARE,
        [
            Query(
                f"{rate('sager_abstentions_total', 'domain')} / {rate('sager_selection_rank_count', 'domain')}",
                "{{domain}}",
            )
        ],
    ),
    Panel(
        "Abstentions, last hour to last day",
        "1: unchanged. No line: fewer than 20 abstentions in an hour. Not affected by the selection above.",
        COUNT,
        [Query(alerts.ABSTENTIONS.expr, "{{domain}}")],
        alerts=(alerts.ABSTENTIONS,),
    ),
    Panel(
        "Questions asked, and rankings of which nothing suits",
        "Per second, by domain: rankings that brought a question along, where hosts ask for it, and those that say "
        "that better nothing is shown.",
        PER_SECOND,
        [
            Query(rate("sager_questions_total", "domain"), "{{domain}} asked"),
            Query(rate("sager_nothing_suits_total", "domain"), "{{domain}} nothing suits"),
        ],
    ),
)
WORDS = (
    Panel(
        "Corrections, by outcome",
        "`corrected` was understood. `for-another` is about somebody else. Many `not-understood`: see the runbook.",
        PER_SECOND,
        [Query(rate("sager_corrections_total", "outcome"), "{{outcome}}")],
        stack=True,
    ),
    Panel(
        "Corrections not understood",
        "Their share in an hour, by domain. No line: fewer than 20 in an hour. Not affected by the selection above.",
        SHARE,
        [Query(alerts.NOT_UNDERSTOOD.expr, "{{domain}}")],
        alerts=(alerts.NOT_UNDERSTOOD,),
        most=1,
    ),
    Panel(
        "Statements, by stance and change",
        "What skills keep of people's words. Mostly withdrawn: words are misread, or somebody writes in others' names.",
        PER_SECOND,
        [Query(rate("sager_statements_total", "stance", "change"), "{{stance}} {{change}}")],
    ),
)
CONVERSATIONS = (
    Panel(
        "Chunks of conversations, by why they were closed",
        "Each is thought over once, with a model in one call. Mostly `full`: somebody writes more than people do.",
        PER_SECOND,
        [Query(rate("sager_chunks_total", "reason", of=OF), "{{reason}}")],
        stack=True,
    ),
    Panel(
        "Turns that wait",
        "Until their chunk is closed: by tokens, by silence, by the end. Growing without end: nobody thinks them over.",
        COUNT,
        [Query(f"sum(sager_waiting_turns{{{OF}}})", "turns")],
    ),
    Panel(
        "Turns that wait while no chunk is closed",
        "By process: 0 where one was closed in half an hour. Not affected by the selection above.",
        COUNT,
        [Query(alerts.NOT_THOUGHT_OVER.expr, "{{instance}}")],
        alerts=(alerts.NOT_THOUGHT_OVER,),
    ),
    Panel(
        "Calls about conversations without an answer",
        "Their share in half an hour, over all workers; of 20 where there were fewer. 0 without an LLM.",
        SHARE,
        [Query(alerts.UNANSWERED.expr, "without an answer")],
        alerts=(alerts.UNANSWERED,),
        most=1,
    ),
    Panel(
        "Lines of cards, by what became of them",
        "`added` and `confirmed` are what conversations are for. Mostly `overtaken`: words are misread.",
        PER_SECOND,
        [Query(rate("sager_card_changes_total", "kind", of=OF), "{{kind}}")],
    ),
    Panel(
        "What was said and is not kept, by why",
        "Private, sensitive, of somebody else. A kind that jumps: has an app begun to send what it should not?",
        PER_SECOND,
        [Query(rate("sager_card_not_kept_total", "kind", of=OF), "{{kind}}")],
    ),
)
TASTES = (
    Panel(
        "Tastes that change, by kind",
        "`stated` by the person, `observed` in what they take, `overtaken` with such a change, `faded` since nothing "
        "confirmed a line for long.",
        PER_SECOND,
        [Query(rate("sager_shifts_total", "kind"), "{{kind}}")],
        width=12,
    ),
    Panel(
        "Changes of taste, last hour to last day",
        "Per choice, stated and observed ones; 1: unchanged. No line: fewer than 20 in an hour. Not affected by "
        "the selection above.",
        COUNT,
        [Query(alerts.SHIFTS.expr, "{{domain}}")],
        alerts=(alerts.SHIFTS,),
        width=12,
    ),
)

FEEDBACK = Dashboard(
    "sager-feedback",
    "sager-streams: Feedback",
    "Signals, lists of which nothing was taken, what people say and whether it is understood, tastes that change.",
    (("Signals and lists", SIGNALS), ("What people say", WORDS), ("Conversations", CONVERSATIONS), ("Tastes", TASTES)),
    (
        choice("domain", "domain", "label_values(sager_selection_rank_count, domain)"),
        INSTANCE,
        window("1h", "5m", "6h", "1d"),
    ),
)
