"""`sager policy log` and `diff`: how a skill came about."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.options import AsJson, Domain, User, examples, settings
from streams.cli.output import console, note, print_json, printable, row, table
from streams.cli.policy.common import LAST, InDomain, Last, by_domain, snapshot
from streams.cli.policy.wording import all_said, changed, heard
from streams.rights.reading import NoSuchVersion, logged
from streams.rights.sentences import actor_of, change_of, shift_phrase

if TYPE_CHECKING:
    from operators.history import Difference
    from schemas import Attribute, Judgement, PolicySkill, SkillDiff, Statement

_HASH_CHARS = 8
Version = Annotated[int, typer.Argument(min=0, help="A version; 0: the seed.")]


def register(group: typer.Typer) -> None:
    """Add the verbs."""
    group.command(
        "log", epilog=examples("sager policy log ann --last 5", "sager policy log ann --domain films --json")
    )(log)
    group.command("diff", epilog=examples("sager policy diff ann 3 7 --domain films"))(diff)


def log(user: User, domain: Domain = None, last: Last = None, as_json: AsJson = False) -> None:
    """Print the history of a user's skill, version by version.

    Each version shows its event and the changes, with evidence, reasoner, actor, and the cost, analysis and verdicts of
    a model. Read from the newest DuckDB snapshot, some seconds behind. With --json: a list of skill diffs, each with
    cost_dollars and actor.
    """
    from streams.materializer import read  # noqa: PLC0415

    with snapshot() as con:
        diffs = logged(con, user, domain)
        prompt_price, completion_price = read.prices(con)
    priced = settings(llm_price_prompt=prompt_price, llm_price_completion=completion_price)

    def cost(diff: "SkillDiff") -> float:
        return priced.llm_cost(diff.reasoned_by.prompt_tokens, diff.reasoned_by.completion_tokens)

    most = last if last is not None else 0 if as_json else LAST
    shown = {name: log[-most:] for name, log in by_domain(diffs).items()}
    if as_json:
        print_json(
            [
                {**diff.model_dump(mode="json"), "cost_dollars": cost(diff), "actor": actor_of(diff)}
                for log in shown.values()
                for diff in log
            ]
        )
        return
    out = console()
    for name, log in shown.items():
        known = all_said(diff for diff in diffs if diff.domain == name)
        out.print(printable(f"{user} · {name}"), style="bold", markup=False)
        for diff in log:
            dollars = f"${cost(diff):.6f}" if cost(diff) else ""
            head = [f"version {diff.version} · {diff.occurred_at:%Y-%m-%d %H:%M:%S} UTC", _evidence(diff)]
            _print_block(out.width, " · ".join(filter(None, (*head, _reasoner(diff), dollars))), _said(diff, known))
        out.print()
    if (count := sum(map(len, shown.values()))) < len(diffs):
        note(f"the newest {count} of {len(diffs)} versions; --last 0 prints all")


def diff(user: User, first: Version, second: Version, domain: InDomain, as_json: AsJson = False) -> None:
    """Compare two versions of a skill, line by line.

    Read from the newest DuckDB snapshot, so it is some seconds behind.
    """
    from operators.history import changes_of, difference  # noqa: PLC0415

    with snapshot() as con:
        diffs = logged(con, user, domain)
    found = difference(_at(diffs, first), _at(diffs, second))
    changes = [(new.attribute_id, changes_of(old, new)) for old, new in found.changed]
    if as_json:
        print_json(_difference_as_json(found, changes))
        return
    made = table("", "line", "what", title=printable(f"{user} · {domain} · version {first} to {second}"))
    for sign, lines in (("+", found.added), ("-", found.gone)):
        for line in lines:
            row(made, [sign, line.attribute_id, _state(line)])
    for attribute_id, changed_ in changes:
        row(made, ["~", attribute_id, ", ".join(f"{name} {was} → {now}" for name, (was, now) in changed_.items())])
    console().print(made if made.row_count else "the lines are the same")


def verdict_of(said: "Judgement") -> str:
    """Return a model's verdict with its quotation, such as `supports, by genre: noir`."""
    if said.quoted is not None:
        return f"{said.verdict}, by {said.quoted.dimension}: {said.quoted.value}"
    return str(said.verdict) if said.verdict.value == "unrelated" else f"{said.verdict}, by no fact"


