"""`sager weights`: how much each part counts in the domains' rankings, as learned from choices."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, Domain, examples, reachable, settings
from streams.cli.output import console, note, print_json, row, table
from streams.cli.policy.confirm import Yes, confirm
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import Weights
    from streams.operations.weights import Held
    from streams.settings import Settings

WAIT_SECONDS = 30.0
Actor = Annotated[str | None, typer.Option(help="The actor; by default the signed-in user.", metavar="NAME")]
Reason = Annotated[str, typer.Option(help="The reason, for readers of the topic.", metavar="TEXT")]
Wait = Annotated[float, typer.Option(help="Seconds to wait for a worker; 0: do not.", min=0.0, metavar="SECONDS")]

group = typer.Typer(
    no_args_is_help=True,
    help="How much each part counts in a domain's rankings, as learned.",
    epilog=examples("sager weights show", "sager weights freeze --domain films", "sager weights reset --domain films"),
)


class NoWeights(StreamsError, LookupError):
    """No domain has learned weights, or not this one."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, name="weights")


@group.command(epilog=examples("sager weights show", "sager weights show --domain films --json"))
def show(domain: Domain = None, as_json: AsJson = False, bootstrap: Bootstrap = None) -> None:
    """Print the weights of every domain that has learned, next to their start values, as they are in Kafka.

    The skill counts as the sum of its lines, each by its dimension; companions, popularity and facets count in standard
    deviations of the list. Dimensions without a choice have their start value and are not listed.
    """
    held = _held(reachable(settings(bootstrap=bootstrap)), domain)
    if as_json:
        print_json([_as_json(each) for each in held.values()])
        return
    if not held:
        print("no domain has learned anything yet: rankings use the start values")
    for each in held.values():
        weights = each.weights
        state = "frozen" if weights.frozen else "learning"
        made = table("part", "counts", "±", "start", title=f"{weights.domain}: how much each part counts, {state}")
        made.caption = f"version {weights.version}, from {weights.choices:,} choices"
        named = [*each.mix.items(), *((f"  a line on {name}", told) for name, told in each.dimensions.items())]
        for name, told in named:
            row(made, [name, f"{told.now:.2f}", f"{told.spread:.2f}", f"{told.start:.2f}"])
        console().print(made)
        if each.seal.value != "right":
            note(f"the seal of these weights is {each.seal.value}: workers use the start values instead")


def _register(action: str, short_help: str, text: str) -> None:
    """Add the command that sends this action to workers."""

    def command(
        domain: Domain = None,
        yes: Yes = False,
        actor: Actor = None,
        reason: Reason = "",
        wait: Wait = WAIT_SECONDS,
        as_json: AsJson = False,
        bootstrap: Bootstrap = None,
    ) -> None:
        _send(action, domain, {"actor": actor, "reason": reason}, wait, as_json, bootstrap, yes=yes)

    epilog = examples(f"sager weights {action} --domain films", f"sager weights {action} --reason 'an experiment runs'")
    group.command(action, help=text, short_help=short_help, epilog=epilog)(command)


_register(
    "freeze", "Stop learning from choices.", "Keep the weights of a domain, or of all that have learned, as they are."
)
_register(
    "unfreeze",
    "Learn from choices again.",
    "Let choices move the weights again. The choices made meanwhile teach nothing.",
)
_register(
    "reset",
    "Go back to the start values.",
    "Take the weights of a domain, or of all that have learned, back to the start values; frozen ones stay frozen. "
    "Asks first; scripts confirm with --yes. The learned values are gone.",
)


def _send(
    action: str,
    domain: str | None,
    by: dict[str, str | None],
    wait: float,
    as_json: bool,
    bootstrap: str | None,
    *,
    yes: bool,
) -> None:
    """Send a command about each domain, wait for its result and print it."""
    from datetime import UTC, datetime  # noqa: PLC0415

    from schemas import WeightAction, WeightCommand  # noqa: PLC0415
    from streams.cli.policy.common import signed_in  # noqa: PLC0415
    from streams.kafka.events import envelope  # noqa: PLC0415
    from streams.rights.commander import Commander  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    held = _held(chosen, None)
    domains = [domain] if domain is not None else list(held)
    if not domains:
        raise NoWeights("no domain has learned anything yet; --domain names one all the same")
    if action == "reset":
        learned = sum(each.weights.choices for name, each in held.items() if name in domains)
        confirm(f"forget what {learned:,} choices have taught {', '.join(domains)}?", yes=yes)
    found: list[Weights] = []
    for name in domains:
        sender: Any = {**by, "actor": by["actor"] or signed_in()}
        command = WeightCommand(**envelope(datetime.now(UTC)), domain=name, action=WeightAction(action), **sender)
        with Commander(chosen, name) as commander:
            weights = commander.weigh(command, wait)
        if weights is not None:
            found.append(weights)
            continue
        late = f"no worker of {chosen.app_id} has applied it within {wait:g} s. It is kept and will be"
        note(f"{name}: sent as {command.event_id}; {late if wait else 'not waited for'}")
    if as_json:
        print_json([_told(weights) for weights in found])
    else:
        for weights in found:
            state = "frozen" if weights.frozen else "learning"
            print(f"{weights.domain}: {action} done; {state}, version {weights.version}, {weights.choices:,} choices")
    if wait and len(found) < len(domains):
        raise typer.Exit(FAILED)


def _held(chosen: "Settings", domain: str | None) -> "dict[str, Held]":
    from streams.kafka.scanner import NoSuchTopic  # noqa: PLC0415
    from streams.operations import weights  # noqa: PLC0415

    try:
        held = weights.read_published(chosen)
    except NoSuchTopic:
        held = {}
    if domain is None:
        return held
    if domain not in held:
        others = f"there are weights of {', '.join(held)}" if held else "no domain has"
        raise NoWeights(f"{domain!r} has learned nothing yet, {others}: its rankings use the start values")
    return {domain: held[domain]}


def _told(weights: "Weights") -> dict[str, Any]:
    return {name: getattr(weights, name) for name in ("domain", "version", "choices", "frozen")}


def _as_json(held: "Held") -> dict[str, Any]:
    parts = {
        kind: {
            name: {"weight": round(each.now, 4), "start": each.start, "spread": round(each.spread, 4)}
            for name, each in found.items()
        }
        for kind, found in (("mix", held.mix), ("dimensions", held.dimensions))
    }
    return {**_told(held.weights), "seal": held.seal.value, **parts}
