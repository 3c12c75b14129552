"""The report: Tables 2 to 5 and Figures 3 to 7, beside the printed figures (arXiv 2604.14972v2)."""

from collections.abc import Iterator, Mapping, Sequence

from evaluation.measures import Difference, averages
from evaluation.paper.arms import FULL, SLIM_TOKENS, TAUS, WITHOUT_SKILL, Measured

# The paper's data sets by a word in the names of folders.
SETS = {"goodreads": "GoodReads", "books": "Books", "yelp": "Yelp", "movietv": "MovieTV"}
ALL = ("hit_at_1", "hit_at_3", "ndcg_at_3", "hit_at_5", "ndcg_at_5")
HITS, OF_HOSTS = ("hit_at_1", "hit_at_3", "hit_at_5"), ("hit_at_1", "hit_at_3", "ndcg_at_5")
# The paper's models that an arm stands for; the others need training or parts that are not here.
STANDS_FOR = {
    "Vanilla LLM": "vanilla",
    "iAgent": "static-profile",
    "i2Agent": "dynamic-profile",
    "MemRec": WITHOUT_SKILL,
    "Sager": FULL,
}
# Each row: H@1, H@3, N@3, H@5, N@5 of GoodReads and Books (Table 2), then of Yelp and MovieTV (Table 3).
_MAIN = """\
LightGCN 2499 5879 4432 7903 5263 1753 3259 2596 5703 3592 3444 5658 4720 7546 5494 3482 5643 4738 6883 5241
SASRec 1324 3518 2576 5407 3349 0914 2830 2001 4845 2824 2305 4312 3458 5597 3980 3399 5233 4470 6382 4942
P5 1569 3229 2509 5060 3256 2192 3607 2994 5273 3671 1444 3207 2435 5220 4785 1696 3206 2554 5008 3290
Vanilla_LLM 2864 4662 3948 7390 5041 3138 5617 4533 7270 5226 1692 5275 3696 6861 4360 4050 7764 6098 8603 6445
iAgent 2617 4949 3954 6591 4626 3925 5560 4858 6905 5409 3995 6005 5148 7300 5681 4253 6170 5361 7420 5871
RecBot 2705 4754 3876 6495 4589 3984 5491 4846 6786 5376 4007 6003 5156 7169 5636 4367 6113 5375 7309 5866
AgentCF 2951 5910 4654 7726 5399 3457 6060 4960 7403 5512 1925 4374 3326 6374 4147 3906 6693 5523 7864 6006
i2Agent 3099 6079 4825 7675 5481 4453 6517 5649 7708 6138 4205 6454 5517 7648 6007 4912 7225 6262 8221 6672
MemRec 3997 6658 5540 8052 6112 5117 6915 6152 8007 6601 4868 6912 6053 7908 6463 5882 7819 7011 8817 7422
Sager 4593 7001 5989 8273 6512 5215 7046 6261 8101 6694 5227 7220 6388 8142 6766 6284 8318 7467 9092 7786"""
# Each row: H@1, H@3, H@5 of GoodReads, Yelp, MovieTV and Books (Tables 4 and 5).
_ABLATION = """\
full 459 700 827 523 722 814 628 832 909 521 705 810
without-skill 399 666 805 486 691 791 588 782 882 511 692 801
without-statinit 441 685 817 506 710 804 609 818 899 517 699 806
without-listwise 427 673 812 494 703 798 600 811 895 512 696 804
without-cot 430 678 815 502 707 800 608 819 901 514 697 805"""
_REPLACEMENT = """\
full 459 700 827 523 722 814 628 832 909 521 705 810
full-replacement 435 689 820 507 713 807 613 824 904 518 700 807
statinit-only 430 678 815 502 707 800 608 819 901 514 697 805
without-skill 400 666 805 487 691 791 588 782 882 511 692 801"""

Printed = Mapping[tuple[str, str, str], str]


def printed(text: str, sets: Sequence[str], measures: Sequence[str]) -> Printed:
    """The printed figures by row, data set and measure."""
    columns = [(each, measure) for each in sets for measure in measures]
    found = {}
    for row in text.splitlines():
        name, *figures = row.split()
        for column, figure in zip(columns, figures, strict=True):
            found[name.replace("_", " "), *column] = f".{figure}"
    return found


MAIN = printed(_MAIN, ("GoodReads", "Books", "Yelp", "MovieTV"), ALL)
ABLATION, REPLACEMENT = (
    printed(text, ("GoodReads", "Yelp", "MovieTV", "Books"), HITS) for text in (_ABLATION, _REPLACEMENT)
)


def of_paper(data: str) -> str:
    """The paper's name of a data set, or the folder's."""
    return next((name for word, name in SETS.items() if word in data.casefold()), data)


def report(measured: Sequence[Measured], seed: int, candidates: str) -> str:
    """The whole report as Markdown; a cell has the figure here, and the printed one in brackets."""
    return "\n".join(_lines(measured, seed, candidates)) + "\n"