def _at(diffs: "Sequence[SkillDiff]", version: int) -> "PolicySkill":
    from operators.history import at_version  # noqa: PLC0415

    skill = at_version(diffs, version)
    if skill is None:
        raise _no_such_version(diffs, version)
    return skill


def _no_such_version(diffs: "Sequence[SkillDiff]", version: int) -> NoSuchVersion:
    newest = diffs[-1]
    return NoSuchVersion(
        f"{newest.user_id!r} has no version {version} in {newest.domain!r}: the newest is {newest.version}. "
        f"`sager policy log {newest.user_id}` has them all"
    )


def _print_block(width: int, head: str, said: Sequence[tuple[str, str]]) -> None:
    """Print a version. Its lines break between words only: an id stays whole, so that it can be copied."""
    from textwrap import TextWrapper  # noqa: PLC0415

    def wrapped(text: str, first: str, others: str) -> str:
        wrapper = TextWrapper(width, first, others, break_long_words=False, break_on_hyphens=False)
        return wrapper.fill(printable(text))

    print("\n" + wrapped(head, "", "    "))
    widest = max(len(what) for what, _ in said)
    for what, why in said:
        line = f"  {printable(what):<{widest}}  {printable(why)}".rstrip()
        if len(line) <= width:
            print(line)
        else:
            print(wrapped(what, "  ", "    "))
            if why:
                print(wrapped(why, "      ", "      "))


def _said(diff: "SkillDiff", known: "Mapping[str, Statement]") -> list[tuple[str, str]]:
    """Return the effects of a version, each with its reason; `known`: the statements that the log names."""
    said = [] if diff.seed is None else [(f"started with {len(diff.seed)} lines", "the prior")]
    said += heard(diff)
    for each in diff.stated:
        words = each.statement.words if each.statement is not None else ""
        said.append((changed(each, known), each.reason or (f"“{words}”" if words else "")))
    if diff.shifted:
        said.append((f"their taste {shift_phrase(diff)}", "earlier statements are doubtful"))
    verdicts = {each.attribute_id: each for each in diff.judged}
    for change in diff.changes:
        judged = verdicts.get(change.attribute_id)
        why = change.reason or _added(diff, change.attribute_id, change.kind.value)
        model = f"the model: {verdict_of(judged)}" if judged is not None else ""
        said.append((change_of(change), " · ".join(filter(None, (why, model)))))
    if diff.session is not None:
        events = "event" if diff.session.events == 1 else "events"
        said.append((f"session {diff.session.session_id}", f"{diff.session.events} {events}"))
    if diff.frozen is not None:
        said.append(("frozen" if diff.frozen else "learns again", ""))
    if diff.rolled_back_to is not None:
        said.append((f"back at version {diff.rolled_back_to}", ""))
    if diff.refused:
        said.append((f"refused {len(diff.refused)}: {', '.join(sorted({r.why.value for r in diff.refused}))}", ""))
    said = said or [("no change", "")]
    if diff.analysis:
        said.append(("analysis", diff.analysis))
    for change in diff.changes:
        verdicts.pop(change.attribute_id, None)
    unrelated = [name for name, each in verdicts.items() if each.verdict.value == "unrelated"]
    said += [(f"? {name}", verdict_of(each)) for name, each in verdicts.items() if name not in unrelated]
    return said + ([(f"unrelated {len(unrelated)}", ", ".join(unrelated))] if unrelated else [])


def _added(diff: "SkillDiff", attribute_id: str, kind: str) -> str:
    """Return what a reinforcement added to the line's counts."""
    from operators.evidence import number_of  # noqa: PLC0415

    counts = diff.tally.lines.get(attribute_id) if diff.tally and kind == "reinforced" else None
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


def _state(line: "Attribute") -> str:
    pinned = ", pinned" if line.pinned else ""
    return f"{line.value} ({line.dimension}, {line.tier}, support {line.support}{pinned})"


def _difference_as_json(found: "Difference", changes: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    def plain(value: object) -> object:
        return value if type(value) in (bool, int) else str(value)

    return {
        "added": [line.model_dump(mode="json") for line in found.added],
        "gone": [line.model_dump(mode="json") for line in found.gone],
        "changed": [
            {"attribute_id": name, **{each: [plain(was), plain(now)] for each, (was, now) in changed_.items()}}
            for name, changed_ in changes
        ],
    }
