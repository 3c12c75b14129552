"""The dashboard *Policy quality*: whether users take top-ranked items, and how their skills change."""

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
from infra.monitoring.promql import per_second, quantiles

CHOSEN = f'{OF},domain=~"$domain",arm=~"$arm"'
WINDOW = "$window"
AT = (1, 3, 5)


def rate(metric: str, *by: str, of: str = CHOSEN) -> str:
    """Like `per_second`, over `$window`: choices are too few for the shortest interval."""
    return per_second(metric, *by, of=of, window=WINDOW)


def hit_rates(*by: str) -> list[Query]:
    """The share of choices that were shown among the first 1, 3 and 5."""
    legend = "".join(f"{{{{{label}}}}} " for label in by)
    hits = {k: rate("sager_selection_rank_bucket", *by, of=f'{CHOSEN},le="{k}.0"') for k in AT}
    return [Query(f"{hits[k]} / {rate('sager_selection_rank_count', *by)}", f"{legend}H@{k}") for k in AT]


def ndcg(by: str) -> list[Query]:
    """Mean NDCG@3 and NDCG@5."""
    count = rate("sager_selection_rank_count", by)
    expr = f"{rate('sager_selection_ndcg_total', by, 'at')} / on ({by}) group_left {count}"
    return [Query(expr, f"{{{{{by}}}}} NDCG@{{{{at}}}}")]


ONLINE = (
    Panel(
        "Hit rates, for all selected above",
        "How often users took what was shown first, among the first 3 and the first 5. With ten items in random "
        "order they are 0.1, 0.3 and 0.5.",
        SHARE,
        hit_rates(),
        most=1,
        width=6,
    ),
    Panel(
        "Hit rates, by domain",
        "A drop in one domain: has its ranker, catalogue or parser changed?",
        SHARE,
        hit_rates("domain"),
        most=1,
        width=9,
    ),
    Panel(
        "Hit rates, by arm",
        "`no-skill`, `prior` and `evolved`, or names given by apps. `evolved` below `prior` for days: learning does "
        "harm. Without random assignment, arms also differ in their users.",
        SHARE,
        hit_rates("arm"),
        most=1,
        width=9,
    ),
    Panel(
        "NDCG, by domain",
        "Like hit rates, with more weight for higher ranks.",
        SHARE,
        ndcg("domain"),
        most=1,
    ),
    Panel("NDCG, by arm", "Like hit rates by arm, with more weight for higher ranks.", SHARE, ndcg("arm"), most=1),
    Panel(
        "Hit rate at 5, last hour to last day",
        "1: unchanged. No line: too few choices. Not affected by the selection above.",
        SHARE,
        [Query(alerts.HIT_RATE.expr, "{{domain}}")],
        alerts=(alerts.HIT_RATE,),
    ),
)
CHOICES = (
    Panel(
        "Selections, by domain",
        "Choices matched to their ranking. None while apps send: are rankings sent at all?",
        PER_SECOND,
        [Query(rate("sager_selection_rank_count", "domain"), "{{domain}}")],
        stack=True,
    ),
    Panel(
        "Updates per selection",
        "In half an hour, over all workers. Near 0: evolve has stalled; check the LLM and Pipeline.",
        SHARE,
        [Query(alerts.NOTHING_EVOLVES.expr, "updates per selection")],
        alerts=(alerts.NOTHING_EVOLVES,),
    ),
    Panel(
        "Expired rankings",
        "They left a user's ring without a selection. Many: SAGER_OPEN_RANKINGS is too low, or selections get lost.",
        PER_SECOND,
        [Query(rate("sager_rankings_expired_total", of=OF), "expired")],
    ),
)
SKILLS = (
    Panel(
        "Changes, by kind",
        "What choices do to skills: reinforced, discovered, weakened. Mostly weakened: skills are wrong about users.",
        PER_SECOND,
        [Query(rate("sager_skill_changes_total", "kind", of=OF), "{{kind}}")],
        stack=True,
    ),
    Panel(
        "Moves between tiers",
        "More demotions than promotions for days: tastes change, or evidence is noise.",
        PER_SECOND,
        [Query(rate("sager_tier_changes_total", "before", "after", of=OF), "{{before}} → {{after}}")],
    ),
    Panel(
        "Proposals refused, by reason",
        "What the merge or the validation refused, what the privacy filter removed, and what no model gets for want of "
        "a voucher: many of these, and the operator's list is short, or somebody tries. Many refused after a change "
        "of model or prompt: the model fabricates.",
        PER_SECOND,
        [
            Query(rate("sager_proposals_refused_total", "why", of=OF), "{{why}}"),
            Query(rate("sager_private_total", "kind", of=OF), "kept out: {{kind}}"),
            Query(rate("sager_unvouched_total", "why", of=OF), "unvouched: {{why}}"),
            Query(rate("sager_forgotten_total", "scope", of=OF), "forgotten: {{scope}}"),
        ],
    ),
    Panel(
        "What counts in rankings, by domain and part",
        "Learned from choices. A part at its bound, or a jump: who writes selections? `sager weights show`, `freeze`.",
        COUNT,
        [Query(f'max by (domain, part) (sager_weight{{{OF},domain=~"$domain"}})', "{{domain}} {{part}}")],
    ),
    Panel(
        "Length of skills, in characters",
        "The cap is 1,500. The 99th percentile at the cap: lines are evicted.",
        COUNT,
        quantiles("sager_skill_characters", window=WINDOW),
        width=6,
    ),
    Panel(
        "Length of slim skills, in tokens",
        "The cap is SAGER_SLIM_TOKENS. A median of 0: no line is sure enough.",
        COUNT,
        quantiles("sager_slim_tokens", window=WINDOW),
        width=6,
    ),
    Panel(
        "Facets dropped, by reason",
        "Collaborative facets that the quality filter refused. All of them: the graph is too sparse to help.",
        PER_SECOND,
        [Query(rate("sager_facets_dropped_total", "why", of=OF), "{{why}}")],
        width=6,
    ),
    Panel(
        "Rankings repaired and fallen back",
        "Ids that a model left out, invented or repeated, and parts of rankings that were made without the LLM "
        "because it failed.",
        PER_SECOND,
        [
            Query(rate("sager_rank_repairs_total", of=OF), "ids repaired"),
            Query(rate("sager_rank_fallbacks_total", "part", of=OF), "{{part}} fell back"),
        ],
        width=6,
    ),
)

