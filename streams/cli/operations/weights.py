"""`sager weights`: how much each part counts in the domains' rankings, as learned from choices."""

from typing import TYPE_CHECKING, Any

import typer

from streams.cli.options import AsJson, Bootstrap, Domain, examples, reachable, settings
from streams.cli.output import console, note, print_json, row, table
from streams.cli.policy.common import WAIT_SECONDS, Actor, InDomain, Reason, Wait, signed_in, unanswered
from streams.cli.policy.confirm import Yes, confirm
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import Weights
    from streams.operations.weights import Held
    from streams.settings import Settings

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


def _register(action: str, text: str) -> None:
    """Add the command that sends this action to a worker."""

    def command(
        domain: InDomain,
        yes: Yes = False,
        actor: Actor = None,
        reason: Reason = "",
        wait: Wait = WAIT_SECONDS,
        as_json: AsJson = False,
        bootstrap: Bootstrap = None,
    ) -> None:
        from datetime import UTC, datetime  # noqa: PLC0415

        from schemas import WeightAction, WeightCommand  # noqa: PLC0415
        from streams.kafka.events import envelope  # noqa: PLC0415
        from streams.rights.commander import Commander  # noqa: PLC0415

        chosen = reachable(settings(bootstrap=bootstrap))
        if action == "reset":
            held = _held(chosen, None).get(domain)
            learned = held.weights.choices if held is not None else 0
            confirm(f"Erase the weights that {learned:,} choices have taught {domain}?", yes=yes)
        sender: Any = {"actor": actor or signed_in(), "reason": reason}
        sent = WeightCommand(**envelope(datetime.now(UTC)), domain=domain, action=WeightAction(action), **sender)
        with Commander(chosen, domain) as commander:
            weights = commander.weigh(sent, wait)
        if weights is None:
            unanswered(sent.event_id, wait)
        if as_json:
            print_json(_told(weights))
        else:
            state = "frozen" if weights.frozen else "learning"
            print(f"{domain}: {action} done; {state}, version {weights.version}, {weights.choices:,} choices")

    group.command(action, help=text, epilog=examples(f"sager weights {action} --domain films"))(command)


_register("freeze", "Keep the weights of a domain as they are.")
_register("unfreeze", "Let choices move the weights again. The choices made meanwhile teach nothing.")
_register("reset", "Restore the start values; frozen weights stay frozen. Asks first; the learned values are erased.")


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
