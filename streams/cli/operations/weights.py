"""`sager weights`: what counts how much in the domains' rankings, as learned from choices."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, Domain, examples, reachable, settings
from streams.cli.output import console, note, print_json, row, table
from streams.cli.policy.confirm import Yes, confirm
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import Weights
    from streams.operations.weights import Held, Shown
    from streams.settings import Settings

WAIT_SECONDS = 30.0
Actor = Annotated[str | None, typer.Option(help="Who does it; by default who is signed in here.", metavar="NAME")]
Reason = Annotated[str, typer.Option(help="Why, for whoever reads the topic.", metavar="TEXT")]
Wait = Annotated[float, typer.Option(help="Seconds to wait for a worker; 0: do not.", min=0.0, metavar="SECONDS")]


class NoWeights(StreamsError, LookupError):
    """No domain has learned weights, or not this one."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        no_args_is_help=True,
        help="What counts how much in a domain's rankings, as learned.",
        epilog=examples(
            "sager weights show", "sager weights freeze --domain films", "sager weights reset --domain films"
        ),
    )
    group.command("show", epilog=examples("sager weights show", "sager weights show --domain films --json"))(show)
    group.command(
        "freeze",
        short_help="Learn no more from choices.",
        epilog=examples("sager weights freeze --domain films", "sager weights freeze --reason 'an experiment runs'"),
    )(freeze)
    group.command(
        "unfreeze",
        short_help="Learn from choices again.",
        epilog=examples("sager weights unfreeze --domain films"),
    )(unfreeze)
    group.command(
        "reset",
        short_help="Go back to the start values.",
        epilog=examples("sager weights reset --domain films", "sager weights reset --yes"),
    )(reset)
    app.add_typer(group, name="weights")


def show(domain: Domain = None, as_json: AsJson = False, bootstrap: Bootstrap = None) -> None:
    """Print the weights of every domain that has learned, next to their start values, as they are in Kafka.

    The skill counts as the sum of its lines, each by its dimension; companions, popularity and facets count in standard
    deviations of the list. What no choice has said anything about has its start value and is not listed.
    """
    chosen = reachable(settings(bootstrap=bootstrap))
    held = _held(chosen, domain)
    if as_json:
        print_json([_as_json(each) for each in held.values()])
        return
    if not held:
        print("no domain has learned anything yet: rankings go by the start values")
    for each in held.values():
        _show(each)


def freeze(
    domain: Domain = None,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Keep the weights of a domain, or of all that have learned, as they are: choices move them no more."""
    _command("freeze", domain, actor, reason, wait, as_json, bootstrap)


def unfreeze(
    domain: Domain = None,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Let choices move the weights again. What was chosen meanwhile is not learned from."""
    _command("unfreeze", domain, actor, reason, wait, as_json, bootstrap)


def reset(
    domain: Domain = None,
    yes: Yes = False,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Take the weights of a domain, or of all that have learned, back to the start values; frozen ones stay frozen.

    Asks first; scripts confirm with --yes. What was learned is gone.
    """
    _command("reset", domain, actor, reason, wait, as_json, bootstrap, yes=yes)


def _command(
    action: str,
    domain: str | None,
    actor: str | None,
    reason: str,
    wait: float,
    as_json: bool,
    bootstrap: str | None,
    *,
    yes: bool = True,
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
        command = WeightCommand(
            **envelope(datetime.now(UTC)),
            domain=name,
            action=WeightAction(action),
            actor=actor or signed_in(),
            reason=reason,
        )
        with Commander(chosen, name) as commander:
            weights = commander.weigh(command, wait)
        if weights is None:
            why = (
                f"no worker of {chosen.app_id} has carried it out within {wait:g} s. It is kept and will be"
                if wait
                else "not waited for"
            )
            note(f"{name}: sent as {command.event_id}; {why}")
            continue
        found.append(weights)
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
        raise NoWeights(f"{domain!r} has learned nothing yet, {others}: its rankings go by the start values")
    return {domain: held[domain]}


def _told(weights: "Weights") -> dict[str, Any]:
    return {
        "domain": weights.domain,
        "version": weights.version,
        "choices": weights.choices,
        "frozen": weights.frozen,
    }


def _as_json(held: "Held") -> dict[str, Any]:
    def told(each: "Shown") -> dict[str, float]:
        return {"weight": round(each.now, 4), "start": each.start, "spread": round(each.spread, 4)}

    return {
        **_told(held.weights),
        "seal": held.seal.value,
        "mix": {name: told(each) for name, each in held.mix.items()},
        "dimensions": {name: told(each) for name, each in held.dimensions.items()},
    }


def _show(held: "Held") -> None:
    weights = held.weights
    state = "frozen" if weights.frozen else "learning"
    made = table("part", "counts", "±", "start", title=f"{weights.domain}: what counts how much, {state}")
    made.caption = f"version {weights.version}, from {weights.choices:,} choices"
    for name, each in held.mix.items():
        row(made, [name, f"{each.now:.2f}", f"{each.spread:.2f}", f"{each.start:.2f}"])
    for name, each in held.dimensions.items():
        row(made, [f"  a line on {name}", f"{each.now:.2f}", f"{each.spread:.2f}", f"{each.start:.2f}"])
    console().print(made)
    if held.seal.value != "right":
        note(f"the seal of these weights is {held.seal.value}: workers do not use them, but the start values")
