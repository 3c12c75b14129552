"""`sager policy log` and `sager policy diff`: how a skill came about, and what differs between two of its versions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.options import AsJson, Domain, User, examples, settings
from streams.cli.output import console, note, print_json, printable, row, table
from streams.cli.policy.reading import by_domain, snapshot
from streams.cli.policy.said import all_said, changed, heard
from streams.rights.changes import actor_of, change_of, shift_phrase
from streams.rights.reading import NoSuchVersion, logged

if TYPE_CHECKING:
    from rich.console import Console

    from operators.history import Difference
    from schemas import Attribute, Change, Judgement, SkillDiff, Statement

LAST = 20
_HASH_CHARS = 8
InDomain = Annotated[str, typer.Option("--domain", help="The domain of the skill, such as films.", metavar="DOMAIN")]
Version = Annotated[int, typer.Argument(min=0, help="A version; 0: the seed.")]


def register(group: typer.Typer) -> None:
    """Add the verbs."""
    group.command(
        "log", epilog=examples("sager policy log ann --last 5", "sager policy log ann --domain films --json")
    )(log)
    group.command("diff", epilog=examples("sager policy diff ann 3 7 --domain films"))(diff)


def log(
    user: User,
    domain: Domain = None,
    last: Annotated[
        int | None, typer.Option(min=0, help=f"Only the newest versions; 0: all. [default: {LAST}; all with --json]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the history of a user's skill, version by version.

    Each version shows what was heard (a signal, or the person's words and whether they were understood) and what its
    event changed, on which evidence and by which reasoner. Versions made by LLM calls
    show their cost, at the materializer's prices, the model's analysis, and its verdict on each line that it was
    asked about; versions made by a command show its actor. Read from the newest
    DuckDB snapshot, so it is some seconds behind. With --json: a list of skill diffs, each with cost_dollars and
    actor.
    """
    from streams.materializer import read  # noqa: PLC0415

    with snapshot() as con:
        diffs = logged(con, user, domain)
        prompt, completion = read.prices(con)
    priced = settings(llm_price_prompt=prompt, llm_price_completion=completion)
    costs: dict[tuple[str, int], float] = {
        (d.domain, d.version): priced.llm_cost(d.reasoned_by.prompt_tokens, d.reasoned_by.completion_tokens)
        for d in diffs
    }
    most = last if last is not None else 0 if as_json else LAST
    shown = [each for of_one in by_domain(diffs).values() for each in of_one[-most:]]
    if as_json:
        print_json(
            [
                {**d.model_dump(mode="json"), "cost_dollars": costs[d.domain, d.version], "actor": actor_of(d)}
                for d in shown
            ]
        )
        return
    out = console()
    known = {name: all_said(each) for name, each in by_domain(diffs).items()}
    for name, each in by_domain(shown).items():
        _show_log(out, each, costs, known[name])
    if len(shown) < len(diffs):
        note(f"the newest {len(shown)} of {len(diffs)} versions; --last 0 prints all")


def diff(user: User, first: Version, second: Version, domain: InDomain, as_json: AsJson = False) -> None:
    """Compare two versions of a skill, line by line.

    Read from the newest DuckDB snapshot, so it is some seconds behind.
    """
    from operators.history import at_version, difference  # noqa: PLC0415

    with snapshot() as con:
        diffs = logged(con, user, domain)
    found = []
    for version in (first, second):
        skill = at_version(diffs, version)
        if skill is None:
            raise NoSuchVersion(
                f"{user!r} has no version {version} in {domain!r}: the newest is {diffs[-1].version}. "
                f"`sager policy log {user}` has them all"
            )
        found.append(skill)
    told = difference(*found)
    if as_json:
        print_json(_as_json(told))
    else:
        _show_difference(told, f"{user} · {domain} · version {first} to {second}")


def verdict_of(said: "Judgement") -> str:
    """A model's verdict with what it quoted, such as `supports, by genre: noir`."""
    if said.quoted is not None:
        return f"{said.verdict}, by {said.quoted.dimension}: {said.quoted.value}"
    return str(said.verdict) if said.verdict.value == "unrelated" else f"{said.verdict}, by no fact"


def _show_log(
    out: "Console",
    diffs: "Sequence[SkillDiff]",
    costs: dict[tuple[str, int], float],
    known: "Mapping[str, Statement]",
) -> None:
    """A block per version: nothing stands in a column that is narrower than an id."""
    first = diffs[0]
    out.print(printable(f"{first.user_id} · {first.domain}"), style="bold", markup=False)
    for each in diffs:
        head = f"version {each.version} · {each.occurred_at:%Y-%m-%d %H:%M:%S} UTC"
        tail = [_evidence(each), _reasoner(each), _cost(each, costs)]
        _print_block(out, " · ".join(filter(None, (head, *tail))), _said(each, known))
    out.print()


def _print_block(out: "Console", head: str, said: Sequence[tuple[str, str]]) -> None:
    print()
    print("\n".join(_wrapped(printable(head), out.width, "", "    ")))
    widest = max(len(what) for what, _ in said)
    for what, why in said:
        line = f"  {printable(what):<{widest}}  {printable(why)}".rstrip()
        if len(line) <= out.width:
            print(line)
        else:
            print("\n".join(_wrapped(printable(what), out.width, "  ", "    ")))
            if why:
                print("\n".join(_wrapped(printable(why), out.width, "      ", "      ")))


