"""`sager policy forget`: a line, a domain or the whole person, in all that workers and the materializer hold."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, Domain, User, examples, reachable, settings
from streams.cli.output import note, print_json
from streams.cli.policy.change import WAIT_SECONDS, Actor, Wait, signed_in
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import Receipt


class NotConfirmed(StreamsError):
    """Somebody is to be forgotten, and nobody has said that it is meant so."""


def register(group: typer.Typer) -> None:
    """Add the verb."""
    group.command(
        "forget",
        epilog=examples(
            "sager policy forget ann --line preference:genre:noir --domain films",
            "sager policy forget ann --domain films",
            "sager policy forget ann --everything",
        ),
    )(forget)


def forget(
    user: User,
    domain: Domain = None,
    line: Annotated[
        str | None, typer.Option(help="Only this line of the domain, by its id.", metavar="ATTRIBUTE")
    ] = None,
    everything: Annotated[bool, typer.Option(help="The whole person, in every domain.")] = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Forget a line, a domain, or the whole person. There is no way back.

    What happened until now is never learned from again. Events that apps sent stay on Kafka's topics until their
    retention has passed; docs/rights.md has the table. What remains is a receipt that says nothing of the person.
    """
    import uuid  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    from schemas import ForgetRequest, line_of  # noqa: PLC0415
    from streams.rights.commander import Commander  # noqa: PLC0415

    if line is not None and domain is None:
        raise NotConfirmed("a line is forgotten within a domain: say which with --domain")
    if domain is None and not everything:
        raise NotConfirmed("say --everything to forget the whole person, or a --domain")
    if domain is not None and everything:
        raise NotConfirmed("--everything is every domain: leave --domain out, or --everything")
    chosen = reachable(settings(bootstrap=bootstrap))
    request = ForgetRequest.model_validate(
        {
            "event_id": uuid.uuid4().hex,
            "occurred_at": datetime.now(UTC),
            "user_id": user,
            "domain": domain,
            "line": None if line is None or domain is None else line_of(user, domain, line),
            "actor": actor or signed_in(),
        }
    )
    with Commander(chosen, user) as commander:
        receipt = commander.forget(request, wait)
    _tell(request, receipt, wait, as_json)


def _tell(request: Any, receipt: "Receipt | None", wait: float, as_json: bool) -> None:
    if receipt is None:
        note(
            f"asked for as {request.event_id}; not waited for"
            if not wait
            else f"asked for as {request.event_id}; no worker has done it within {wait:g} s. It is kept and will be: "
            "`sager doctor` tells what the workers do"
        )
        raise typer.Exit(FAILED if wait else 0)
    if as_json:
        print_json(receipt.model_dump(mode="json"))
        return
    done = next(scope for scope in receipt.scopes if scope.event_id == request.event_id)
    print(f"forgotten until {done.until:%Y-%m-%d %H:%M:%S} UTC; versions removed or rewritten: {done.versions}")
    print(f"receipt {receipt.subject}")
