"""`sager weights`: stop, resume or reset learning of a domain's ranking weights."""

from typing import Any

import typer

from streams.cli.options import AsJson, Bootstrap, connected_settings, examples
from streams.cli.output import print_fields, print_json
from streams.cli.policy.common import (
    WAIT_SECONDS,
    Actor,
    InDomain,
    Reason,
    Wait,
    Yes,
    confirm,
    current_user,
    exit_unanswered,
)

app = typer.Typer()
group = typer.Typer(
    no_args_is_help=True,
    help="Stop or reset learning of a domain's ranking weights.",
    epilog=examples("sager weights freeze --domain films", 'sager sql "FROM learned_weights"'),
)
app.add_typer(group, name="weights")


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
        from streams.kafka.producer import envelope  # noqa: PLC0415
        from streams.rights.commands import CommandClient  # noqa: PLC0415

        chosen = connected_settings(bootstrap)
        if action == "reset":
            confirm(f"Erase the learned weights of {domain}?", yes=yes)
        sender: Any = {"actor": actor or current_user(), "reason": reason}
        sent = WeightCommand(**envelope(datetime.now(UTC)), domain=domain, action=WeightAction(action), **sender)
        with CommandClient(chosen, domain) as client:
            weights = client.change_weights(sent, wait)
        if weights is None:
            exit_unanswered(sent.event_id, wait)
        found = {name: getattr(weights, name) for name in ("domain", "version", "choices", "frozen")}
        if as_json:
            print_json(found)
        else:
            print_fields(found)

    group.command(action, help=text, epilog=examples(f"sager weights {action} --domain films"))(command)


_register("freeze", "Stop learning of a domain's weights.")
_register("unfreeze", "Resume learning of the weights. Choices made meanwhile are not learned later.")
_register("reset", "Erase the learned weights and restore the start values. Frozen weights stay frozen.")
