"""`sager policy log` and `verify`: a skill's history and its integrity."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, Bootstrap, Domain, User, connected_settings, examples, settings
from streams.cli.output import FAILED, ProgressBars, note, print_json, print_rows, printable
from streams.cli.policy import by_domain, group, snapshot
from streams.views.phrases import actor_of, change_line, change_reason, shift_phrase, statement_words
from streams.views.skills import read_log

if TYPE_CHECKING:
    from schemas import Judgement, SkillDiff, Statement, StatementChange

LAST = 20
_HASH_CHARS = 8
_SIGNS = {"stated": "+", "forgotten": "x", "restored": "<"}


@group.command(epilog=examples("sager policy log ann --last 5", "sager policy log ann --json"))
def log(
    user: User,
    domain: Domain = None,
    last: Annotated[int | None, typer.Option(min=0, help=f"Newest versions; 0: all. [{LAST}; all with --json]")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the history of a user's skill, version by version.

    Read from the newest DuckDB snapshot, some seconds behind. With --json: a list of skill diffs with cost_dollars and
    actor.
    """
    with snapshot() as con:
        diffs = read_log(con, user, domain)
        # As configured at the materializer's last start.
        [prices] = con.execute("SELECT llm_price_prompt, llm_price_completion FROM meta").fetchall()
    priced = settings(llm_price_prompt=prices[0] or 0.0, llm_price_completion=prices[1] or 0.0)

    def cost(diff: "SkillDiff") -> float:
        calls = [by for by in (diff.reasoned_by, diff.slim_by) if by is not None]
        return sum(priced.llm_cost(by.prompt_tokens, by.completion_tokens) for by in calls)

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
    for name, log in shown.items():
        changes = [change for diff in diffs if diff.domain == name for change in diff.stated]
        known = {change.statement_id: change.statement for change in changes if change.statement is not None}
        print(printable(f"{user} · {name}"))
        for diff in log:
            dollars = f"${cost(diff):.6f}" if cost(diff) else ""
            item, event_id = diff.evidence.item_id, str(diff.evidence.event_id)
            head = [f"version {diff.version} · {diff.occurred_at:%Y-%m-%d %H:%M:%S} UTC"]
            head.append(f"{item} ({event_id})" if item else event_id)
            print(printable("\n" + " · ".join(filter(None, (*head, _reasoner(diff), dollars)))))
            for effect, why in effects_of(diff, known):
                print(printable(f"  {effect}" + (f"\n      {why}" if why else "")))
        print()
    if (count := sum(map(len, shown.values()))) < len(diffs):
        note(f"the newest {count} of {len(diffs)} versions; --last 0 prints all")