SHADOWED = f'{OF},domain=~"$domain"'


def shadow_hit_rates() -> list[Query]:
    """The share of choices that the live and the shadow skills would have shown among the first 1, 3 and 5."""
    count = rate("sager_shadow_rank_count", "arm", of=SHADOWED)
    hits = {k: rate("sager_shadow_rank_bucket", "arm", of=f'{SHADOWED},le="{k}.0"') for k in AT}
    return [Query(f"{hits[k]} / {count}", f"{{{{arm}}}} H@{k}") for k in AT]


SHADOW = (
    Panel(
        "Shadow arm: hit rates",
        "`live` and `shadow:NAME` on the same choices of the same users with the same ranker: whose skill ranks "
        "chosen items higher. shadow_arms in DuckDB says whether a difference is significant.",
        SHARE,
        shadow_hit_rates(),
        most=1,
    ),
    Panel(
        "Shadow arm: NDCG",
        "Like its hit rates, with more weight for higher ranks.",
        SHARE,
        [
            Query(
                f"{rate('sager_shadow_ndcg_total', 'arm', 'at', of=SHADOWED)} / on (arm) group_left "
                f"{rate('sager_shadow_rank_count', 'arm', of=SHADOWED)}",
                "{{arm}} NDCG@{{at}}",
            )
        ],
        most=1,
    ),
    Panel(
        "Shadow arm: events by outcome",
        "unavailable, busy, stale, failed: the arm did not learn from them, and falls behind the live skills. "
        "Nothing at all: SAGER_SHADOW_SHARE is 0.",
        PER_SECOND,
        [Query(rate("sager_shadow_events_total", "outcome", of=OF), "{{outcome}}")],
    ),
)

QUALITY = Dashboard(
    "sager-quality",
    "sager-streams: Policy quality",
    "Online metrics: what users took from what they were shown. Domain and arm filter choices, not skills.",
    (("Choices", ONLINE), ("Choices", CHOICES), ("Skills", SKILLS), ("Shadow arm", SHADOW)),
    (
        choice("domain", "domain", "label_values(sager_selection_rank_count, domain)"),
        choice("arm", "arm", 'label_values(sager_selection_rank_count{domain=~"$domain"}, arm)'),
        INSTANCE,
        window("1h", "5m", "6h", "1d"),
    ),
)
