"""The dashboard *LLM cost*: calls, cost and availability of the LLM."""

from infra.monitoring import alerts
from infra.monitoring.panels import COUNT, DOLLARS, INSTANCE, OF, PER_SECOND, SECONDS, SHARE, Dashboard, Panel, Query
from infra.monitoring.promql import per_second, quantiles, total

EVOLVED = f'{OF},stage="evolve",outcome="evolved"'
ANSWERED = f'{OF},outcome="ok"'

MONEY = (
    Panel(
        "Spent in 24 hours",
        "By SAGER_LLM_PRICE_PROMPT and SAGER_LLM_PRICE_COMPLETION. Always 0: no prices are set.",
        DOLLARS,
        [Query(total("increase", "sager_llm_cost_dollars_total", window="1d"), "spent")],
        kind="number",
        width=4,
    ),
    Panel(
        "Budget used",
        "Of SAGER_LLM_DAILY_BUDGET, in the last 24 hours, over all workers; `none` without one. Calls do not stop "
        "when it is used up.",
        SHARE,
        [Query(alerts.BUDGET.expr, "used")],
        alerts=(alerts.BUDGET_NEAR, alerts.BUDGET),
        kind="number",
        width=4,
    ),
    Panel(
        "Cost per hour, by prompt",
        "At the current rate. A jump without more selections: prompts have grown, or replies need repairs.",
        DOLLARS,
        [Query(f"{per_second('sager_llm_cost_dollars_total', 'prompt')} * 3600", "{{prompt}}")],
        stack=True,
    ),
    Panel(
        "Cost per evolved contrast",
        "All calls, including rankings, divided by the choices that were learned from.",
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
        "overloaded. `invalid-reply`: the model violates the schema.",
        PER_SECOND,
        [Query(per_second("sager_llm_calls_total", "prompt", "outcome"), "{{prompt}} {{outcome}}")],
        stack=True,
    ),
    Panel(
        "Wasted calls, by prompt",
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
        "Prompt tokens grow with skills and lists, completion tokens with the model's replies.",
        PER_SECOND,
        [Query(per_second("sager_llm_tokens_total", "prompt", "direction"), "{{prompt}} {{direction}}")],
        stack=True,
    ),
    Panel(
        "Duration of a call, by prompt",
        "SAGER_IN_FLIGHT divided by it is one worker's throughput per second.",
        SECONDS,
        quantiles("sager_llm_seconds", "prompt"),
        width=12,
    ),
    Panel(
        "Calls skipped by the gate",
        "The share of choices that needed no LLM call, because they could teach nothing. 0 with SAGER_GATE=false.",
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
        "Whether calls are made. Open for long: the endpoint is down, or key, model or address are wrong; the log "
        "says which.",
        COUNT,
        [Query(f"sager_llm_circuit_state{{{OF}}}", "{{instance}}")],
        alerts=(alerts.BREAKER,),
        kind="number",
        width=6,
        states=(("closed", "green"), ("half-open", "orange"), ("open", "orange")),
    ),
    Panel(
        "Circuit openings in an hour, by failure",
        "How often the circuit opened, and the failure that opened it.",
        COUNT,
        [Query(total("increase", "sager_llm_circuit_openings_total", "outcome", window="1h"), "{{outcome}}")],
        width=6,
    ),
    Panel(
        "Contrasts waiting for the endpoint",
        "As a share of the contrasts that a worker may have in flight; only with SAGER_ON_LLM_FAILURE=wait.",
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
        "Contrasts and chunks without an answer",
        "In 15 minutes, over all workers. SAGER_ON_LLM_FAILURE determines what happens to them.",
        SHARE,
        [Query(alerts.REASONER.expr, "without an answer")],
        alerts=(alerts.REASONER,),
        width=6,
    ),
    Panel(
        "Contrasts without an answer, by outcome",
        "`rules`: the rules judged them. `wait`: they are retried. `dead-letter`: replay them when the endpoint is "
        "back.",
        PER_SECOND,
        [Query(per_second("sager_reasoner_failures_total", "action"), "{{action}}")],
        width=12,
    ),
    Panel(
        "Rankings without an answer, by part",
        "Facets, slim skills and orders for which the LLM failed. They are made without it.",
        PER_SECOND,
        [Query(per_second("sager_rank_fallbacks_total", "part"), "{{part}}")],
        width=12,
    ),
)

LLM = Dashboard(
    "sager-llm",
    "sager-streams: LLM cost",
    "Empty if no setting uses a model.",
    (("Money", MONEY), ("Calls", CALLS), ("Availability", ANSWERS)),
    (INSTANCE,),
)