def _wrapped(text: str, width: int, first: str, others: str) -> list[str]:
    """Lines broken between words only: an id stays whole, so that it can be copied."""
    from textwrap import wrap  # noqa: PLC0415

    return wrap(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def _said(diff: "SkillDiff", known: "Mapping[str, Statement]") -> list[tuple[str, str]]:
    """What a version did and why, line by line; `known`: the statements that the log names."""
    said = [] if diff.seed is None else [(f"started with {len(diff.seed)} lines", "the prior")]
    said += heard(diff)
    for each in diff.stated:
        words = each.statement.words if each.statement is not None else ""
        said.append((changed(each, known), each.reason or (f"“{words}”" if words else "")))
    if diff.shifted:
        said.append((f"their taste {shift_phrase(diff)}", "earlier statements are doubtful"))
    verdicts = {each.attribute_id: verdict_of(each) for each in diff.judged}
    for change in diff.changes:
        model = verdicts.get(change.attribute_id)
        why = change.reason or _added(diff, change)
        said.append((change_of(change), " · ".join(filter(None, (why, model and f"the model: {model}")))))
    if diff.session is not None:
        events = "event" if diff.session.events == 1 else "events"
        said.append((f"session {diff.session.session_id}", f"{diff.session.events} {events}"))
    if diff.frozen is not None:
        said.append(("frozen" if diff.frozen else "learns again", ""))
    if diff.rolled_back_to is not None:
        said.append((f"back at version {diff.rolled_back_to}", ""))
    if diff.refused:
        said.append((f"refused {len(diff.refused)}: {', '.join(sorted({r.why.value for r in diff.refused}))}", ""))
    return (said or [("no change", "")]) + _thought(diff)


def _thought(diff: "SkillDiff") -> list[tuple[str, str]]:
    """What a model thought of the choice, as far as no change tells it: its analysis, and verdicts without effect."""
    changed = {change.attribute_id for change in diff.changes}
    said = [("analysis", diff.analysis)] if diff.analysis else []
    left = [each for each in diff.judged if each.attribute_id not in changed]
    said += [(f"? {each.attribute_id}", verdict_of(each)) for each in left if each.verdict.value != "unrelated"]
    unrelated = [each.attribute_id for each in left if each.verdict.value == "unrelated"]
    return said + ([(f"unrelated {len(unrelated)}", ", ".join(unrelated))] if unrelated else [])


def _added(diff: "SkillDiff", change: "Change") -> str:
    """What a change that left the tier added to the line's counts."""
    from operators.evidence import number_of  # noqa: PLC0415

    counts = diff.tally.lines.get(change.attribute_id) if diff.tally and change.kind == "reinforced" else None
    return f"taken {number_of(counts[0])} where {number_of(counts[1])} was to be expected" if counts else ""


def _evidence(diff: "SkillDiff") -> str:
    item = diff.evidence.item_id
    return f"{item} ({diff.evidence.event_id})" if item else str(diff.evidence.event_id)


def _reasoner(diff: "SkillDiff") -> str:
    by = diff.reasoned_by
    tokens = f", {by.prompt_tokens} + {by.completion_tokens} tokens" if by.prompt_tokens else ""
    prompt = f", {by.prompt or 'prompt'} #{by.prompt_hash[:_HASH_CHARS]}" if by.prompt_hash else ""
    fallback = f" instead, because {by.fallback}" if by.fallback else ""
    return f"{by.model or by.reasoner}{prompt}{tokens}{fallback}"


def _cost(diff: "SkillDiff", costs: dict[tuple[str, int], float]) -> str:
    dollars = costs[diff.domain, diff.version]
    return f"${dollars:.6f}" if dollars else ""


def _show_difference(told: "Difference", title: str) -> None:
    from operators.history import changes_of  # noqa: PLC0415

    made = table("", "line", "what", title=printable(title), whole=("line",))
    for line in told.added:
        row(made, ["+", line.attribute_id, _state(line)])
    for line in told.gone:
        row(made, ["-", line.attribute_id, _state(line)])
    for old, new in told.changed:
        said = (f"{name} {was} → {now}" for name, (was, now) in changes_of(old, new).items())
        row(made, ["~", new.attribute_id, ", ".join(said)])
    console().print(made if made.row_count else "the lines are the same")


def _state(line: "Attribute") -> str:
    pinned = ", pinned" if line.pinned else ""
    return f"{line.value} ({line.dimension}, {line.tier}, support {line.support}{pinned})"


def _as_json(told: "Difference") -> dict[str, Any]:
    from operators.history import changes_of  # noqa: PLC0415

    def plain(value: object) -> object:
        return value if isinstance(value, bool | int) and not hasattr(value, "name") else str(value)

    return {
        "added": [line.model_dump(mode="json") for line in told.added],
        "gone": [line.model_dump(mode="json") for line in told.gone],
        "changed": [
            {
                "attribute_id": new.attribute_id,
                **{name: [plain(was), plain(now)] for name, (was, now) in changes_of(old, new).items()},
            }
            for old, new in told.changed
        ],
    }