@group.command(epilog=examples("sager policy verify ann", "sager policy verify --json"))
def verify(
    user: Annotated[str | None, typer.Argument(help="The user. [default: all users]", metavar="[USER]")] = None,
    domain: Domain = None,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Verify that no record was edited or removed.

    Checks the seal of each record, and folds the log of each skill and card. SAGER_CHAIN_KEY must be the workers' key.
    Workers may keep running. DuckDB is not read: `sager rebuild --duckdb` replaces a suspect file. Exit code 1: a
    record was changed.
    """
    from streams.rights import verify as verifying  # noqa: PLC0415

    chosen = connected_settings(bootstrap)
    with ProgressBars() as progress:
        done = verifying.verify(chosen, user, domain, progress.update)
    findings = [vars(each) for each in done.findings]
    if as_json:
        print_json({"fine": not done.found, **vars(done), "findings": findings})
    else:
        print_rows(findings)
        print(
            f"{done.skills:,} skills of {done.users:,} users, {done.versions:,} versions, {done.receipts:,} receipts "
            f"verified; {done.cards:,} cards, {done.forgotten:,} forgotten"
        )
        print(f"{done.found:,} findings" if done.found else "no record was edited or removed")
        if chosen.chain_key is None:
            note("SAGER_CHAIN_KEY is not set: without a key, any writer of the topics can forge seals")
        if done.users and len({each.user_id for each in done.findings if each.kind == "log-forged"}) == done.users:
            note("no log has a valid seal: is SAGER_CHAIN_KEY the key of the workers that wrote them?")
        if any(each.kind.startswith("slim-") for each in done.findings):
            note(
                "apps use a forged slim skill until its key gets a tombstone: stop the workers and run "
                "`sager rebuild --apply`, which writes the tombstone and then the correct slim skill"
            )
    if done.found:
        raise typer.Exit(FAILED)


def verdict_of(judgement: "Judgement") -> str:
    """Return a verdict with its fact, such as `supports, by genre: noir`."""
    if judgement.quoted is not None:
        return f"{judgement.verdict}, by {judgement.quoted.dimension}: {judgement.quoted.value}"
    return str(judgement.verdict) if judgement.verdict.value == "unrelated" else f"{judgement.verdict}, by no fact"


def effects_of(diff: "SkillDiff", known: "Mapping[str, Statement]") -> list[tuple[str, str]]:
    """Return a version's effects with reasons; `known`: the log's statements."""
    effects = [] if diff.seed is None else [(f"started with {len(diff.seed)} lines", "the prior")]
    effects += describe_feedback(diff)
    for each in diff.stated:
        words = each.statement.words if each.statement is not None else ""
        effects.append((statement_change(each, known), each.reason or (f"“{words}”" if words else "")))
    if diff.shifted:
        effects.append((f"their taste {shift_phrase(diff)}", "earlier statements are doubtful"))
    verdicts = {each.attribute_id: each for each in diff.judged}
    for change in diff.changes:
        judged = verdicts.pop(change.attribute_id, None)
        model = f"the model: {verdict_of(judged)}" if judged is not None else ""
        effects.append((change_line(change), " · ".join(filter(None, (change_reason(change), model)))))
    if diff.session is not None:
        effects.append((f"session {diff.session.session_id}, events: {diff.session.events}", ""))
    if diff.frozen is not None:
        effects.append(("frozen" if diff.frozen else "learning resumed", ""))
    if diff.rolled_back_to is not None:
        effects.append((f"restored version {diff.rolled_back_to}", ""))
    if diff.refused:
        effects.append((f"refused {len(diff.refused)}: {', '.join(sorted({r.why.value for r in diff.refused}))}", ""))
    effects = effects or [("no line changes", "")]
    if diff.analysis:
        effects.append(("analysis", diff.analysis))
    return effects + [(f"? {name}", verdict_of(each)) for name, each in verdicts.items()]


def _reasoner(diff: "SkillDiff") -> str:
    by = diff.reasoned_by
    tokens = f", {by.prompt_tokens} + {by.completion_tokens} tokens" if by.prompt_tokens else ""
    prompt = f", {by.prompt or 'prompt'} #{by.prompt_hash[:_HASH_CHARS]}" if by.prompt_hash else ""
    fallback = f" as a fallback, because of {by.fallback}" if by.fallback else ""
    return f"{by.model or by.reasoner}{prompt}{tokens}{fallback}"


def statement_change(change: "StatementChange", known: "Mapping[str, Statement]") -> str:
    """Format one change of a statement."""
    kind, statement = change.kind.value, change.statement or known.get(change.statement_id)
    words = change.statement_id if statement is None else f"{statement_words(statement)} [{change.statement_id}]"
    sign = _SIGNS.get(kind, "-")
    if kind != "stated":
        return f"{sign} {words}, {kind}"
    times = f", stated {statement.times} times" if statement is not None and statement.times > 1 else ""
    scope = "" if statement is None or statement.scope.value == "always" else f", scope: {statement.scope.value}"
    return f"{sign} {words}{scope}{times}"


def describe_feedback(diff: "SkillDiff") -> list[tuple[str, str]]:
    """Describe the signal, abstention or correction behind a version, and its result."""
    event = diff.trigger
    if event is None:
        return []
    if event.what == "abstention":
        return [("nothing was taken", "no item fitted; that does not count against any of them")]
    if event.what != "correction":
        value = "" if event.value is None else f" {event.value:g}"
        unknown = "" if event.understood else "unknown kind of signal: changes nothing"
        return [(f"signal {event.what}{value}", unknown)]
    words = f"“{event.words}”" if event.words else "a form"
    if event.understood:
        return [(f"stated {words}", f"read by {event.by_pattern}" if event.by_pattern else "")]
    return [(f"stated {words}", f"not understood: changes nothing. {event.explanation}".rstrip())]
