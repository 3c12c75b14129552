"""The dashboard *LLM cost*: what the model is asked, what it costs, and whether it answers."""

from infra.monitoring import alerts
from infra.monitoring.panels import COUNT, DOLLARS, INSTANCE, OF, PER_SECOND, SECONDS, SHARE, Dashboard, Panel, Query
from infra.monitoring.promql import per_second, quantiles, total

EVOLVED = f'{OF},stage="evolve",outcome="evolved"'
ANSWERED = f'{OF},outcome="ok"'

MONEY = (
    Panel(
        "Spent in 24 hours",
        "By SAGER_LLM_PRICE_PROMPT and SAGER_LLM_PRICE_COMPLETION. Always 0: the prices are not set.",
        DOLLARS,
        [Query(total("increase", "sager_llm_cost_dollars_total", window="1d"), "spent")],
        kind="number",
        width=4,
    ),
    Panel(
        "Budget used",
        "Of SAGER_LLM_DAILY_BUDGET, in the last 24 hours, all workers together; `none` without one. Nothing is stopped "
        "when it is used up.",
        SHARE,
        [Query(alerts.BUDGET.expr, "used")],
        alerts=(alerts.BUDGET_NEAR, alerts.BUDGET),
        kind="number",
        width=4,
    ),
    Panel(
        "Cost per hour, by prompt",
        "At the pace of the moment. A jump without more selections: prompts have grown, or replies are repaired.",
        DOLLARS,
        [Query(f"{per_second('sager_llm_cost_dollars_total', 'prompt')} * 3600", "{{prompt}}")],
        stack=True,
    ),
    Panel(
        "Cost per evolved contrast",
        "All questions, rankings included, over the choices that were learned from.",
        DOLLARS,
        [
            Query(
                f"{per_second('sager_llm_cost_dollars_total')} / ({per_second('sager_events_total', of=EVOLVED)} > 0)",
                "per contrast",
            )
        ],
    ),
)
CALLS = (
    Panel(
        "Calls, by prompt and outcome",
        "`rate-limited`: lower SAGER_IN_FLIGHT. `timeout`: raise SAGER_LLM_TIMEOUT_SECONDS, or the endpoint is "
        "overloaded. `invalid-reply`: the model does not keep to the schema.",
        PER_SECOND,
        [Query(per_second("sager_llm_calls_total", "prompt", "outcome"), "{{prompt}} {{outcome}}")],
        stack=True,
    ),
    Panel(
        "Calls without a use, by prompt",
        "The share of calls whose outcome is not `ok`. They cost time, and some of them money.",
        SHARE,
        [
            Query(
                f"1 - {per_second('sager_llm_calls_total', 'prompt', of=ANSWERED)}"
                f" / ({per_second('sager_llm_calls_total', 'prompt')} > 0)",
                "{{prompt}}",
            )
        ],
        most=1,
    ),
    Panel(
        "Tokens, by prompt and direction",
        "Prompt tokens grow with the length of skills and lists, completion tokens with what the model says.",
        PER_SECOND,
        [Query(per_second("sager_llm_tokens_total", "prompt", "direction"), "{{prompt}} {{direction}}")],
        stack=True,
    ),
    Panel(
        "Duration of a call, by prompt",
        "Divided into SAGER_IN_FLIGHT it is what one worker can do in a second.",
        SECONDS,
        quantiles("sager_llm_seconds", "prompt"),
        width=12,
    ),
    Panel(
        "Spared by the gate",
        "The share of choices that the LLM was not asked about: they could teach it nothing. 0 with SAGER_GATE=false.",
        SHARE,
        [
            Query(
                f"{per_second('sager_llm_gated_total')} / ({per_second('sager_events_total', of=EVOLVED)} > 0)",
                "spared",
            )
        ],
        most=1,
        width=12,
    ),
)
ANSWERS = (
    Panel(
        "Circuit",
        "Whether calls go out. Open for long: the endpoint is away, or key, model or address are wrong; the log says "
        "which.",
        COUNT,
        [Query(f"sager_llm_circuit_state{{{OF}}}", "{{instance}}")],
        alerts=(alerts.BREAKER,),
        kind="number",
        width=6,
        states=(("closed", "green"), ("half-open", "orange"), ("open", "orange")),
    ),
    Panel(
        "Outages in an hour, by failure",
        "How often the circuit opened, and by which failure.",
        COUNT,
        [Query(total("increase", "sager_llm_circuit_openings_total", "outcome", window="1h"), "{{outcome}}")],
        width=6,
    ),
    Panel(
        "Waiting for the endpoint",
        "Of the contrasts that a worker may have under way; only with SAGER_ON_LLM_FAILURE=wait.",
        SHARE,
        [
            Query(
                f'sager_llm_waiting{{{OF}}} / on (instance) sager_in_flight_limit{{{OF},stage="evolve"}}',
                "{{instance}}",
            )
        ],
        alerts=(alerts.LLM_WAITING,),
        most=1,
        width=6,
    ),
    Panel(
        "Contrasts without an answer",
        "Of 15 minutes, all workers. What becomes of them is what SAGER_ON_LLM_FAILURE says.",
        SHARE,
        [Query(alerts.REASONER.expr, "without an answer")],
        alerts=(alerts.REASONER,),
        width=6,
    ),
    Panel(
        "What became of contrasts without an answer",
        "`rules`: judged by the rules instead. `wait`: asked again later. `dead-letter`: replay them when the endpoint "
        "is back.",
        PER_SECOND,
        [Query(per_second("sager_reasoner_failures_total", "action"), "{{action}}")],
        width=12,
    ),
    Panel(
        "Rankings without an answer, by part",
        "Facets, slim skills and orders that the LLM was asked for in vain. They are made without it.",
        PER_SECOND,
        [Query(per_second("sager_rank_fallbacks_total", "part"), "{{part}}")],
        width=12,
    ),
)

LLM = Dashboard(
    "sager-llm",
    "sager-streams: LLM cost",
    "Empty where no setting asks for a model.",
    (("Money", MONEY), ("Calls", CALLS), ("Does it answer?", ANSWERS)),
    (INSTANCE,),
)