def _lines(measured: Sequence[Measured], seed: int, candidates: str) -> Iterator[str]:
    yield from ("# The paper's experiments", "")
    yield from (f"- {_described(each, seed, candidates)}" for each in measured)
    yield (
        "- A cell is the figure here and the paper's in brackets; `-` was not run here. The paper's lists have user "
        "instructions, its model is gpt-4o-mini, and its samples of these sets differ."
    )
    names = list(dict.fromkeys(name for name, _, _ in MAIN))
    rows = {name: STANDS_FOR.get(name, "") for name in names}
    for number, sets in ((2, ("GoodReads", "Books")), (3, ("Yelp", "MovieTV"))):
        here = [each for each in measured if of_paper(each.data) in sets]
        yield from _table(f"Table {number}: main results", rows, here, ALL, MAIN)
    other = [each for each in measured if of_paper(each.data) not in SETS.values()]
    yield from _table("Main results on other sets", rows, other, ALL, {})
    for number, (paper, host) in enumerate(list(STANDS_FOR.items())[1:3] + list(STANDS_FOR.items())[:1], 3):
        rows = {host: host, f"{host}+skill": f"{host}+skill"}
        yield from _table(f"Figure {number}: {paper} with and without a skill", rows, measured, OF_HOSTS, {}, host)
    rows = {name: name for name in dict.fromkeys(name for name, _, _ in ABLATION)}
    yield from _table("Table 4: one part removed", rows, measured, HITS, ABLATION, FULL)
    rows = {name: name for name in dict.fromkeys(name for name, _, _ in REPLACEMENT)}
    yield from _table("Table 5: incremental or full replacement", rows, measured, HITS, REPLACEMENT, FULL)
    rows = {f"tau {tau}": f"tau-{tau}" for tau in TAUS}
    yield from _table("Figure 6: rounds of warm-up", rows, measured, HITS, {}, f"tau-{TAUS[0]}")
    yield from ("", "Printed: tau 1 over 0 gains 4.6 % (Yelp), 2.0 % (MovieTV), 4.4 % (Books); 2 is best; 3 regresses.")
    rows = {f"{tokens} tokens": f"slim-{tokens}" for tokens in SLIM_TOKENS}
    rows |= {"no injection": WITHOUT_SKILL, "all lines": "all-lines"}
    yield from _table("Figure 7: length of the slim skill", rows, measured, HITS, {}, "slim-30")
    yield from ("", "Printed: 30 tokens are best on Yelp and MovieTV, and from 150 on H@1 declines; no figures.")


def _described(each: Measured, seed: int, candidates: str) -> str:
    users = max((len(result.places) for result in each.results.values()), default=0)
    calls = sum((result.cost for result in each.results.values()), each.memory)
    facets = "" if each.facets_by_model else "; facets by the template"
    by = f"the model {each.model} ({calls}{facets})" if each.model else "**rules alone, no model**"
    left = f"; not run without a model: {', '.join(each.left_out)}" if each.left_out and not each.model else ""
    return f"{each.data}: {users} users, {candidates} negatives, seed {seed}, by {by}{left}."


def _table(
    title: str,
    rows: Mapping[str, str],
    measured: Sequence[Measured],
    measures: Sequence[str],
    figures: Printed,
    base: str | None = None,
) -> Iterator[str]:
    """One table; with a `base` each data set has a column of paired differences in H@1."""
    if not any(arm in each.results for each in measured for arm in rows.values()):
        return
    short = [measure.replace("hit_at_", "H@").replace("ndcg_at_", "N@") for measure in measures]
    yield from ("", f"## {title}", "")
    heads = []
    for each in measured:
        heads += [f"{of_paper(each.data)} {name}" for name in short]
        heads += [f"H@1 less {base}"] if base else []
    yield f"| | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(heads)}"
    for name, arm in rows.items():
        cells: list[str] = []
        for each in measured:
            result = each.results.get(arm)
            values = averages(list(result.places.values())) if result else {}
            for measure in measures:
                mine = f"{values[measure]:.3f}".lstrip("0") if values else "-"
                theirs = figures.get((name, of_paper(each.data), measure))
                cells.append(f"{mine} ({theirs})" if theirs else mine)
            if base:
                other = each.results.get(base)
                cells.append(str(result.minus(other)) if result and other and arm != base else "")
        yield f"| {name} | {' | '.join(cells)} |"


def rows_of(measured: Measured) -> list[dict[str, object]]:
    """One object per arm, with the paired difference to `full` in H@1, ready for JSON."""
    full = measured.results.get(FULL)
    return [
        {**result.as_json(), "by": measured.model or "rules", "less_full": full and _less(result.minus(full))}
        for result in measured.results.values()
    ]


def _less(difference: Difference | None) -> dict[str, object] | None:
    return None if difference is None else difference.as_json()
